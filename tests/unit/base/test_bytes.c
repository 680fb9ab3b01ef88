/* SPDX-License-Identifier: MIT */
/* Byte ranges. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

Test(bytes, a_whole_file_up_to_a_limit)
{
    char path[] = "/tmp/tp-bytes-XXXXXX";
    struct tp_error err = {0};
    char *text;
    size_t length;
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, "a\0b\n", 4), 4);
    close(fd);
    cr_assert_eq(tp_bytes_load(path, "a list", 4, &text, &length, &err), TP_OK);
    cr_expect_eq(length, 4);
    cr_expect_eq(memcmp(text, "a\0b\n", 4), 0);
    free(text);
    cr_assert_eq(tp_bytes_load(path, "a list", 3, &text, &length, &err),
                 TP_E_LIMIT);
    cr_expect_null(text);
    cr_expect_str_eq(err.file, path);
    cr_expect_str_eq(err.message, "a list has at most 3 bytes, this has more");
    unlink(path);
    err = (struct tp_error){0};
    cr_assert_eq(tp_bytes_load(path, "a list", 4, &text, &length, &err),
                 TP_E_IO);
    cr_expect_null(text);
    cr_expect_str_eq(err.file, path);
}
