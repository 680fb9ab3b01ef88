/* SPDX-License-Identifier: MIT */
/* fp16 tensors near the end of fp16, and the same where it is not near. */
#include <stdio.h>

#include "tests/unit/support/stages.h"

/* What is stored, what the run casts to (NULL: nothing), and the values. */
struct tensor {
    enum tp_dtype dtype;
    const char *target;
    double amax;
    uint64_t infinities;
};

/* Adds one tensor of a place in an iteration. */
static struct tp_row *add_tensor(struct tp_run *run,
                                 const struct tensor *tensor, int64_t iteration)
{
    struct tp_row *row = add_row(run, "file.pt");
    row->dtype = tensor->dtype;
    row->target = tensor->target ? tp_number_by_id(tensor->target) : NULL;
    row->label.rank = 2;
    row->label.iteration = iteration;
    row->counts.numel = row->counts.values = 100;
    row->counts.pos_inf = tensor->infinities;
    row->numbers.abs_max = tensor->amax;
    return row;
}

/* Judges one tensor; copies the finding of the rule, if there is one. */
static bool judge(const struct tensor *tensor, const char *operation,
                  struct tp_finding *copy, char suggestion[256])
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    struct tp_row *row = add_tensor(&made.run, tensor, 3);
    row->label.operation = operation;
    tp_label_classify(&row->label);
    stages_judge(&made, &findings);
    bool found = false;
    for (size_t i = 0; i < findings.count; i++) {
        if (strcmp(findings.rows[i].rule->id, "near_overflow"))
            continue;
        cr_assert(!found, "one finding for each place");
        found = true;
        *copy = findings.rows[i];
        snprintf(suggestion, 256, "%s", copy->suggestion);
    }
    tp_findings_clear(&findings);
    stages_clear(&made);
    return found;
}

Test(near_overflow, only_of_fp16_and_only_when_near)
{
    static const struct {
        struct tensor tensor;
        bool found;
    } cases[] = {
        {{TP_FLOAT16, "fp16", 60032, 0}, true},
        {{TP_FLOAT16, "fp16", 65504, 0}, true},
        {{TP_FLOAT16, "fp16", 60000, 0}, false}, /* not above it           */
        {{TP_FLOAT16, "fp16", 60032, 1}, false}, /* has overflowed         */
        {{TP_BFLOAT16, "bf16", 60160, 0}, false},
        {{TP_FLOAT32, NULL, 60032, 0}, false},
        {{TP_BFLOAT16, "fp16", 60160, 0}, true}, /* is to be cast to it    */
        {{TP_FLOAT32, "fp16", 65519, 0}, true},  /* rounds to 65504        */
        {{TP_FLOAT32, "fp16", 65520, 0}, false}, /* rounds to Inf          */
        {{TP_FLOAT16, "mxfp8_e4m3", 61440, 0}, true}, /* is stored in it   */
        {{TP_BFLOAT16, "hif8", 61440, 0}, false},
        {{TP_FLOAT32, "mxfp8_e4m3", 61440, 0}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_finding finding;
        char suggestion[256];
        bool found = judge(&cases[i].tensor, "forward", &finding, suggestion);
        cr_assert_eq(found, cases[i].found, "case %zu", i);
        if (!found)
            continue;
        cr_assert_eq(finding.level, TP_SEVERITY_LOW);
        cr_assert_eq(finding.value, cases[i].tensor.amax);
        cr_assert_str_eq(finding.metric, "abs_max");
        cr_assert_eq(finding.iteration, 3);
    }
}

/* The loss scale is a cause of large gradients only. */
Test(near_overflow, advice)
{
    static const struct tensor near = {TP_FLOAT16, "fp16", 62400, 0};
    struct tp_finding finding;
    char suggestion[256];
    cr_assert(judge(&near, "backward", &finding, suggestion));
    /* 65520 / 62400 = 1.05 */
    cr_assert(strstr(suggestion, "grows by 5 % becomes Inf"), "%s", suggestion);
    cr_assert(strstr(suggestion, "loss scale"), "%s", suggestion);
    cr_assert(judge(&near, "forward", &finding, suggestion));
    cr_assert(strstr(suggestion, "scale it down"), "%s", suggestion);
    cr_assert_null(strstr(suggestion, "loss"), "%s", suggestion);
}

Test(near_overflow, one_finding_for_a_place)
{
    static const struct tensor tensors[] = {{TP_FLOAT16, "fp16", 40000, 0},
                                            {TP_FLOAT16, "fp16", 60032, 0},
                                            {TP_FLOAT16, "fp16", 64000, 0},
                                            {TP_FLOAT16, "fp16", 61440, 0}};
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    for (int64_t i = 0; i < 4; i++)
        add_tensor(&made.run, &tensors[i], i);
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 1);
    const struct tp_finding *finding = &findings.rows[0];
    cr_assert_str_eq(finding->rule->id, "near_overflow");
    cr_assert_eq(finding->value, 64000);
    cr_assert_eq(finding->iteration, 1, "the first one");
    cr_assert_str_eq(finding->evidence,
                     "3 of 4 tensors have an amax above 60000; the largest "
                     "64000 in rank 2, iteration 2; fp16 ends at 65504");
    tp_findings_clear(&findings);
    stages_clear(&made);
}
