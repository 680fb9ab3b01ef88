/* SPDX-License-Identifier: MIT */
/* Which script a line of a stack is of. That its statement is found, too, is
 * for tests/cli/dump_scripts.sh. */
#include "check/check_lookup.h"

#include <criterion/criterion.h>
#include <string.h>

static char first[] = "a/model.py", second[] = "b/model.py",
            third[] = "b/c/model.py";

static void expect(const char *stack, const char *wanted)
{
    struct tp_check_finding at = {.line = 3,
                                  .rule = tp_check_rule_find("bce", 3),
                                  .severity = TP_SEVERITY_HIGH,
                                  .what = "binary_cross_entropy"};
    struct tp_check_file files[] = {
        {.path = first},
        {.path = second, .findings = {&at, 1, 1, false}},
        {.path = third}};
    const struct tp_check check = {.list = {.files = files, .count = 3}};
    struct tp_text text = {0};
    tp_check_say(&check, stack, &text);
    cr_expect_str_eq(tp_text_get(&text), wanted, "%s: %s", stack,
                     tp_text_get(&text));
    tp_text_clear(&text);
}

Test(check_lookup, scripts)
{
    expect("File /x/a/model.py, line 3, in forward, ...", " At a/model.py:3.");
    expect("File /x/b/c/model.py, line 7, in f", " At b/c/model.py:7.");
    expect("File /q/c/model.py, line 7, in f", " At b/c/model.py:7.");
    expect("File /x/b/model.py, line 4, in f", " At b/model.py:4.");
    expect("File /x/b/model.py, line 3, in f",
           " At b/model.py:3 check says: high binary_cross_entropy usage: this "
           "function raises an error under AMP on CUDA; use "
           "binary_cross_entropy_with_logits instead.");
}

Test(check_lookup, what_is_not_known)
{
    expect("File model.py, line 3, in f", ""); /* one of three             */
    expect("File /x/tomodel.py, line 3, in f", "");
    expect("File /x/a/model.py, line 0, in f", "");
    expect("File /x/a/model.py", "");
    expect("line 3", "");
    expect("", "");
}
