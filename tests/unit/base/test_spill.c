/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/spill.h"

Test(spill, keeps_what_is_written)
{
    struct tp_bytes spill;
    unsigned char zeros[4096] = {0}, got[8] = {1};
    cr_assert_eq(tp_spill_open(&spill, NULL), TP_OK);
    cr_assert_eq(tp_spill_write(&spill, 0, zeros, sizeof zeros, NULL), TP_OK);
    cr_assert_eq(tp_spill_write(&spill, 4096, (const void *)"text", 4, NULL),
                 TP_OK);
    cr_assert_eq(tp_spill_write(&spill, 4100, zeros, 4, NULL), TP_OK);
    spill.size = 4104;
    cr_assert_eq(tp_bytes_read(&spill, 4096, got, 8, NULL), TP_OK);
    cr_expect_eq(memcmp(got, "text\0\0\0", 8), 0);
    cr_assert_eq(tp_bytes_read(&spill, 0, got, 8, NULL), TP_OK);
    cr_expect_eq(memcmp(got, zeros, 8), 0);
    struct stat stat_;
    cr_assert_eq(fstat(spill.fd, &stat_), 0);
    cr_expect_eq(stat_.st_nlink, 0, "it has no name");
    cr_expect_eq(stat_.st_size, 4104);
    tp_bytes_close(&spill);
}

/* No disk has 2^62 bytes; one byte fits. */
Test(spill, room)
{
    struct tp_bytes spill;
    struct tp_error err = {0};
    cr_assert_eq(tp_spill_open(&spill, NULL), TP_OK);
    cr_expect_eq(tp_spill_room(&spill, (uint64_t)1 << 62, &err), TP_E_LIMIT);
    cr_expect(strstr(err.message, "TMPDIR"));
    tp_bytes_close(&spill);
}

Test(spill, no_folder)
{
    struct tp_bytes spill;
    struct tp_error err = {0};
    setenv("TMPDIR", "/nowhere/at/all", 1);
    cr_expect_eq(tp_spill_open(&spill, &err), TP_E_IO);
    cr_expect(strstr(err.message, "/nowhere/at/all"));
}
