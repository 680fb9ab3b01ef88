/* SPDX-License-Identifier: MIT */
/* The lists of autocast; tests/oracle/amp_ops.py compares them with torch. */
#include "check/amp_ops.h"

#include <criterion/criterion.h>
#include <string.h>

Test(amp_ops, every_operator_is_found_by_its_name)
{
    size_t count = 0;
    for (const struct tp_amp_op *op = tp_amp_ops; op->name; op++, count++) {
        size_t length = strlen(op->name);
        cr_expect_eq(tp_amp_policy_of(op->name, length), op->policy, "%s",
                     op->name);
        cr_expect(op == tp_amp_ops || strcmp(op[-1].name, op->name) < 0, "%s",
                  op->name);
    }
    cr_expect_eq(count, 100);
}

Test(amp_ops, other_names_are_on_no_list)
{
    static const char *const others[] = {"",     "relu", "mean", "log_",
                                         "expm", "bmmm", "zzz",  "_softmax"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_expect_eq(tp_amp_policy_of(others[i], strlen(others[i])),
                     TP_AMP_NONE, "%s", others[i]);
    cr_expect_eq(tp_amp_policy_of("matmul(x)", 6), TP_AMP_LOWER);
}
