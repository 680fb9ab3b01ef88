/* SPDX-License-Identifier: MIT */
/* Byte ranges. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
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

/* Makes a file of 200 kB, which is not read at once, and opens it. */
static void open_large(char *path, struct tp_bytes *bytes)
{
    const int fd = mkstemp(path);
    const struct timespec long_ago[2] = {{1000, 0}, {1000, 0}};
    cr_assert(fd >= 0 && ftruncate(fd, 200000) == 0);
    cr_assert_eq(futimens(fd, long_ago), 0);
    close(fd);
    cr_assert_eq(tp_bytes_open(path, bytes, NULL), TP_OK);
    cr_assert_eq(tp_bytes_unchanged(bytes, NULL), TP_OK);
}

Test(bytes, what_changes_meanwhile_is_told)
{
    static const char *const words[] = {"shorter", "longer", "written to",
                                        "removed or replaced"};
    for (int i = 0; i < 4; i++) {
        char path[] = "/tmp/tp-bytes-XXXXXX";
        struct tp_bytes bytes;
        struct tp_error err = {0};
        open_large(path, &bytes);
        const int fd = open(path, O_WRONLY);
        if (i < 2)
            cr_assert_eq(ftruncate(fd, i ? 200001 : 199999), 0);
        else if (i == 2)
            cr_assert_eq(pwrite(fd, "x", 1, 5), 1);
        else
            unlink(path);
        close(fd);
        cr_expect_eq(tp_bytes_unchanged(&bytes, &err), TP_E_CHANGED);
        cr_expect(strstr(err.message, words[i]), "%s", err.message);
        cr_expect_eq(err.offset, i == 0 ? 199999 : i == 1 ? 200000 : -1);
        tp_bytes_close(&bytes);
        unlink(path);
    }
}

Test(bytes, what_was_read_at_once_cannot_change)
{
    char path[] = "/tmp/tp-bytes-XXXXXX";
    struct tp_bytes bytes;
    const int fd = mkstemp(path);
    cr_assert_eq(write(fd, "abc", 3), 3);
    cr_assert_eq(tp_bytes_open(path, &bytes, NULL), TP_OK);
    cr_assert_eq(ftruncate(fd, 1), 0);
    close(fd);
    unlink(path);
    cr_expect_eq(tp_bytes_unchanged(&bytes, NULL), TP_OK);
    tp_bytes_close(&bytes);
}
