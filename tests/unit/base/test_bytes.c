/* SPDX-License-Identifier: MIT */
/* Byte ranges. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

Test(bytes, reading_past_the_end_names_the_end)
{
    struct tp_bytes bytes;
    struct tp_error err = {0};
    char buffer[4];
    tp_bytes_view("abcdef", 6, &bytes);
    cr_assert_eq(tp_bytes_read(&bytes, 2, buffer, 4, &err), TP_OK);
    cr_assert_eq(memcmp(buffer, "cdef", 4), 0);
    cr_assert_eq(tp_bytes_read(&bytes, 3, buffer, 4, &err), TP_E_DAMAGED);
    cr_assert_eq(err.offset, 6);
    cr_assert_eq(tp_bytes_read(&bytes, UINT64_MAX, buffer, 4, &err),
                 TP_E_DAMAGED);
    tp_bytes_close(&bytes);
}
