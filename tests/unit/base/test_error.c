/* SPDX-License-Identifier: MIT */
/* Errors. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"

Test(error, keeps_code_place_and_frames)
{
    struct tp_error err = {0};
    cr_assert_eq(tp_fail(&err, TP_E_DAMAGED, 42, "bad %s", "opcode"),
                 TP_E_DAMAGED);
    tp_while(&err, "reading %s", "data.pkl");
    tp_error_in_file(&err, "a.pt");
    tp_error_in_file(&err, "b.pt"); /* the first name stays */
    cr_assert_eq(err.offset, 42);
    cr_assert_str_eq(err.message, "bad opcode, while reading data.pkl");
    cr_assert_str_eq(err.file, "a.pt");
}

Test(error, control_characters_are_made_visible)
{
    struct tp_error err = {0};
    tp_fail(&err, TP_E_DAMAGED, -1, "name %s", "\x1b[31m\n");
    cr_assert_str_eq(err.message, "name \\x1b[31m\\x0a");
}

Test(error, long_messages_are_cut_not_overrun)
{
    static char text[5000];
    struct tp_error err = {0};
    memset(text, '\n', sizeof text - 1); /* four bytes each once visible */
    tp_fail(&err, TP_E_DAMAGED, -1, "%s", text);
    tp_while(&err, "%s", text);
    tp_error_in_file(&err, text);
    cr_assert_lt(strlen(err.message), sizeof err.message);
    cr_assert_lt(strlen(err.file), sizeof err.file);
}

Test(error, works_without_an_object)
{
    cr_assert_eq(tp_fail(NULL, TP_E_LIMIT, 0, "x"), TP_E_LIMIT);
    errno = ENOENT;
    cr_assert_eq(tp_fail_errno(NULL, "x"), TP_E_IO);
    tp_while(NULL, "x");
}
