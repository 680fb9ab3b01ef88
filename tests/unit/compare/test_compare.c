/* SPDX-License-Identifier: MIT */
/* Whole comparisons: what is counted, where runs part, what is refused. */
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <criterion/criterion.h>

#include "base/pool.h"
#include "compare/compare_findings.h"
#include "compare/compare_table.h"
#include "tests/unit/support/testdata.h"

/* A comparison with all that follows from it. */
struct made {
    struct tp_pool *pool;
    struct tp_comparison comparison;
    struct tp_compare_calls calls;
    struct tp_compare_records records;
    struct tp_dump_findings findings;
    struct tp_error err;
    enum tp_status status;
};

static void make(struct made *made, const char *a, const char *b,
                 enum tp_compare_mode mode)
{
    *made = (struct made){.status = TP_OK};
    cr_assert_eq(tp_pool_new(2, &made->pool, &made->err), TP_OK);
    const struct tp_compare_options options = {
        .a = a, .b = b, .mode = mode, .read = {.pool = made->pool}};
    made->status = tp_compare(&options, &made->comparison, &made->err);
    if (made->status != TP_OK)
        return;
    cr_assert_eq(
        tp_compare_calls_make(&made->comparison, &made->calls, &made->err),
        TP_OK);
    cr_assert_eq(
        tp_compare_records_make(&made->comparison, &made->records, &made->err),
        TP_OK);
    cr_assert_eq(tp_compare_findings_make(&made->comparison, &made->calls,
                                          &made->findings, &made->err),
                 TP_OK);
}

static void clear(struct made *made)
{
    tp_dump_findings_clear(&made->findings);
    tp_compare_records_clear(&made->records);
    tp_compare_calls_clear(&made->calls);
    tp_comparison_clear(&made->comparison);
    tp_pool_free(made->pool);
}

static const struct tp_dump_finding *finding_of(const struct made *made,
                                                enum tp_compare_finding_id id)
{
    for (size_t i = 0; i < made->findings.count; i++)
        if (made->findings.rows[i].rule == &tp_compare_rules[id])
            return &made->findings.rows[i];
    return NULL;
}

Test(compare, steps_of_one_run)
{
    char a[4096], b[4096];
    struct made made;
    testdata_path("msprobe/step1", a, sizeof a);
    testdata_path("msprobe/step0", b, sizeof b);
    make(&made, a, b, TP_COMPARE_AUTO);
    cr_assert_eq(made.status, TP_OK, "%s", made.err.message);
    const struct tp_compare_counts *counts = &made.comparison.counts;
    cr_expect_eq(counts->rows, 62);
    cr_expect_eq(counts->matched, 62);
    cr_expect_eq(counts->results[TP_COMPARE_PASS], 57);
    cr_expect_eq(counts->results[TP_COMPARE_ERROR], 5);
    cr_expect(made.comparison.steps_differ);
    const struct tp_dump_finding *parting = finding_of(&made, TP_FINDS_PARTING);
    cr_assert_not_null(parting);
    cr_expect_eq(parting->order, 0);
    cr_expect_not_null(strstr(parting->evidence, "It is the first call; the "
                                                 "first difference is its "
                                                 "argument"));
    const struct tp_dump_finding *nonfinite =
        finding_of(&made, TP_FINDS_NONFINITE);
    cr_assert_not_null(nonfinite);
    cr_expect_eq(nonfinite->level, TP_SEVERITY_HIGH);
    cr_expect_str_eq(nonfinite->name, "Torch.log.0.forward.output.0");
    cr_expect_eq(nonfinite->count, 3);
    cr_expect_eq(tp_dump_findings_worst(&made.findings), TP_SEVERITY_HIGH);
    cr_expect_eq(made.records.count, 62);
    cr_expect_eq(made.records.rows[made.records.worst[0]].level,
                 TP_COMPARE_ERROR);
    clear(&made);
}

/* A checkpoint has tensors, not calls with arguments. */
Test(compare, checkpoints_are_told_as_tensors)
{
    char a[4096], b[4096];
    struct made made;
    testdata_path("content/whole", a, sizeof a);
    testdata_path("content/swapped", b, sizeof b);
    make(&made, a, b, TP_COMPARE_AUTO);
    cr_assert_eq(made.status, TP_OK, "%s", made.err.message);
    const struct tp_dump_finding *parting = finding_of(&made, TP_FINDS_PARTING);
    cr_assert_not_null(parting);
    cr_expect(strstr(parting->evidence, "All 12 tensors before it are equal; "
                                        "this one differs."),
              "%s", parting->evidence);
    cr_expect_null(strstr(parting->evidence, "call"));
    cr_expect_null(strstr(parting->evidence, "argument"));
    cr_expect(strstr(parting->suggestion, "name no calls"), "%s",
              parting->suggestion);
    clear(&made);
}

Test(compare, a_run_with_itself)
{
    char path[4096];
    struct made made;
    testdata_path("msprobe", path, sizeof path);
    for (int mode = TP_COMPARE_AUTO; mode <= TP_COMPARE_STATISTICS; mode++) {
        make(&made, path, path, (enum tp_compare_mode)mode);
        cr_assert_eq(made.status, TP_OK, "%s", made.err.message);
        cr_expect_eq(made.comparison.pair_count, 2);
        cr_expect_eq(made.comparison.counts.equal, made.comparison.counts.rows);
        cr_expect_eq(made.findings.count, 0);
        cr_expect_eq(made.records.worst_count, 0);
        cr_expect_null(tp_compare_parting(&made.calls, 0));
        clear(&made);
    }
}

Test(compare, tensors_of_two_quant_types)
{
    char a[4096], b[4096];
    struct made made;
    testdata_path("logs/mxfp8", a, sizeof a);
    testdata_path("logs/hifp8", b, sizeof b);
    make(&made, a, b, TP_COMPARE_AUTO);
    cr_assert_eq(made.status, TP_OK, "%s", made.err.message);
    cr_expect_gt(made.comparison.counts.matched, 0);
    cr_expect_eq(made.comparison.mode, TP_COMPARE_TENSOR);
    cr_expect_gt(made.records.worst_count, 0);
    clear(&made);
}

/* --- dumps made here ------------------------------------------------------ */

static void write_dump(const char *folder, const char *head, const char *data)
{
    char path[512];
    snprintf(path, sizeof path, "%s/dump.json", folder);
    mkdir(folder, 0777);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fprintf(file, "{%s, \"data\": {%s}}", head, data);
    fclose(file);
}

#define TENSOR(max, md5)                                                     \
    "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": " \
    "[2], \"Max\": " max ", \"Min\": 0.0, \"Mean\": 0.5, \"Norm\": " max     \
    ", \"requires_grad\": false, \"md5\": \"" md5 "\"}"
#define CALL(name, in, out)                                           \
    "\"" name "\": {\"input_args\": [" in "], \"input_kwargs\": {}, " \
    "\"output\": [" out "]}"
#define HEAD "\"task\": \"statistics\", \"level\": \"L1\""

struct folders {
    char root[64], a[128], b[128];
};

static struct folders folders_make(void)
{
    struct folders folders = {.root = "/tmp/test_compare_XXXXXX"};
    cr_assert_not_null(mkdtemp(folders.root));
    snprintf(folders.a, sizeof folders.a, "%s/a", folders.root);
    snprintf(folders.b, sizeof folders.b, "%s/b", folders.root);
    return folders;
}

static void folders_remove(const struct folders *folders)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folders->root);
    cr_expect_eq(system(command), 0);
}

Test(compare, an_operator_that_adds_a_difference)
{
    struct folders folders = folders_make();
    struct made made;
    write_dump(folders.a, HEAD,
               CALL("Torch.exp.0.forward", TENSOR("1.0", "1"),
                    TENSOR("2.0", "2")) "," CALL("Torch.log.0.forward",
                                                 TENSOR("2.0", "2"),
                                                 TENSOR("3.0", "3")));
    write_dump(folders.b, HEAD,
               CALL("Torch.exp.0.forward", TENSOR("1.0", "1"),
                    TENSOR("2.0", "2")) "," CALL("Torch.log.0.forward",
                                                 TENSOR("2.0", "2"),
                                                 TENSOR("3.5", "4")));
    for (int mode = TP_COMPARE_STATISTICS; mode <= TP_COMPARE_MD5; mode++) {
        make(&made, folders.a, folders.b, (enum tp_compare_mode)mode);
        cr_assert_eq(made.status, TP_OK, "%s", made.err.message);
        const struct tp_dump_finding *parting =
            finding_of(&made, TP_FINDS_PARTING);
        cr_assert_not_null(parting);
        cr_expect_str_eq(parting->name, "Torch.log.0.forward");
        cr_expect_not_null(strstr(parting->evidence,
                                  "The one call before it is equal; all its "
                                  "arguments are equal, its result "
                                  "Torch.log.0.forward.output.0 is not."),
                           "%s", parting->evidence);
        cr_expect(made.calls.rows[1].adds);
        cr_expect_not(made.calls.rows[0].adds);
        clear(&made);
    }
    folders_remove(&folders);
}

static void expect_failure(const char *a, const char *b, enum tp_status status,
                           const char *message)
{
    struct made made;
    make(&made, a, b, TP_COMPARE_AUTO);
    cr_expect_eq(made.status, status);
    cr_expect_not_null(strstr(made.err.message, message), "%s",
                       made.err.message);
    clear(&made);
}

Test(compare, what_cannot_be_compared)
{
    struct folders folders = folders_make();
    static const char call[] =
        CALL("Torch.exp.0.forward", TENSOR("1.0", "1"), TENSOR("2.0", "2"));
    write_dump(folders.a, HEAD, call);
    write_dump(folders.b, HEAD, "");
    expect_failure(folders.a, folders.b, TP_E_NOT_FOUND, "has no calls");
    write_dump(folders.b, HEAD,
               CALL("Torch.sin.0.forward", TENSOR("1.0", "1"), "null"));
    expect_failure(folders.a, folders.b, TP_E_NOT_FOUND,
                   "no name is in both: A has Torch.exp.0.forward.input.0 and "
                   "others, B has Torch.sin.0.forward.input.0");
    write_dump(folders.b, HEAD ", \"framework\": \"mindspore\"", call);
    expect_failure(folders.a, folders.b, TP_E_UNSUPPORTED, "mindspore");
    write_dump(folders.b, "\"level\": \"L2\"", call);
    expect_failure(folders.a, folders.b, TP_E_UNSUPPORTED, "level L2");
    write_dump(folders.b, HEAD,
               CALL("Torch.exp.0.forward",
                    "{\"type\": \"torch.Tensor\", \"md5\": \"0x1\"}", "null"));
    expect_failure(folders.a, folders.b, TP_E_UNSUPPORTED,
                   "they cannot be compared: A has statistics and CRC-32 "
                   "checksums, B has XOR checksums");
    expect_failure(folders.a, "/nowhere/at/all", TP_E_NOT_FOUND, "");
    folders_remove(&folders);
}

/* A call of the backward pass that one run computes again is counted in its
 * own order, so that those behind it are still matched. */
Test(compare, backward_calls_are_counted_anew)
{
    struct folders folders = folders_make();
    struct made made;
    write_dump(folders.a, HEAD,
               CALL("Torch.mul.7.backward", TENSOR("1.0", "1"),
                    TENSOR("2.0", "2")) "," CALL("Torch.mul.3.backward",
                                                 TENSOR("5.0", "5"),
                                                 TENSOR("6.0", "6")));
    write_dump(folders.b, HEAD,
               CALL("Torch.mul.1.backward", TENSOR("1.0", "1"),
                    TENSOR("2.0", "2")) "," CALL("Torch.mul.0.backward",
                                                 TENSOR("5.0", "5"),
                                                 TENSOR("6.0", "6")));
    make(&made, folders.a, folders.b, TP_COMPARE_STATISTICS);
    cr_assert_eq(made.status, TP_OK, "%s", made.err.message);
    cr_expect_eq(made.comparison.counts.matched, 4);
    cr_expect_eq(made.comparison.counts.equal, 4);
    clear(&made);
    folders_remove(&folders);
}

/* The same call of two ranks: the worse one stands for both. */
Test(compare, ranks_are_brought_together)
{
    struct folders folders = folders_make();
    char path[512];
    struct made made;
    const char *const sides[] = {folders.a, folders.b};
    for (int side = 0; side < 2; side++) {
        mkdir(sides[side], 0777);
        snprintf(path, sizeof path, "%s/rank0", sides[side]);
        write_dump(path, HEAD,
                   CALL("Torch.exp.0.forward", TENSOR("1.0", "1"),
                        TENSOR("2.0", "2")));
        snprintf(path, sizeof path, "%s/rank1", sides[side]);
        write_dump(path, HEAD,
                   side ? CALL("Torch.exp.0.forward", TENSOR("1.0", "1"),
                               TENSOR("2.0", "2"))
                        : CALL("Torch.exp.0.forward", TENSOR("1.0", "1"),
                               TENSOR("8.0", "3")));
    }
    make(&made, folders.a, folders.b, TP_COMPARE_STATISTICS);
    cr_assert_eq(made.status, TP_OK, "%s", made.err.message);
    cr_expect_eq(made.comparison.pair_count, 2);
    cr_assert_eq(made.calls.api_count, 1);
    const struct tp_compare_api *api = &made.calls.apis[0];
    cr_expect_eq(api->places, 2);
    cr_expect_eq(api->errors, 1);
    cr_expect_eq(api->worst_rank, 1);
    cr_expect_eq(api->error_out, 3); /* (8 - 2) / 2 */
    const struct tp_dump_finding *parting = finding_of(&made, TP_FINDS_PARTING);
    cr_assert_not_null(parting);
    cr_expect_eq(parting->rank, 1);
    cr_expect_eq(parting->count, 1);
    clear(&made);
    folders_remove(&folders);
}

#define INTEGER(value) "{\"type\": \"int\", \"value\": " value "}"

/* What the first difference, an argument, is said to come from. */
static void expect_cause(const char *a, const char *b, const char *cause)
{
    struct folders folders = folders_make();
    struct made made;
    write_dump(folders.a, HEAD, a);
    write_dump(folders.b, HEAD, b);
    make(&made, folders.a, folders.b, TP_COMPARE_STATISTICS);
    cr_assert_eq(made.status, TP_OK, "%s", made.err.message);
    const struct tp_dump_finding *parting = finding_of(&made, TP_FINDS_PARTING);
    cr_assert_not_null(parting);
    cr_expect_not_null(strstr(parting->suggestion, cause), "%s",
                       parting->suggestion);
    /* -inf in a row that B does not have is no finding of its own */
    cr_expect_null(finding_of(&made, TP_FINDS_NONFINITE));
    clear(&made);
    folders_remove(&folders);
}

Test(compare, what_an_argument_differs_by)
{
#define FIRST \
    CALL("Torch.exp.0.forward", TENSOR("1.0", "1"), TENSOR("2.0", "2"))
#define SECOND(in) CALL("Torch.log.0.forward", in, TENSOR("3.0", "3"))
    expect_cause(FIRST "," SECOND(INTEGER("1")), FIRST "," SECOND(INTEGER("2")),
                 "It is no tensor");
    expect_cause(FIRST "," SECOND(TENSOR("2.5", "4")),
                 FIRST "," SECOND(TENSOR("2.0", "2")),
                 "a weight or the data differs");
    expect_cause(SECOND(TENSOR("2.5", "4")), SECOND(TENSOR("2.0", "2")),
                 "different weights, data or seeds");
    expect_cause(FIRST
                 "," CALL("Tensor.half.0.forward", TENSOR("-Infinity", "2"),
                          "null") "," SECOND(TENSOR("2.5", "4")),
                 FIRST "," SECOND(TENSOR("2.0", "2")),
                 "calls that B does not have, the last one "
                 "Tensor.half.0.forward");
    expect_cause(
        FIRST "," SECOND(TENSOR("2.5", "4")),
        FIRST
        "," CALL("Tensor.half.0.forward", TENSOR("2.0", "2"),
                 "null") "," CALL("Tensor.exp.0.forward", TENSOR("2.0", "2"),
                                  "null") "," SECOND(TENSOR("2.0", "2")),
        "calls that A does not have, from Tensor.half.0.forward on");
}

/* Whether two runs of these calls have a finding. */
static bool has_finding(const char *a, const char *b,
                        enum tp_compare_finding_id id, enum tp_severity level,
                        const char *name)
{
    struct folders folders = folders_make();
    struct made made;
    write_dump(folders.a, HEAD, a);
    write_dump(folders.b, HEAD, b);
    make(&made, folders.a, folders.b, TP_COMPARE_STATISTICS);
    cr_assert_eq(made.status, TP_OK, "%s", made.err.message);
    const struct tp_dump_finding *finding = finding_of(&made, id);
    const bool found = finding != NULL;
    if (found) {
        cr_expect_eq(finding->level, level);
        cr_expect_str_eq(finding->name, name);
        cr_expect_null(strstr(finding->evidence, "nan"), "%s",
                       finding->evidence);
    }
    clear(&made);
    folders_remove(&folders);
    return found;
}

Test(compare, nan_in_b_alone)
{
#define EXP(out) CALL("Torch.exp.0.forward", TENSOR("1.0", "1"), out)
    cr_expect(has_finding(EXP(TENSOR("2.0", "2")), EXP(TENSOR("NaN", "3")),
                          TP_FINDS_NONFINITE_B, TP_SEVERITY_MEDIUM,
                          "Torch.exp.0.forward.output.0"));
    cr_expect_not(has_finding(EXP(TENSOR("NaN", "2")), EXP(TENSOR("NaN", "3")),
                              TP_FINDS_NONFINITE_B, TP_SEVERITY_MEDIUM, ""));
    cr_expect_not(has_finding(EXP(TENSOR("NaN", "2")), EXP(TENSOR("2.0", "3")),
                              TP_FINDS_NONFINITE_B, TP_SEVERITY_MEDIUM, ""));
    cr_expect(has_finding(EXP(TENSOR("NaN", "2")), EXP(TENSOR("2.0", "3")),
                          TP_FINDS_NONFINITE, TP_SEVERITY_HIGH,
                          "Torch.exp.0.forward.output.0"));
}

/* What is infinitely far off already does not grow. */
Test(compare, errors_grow_from_numbers)
{
#define ADD(x, y, out) CALL("Torch.add.0.forward", x "," y, out)
    cr_expect(has_finding(
        ADD(TENSOR("1.0", "1"), TENSOR("1.0", "1"), TENSOR("9.0", "2")),
        ADD(TENSOR("1.0", "1"), TENSOR("1.0", "1"), TENSOR("2.0", "3")),
        TP_FINDS_GROWTH, TP_SEVERITY_MEDIUM, "Torch.add.0.forward.output.0"));
    cr_expect_not(has_finding(
        ADD(TENSOR("1.0", "1"), TENSOR("1.0", "1"), TENSOR("9.0", "2")),
        ADD(TENSOR("1.0", "1"), TENSOR("0.0", "1"), TENSOR("2.0", "3")),
        TP_FINDS_GROWTH, TP_SEVERITY_MEDIUM, ""));
}

/* Gradients of parameters are lists, of one element mostly; files are named
 * without its index. */
Test(compare, gradients_have_the_names_of_their_files)
{
#define GRADIENTS(lists)    \
    EXP(TENSOR("2.0", "2")) \
    ",\"Module.a.Linear.parameters_grad.0\": {" lists "}"
#define NAMED(name)                                                          \
    "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": " \
    "[2], \"Max\": 1.0, \"Min\": 0.0, \"Mean\": 0.5, \"Norm\": 1.0, "        \
    "\"data_name\": \"" name "\"}"
    static const char one[] = GRADIENTS("\"weight\": [" TENSOR("1.0", "1") "]");
    static const char file[] = GRADIENTS("\"weight\": [" NAMED(
        "Module.a.Linear.parameters_grad.0.weight.pt") "]");
    static const char two[] = GRADIENTS(
        "\"weight\": [" TENSOR("1.0", "1") "," TENSOR("1.0", "1") "]");
    cr_expect_not(
        has_finding(one, file, TP_FINDS_UNMATCHED, TP_SEVERITY_LOW, ""));
    cr_expect(has_finding(two, file, TP_FINDS_UNMATCHED, TP_SEVERITY_LOW,
                          "Module.a.Linear.parameters_grad.0.weight.0"));
}

/* A step starts from what the one before left: where they part is there. */
Test(compare, later_steps_follow_from_earlier_ones)
{
    struct folders folders = folders_make();
    struct made made;
    char step[256];
    for (int run = 0; run < 2; run++) {
        const char *folder = run ? folders.b : folders.a;
        mkdir(folder, 0777);
        snprintf(step, sizeof step, "%s/step0", folder);
        write_dump(step, HEAD,
                   run ? FIRST "," SECOND(TENSOR("2.0", "2"))
                       : FIRST "," SECOND(TENSOR("2.5", "4")));
        snprintf(step, sizeof step, "%s/step1", folder);
        write_dump(step, HEAD,
                   run ? EXP(TENSOR("2.0", "2")) : EXP(TENSOR("2.5", "4")));
    }
    make(&made, folders.a, folders.b, TP_COMPARE_STATISTICS);
    cr_assert_eq(made.status, TP_OK, "%s", made.err.message);
    const struct tp_dump_finding *parting = finding_of(&made, TP_FINDS_PARTING);
    cr_assert_not_null(parting);
    cr_expect_eq(parting->step, 0);
    cr_expect_eq(parting->count, 2);
    cr_expect_str_eq(parting->name, "Torch.log.0.forward");
    clear(&made);
    folders_remove(&folders);
}

/* Ranks of a collective catch what another one started: the rank that parts in
 * the earliest call is named, whatever its number. */
Test(compare, the_rank_that_parts_first)
{
    struct folders folders = folders_make();
    struct made made;
    char rank[256];
    for (int run = 0; run < 2; run++) {
        const char *folder = run ? folders.b : folders.a;
        mkdir(folder, 0777);
        snprintf(rank, sizeof rank, "%s/rank0", folder);
        write_dump(rank, HEAD,
                   run ? FIRST "," SECOND(TENSOR("2.0", "2"))
                       : FIRST "," SECOND(TENSOR("2.5", "4")));
        snprintf(rank, sizeof rank, "%s/rank1", folder);
        write_dump(rank, HEAD,
                   run ? EXP(TENSOR("2.0", "2")) : EXP(TENSOR("2.5", "4")));
    }
    make(&made, folders.a, folders.b, TP_COMPARE_STATISTICS);
    cr_assert_eq(made.status, TP_OK, "%s", made.err.message);
    const struct tp_dump_finding *parting = finding_of(&made, TP_FINDS_PARTING);
    cr_assert_not_null(parting);
    cr_expect_eq(parting->rank, 1);
    cr_expect_eq(parting->count, 2);
    cr_expect_str_eq(parting->name, "Torch.exp.0.forward");
    clear(&made);
    folders_remove(&folders);
}

/* A mean that cancels is not what the runs are furthest apart in. */
Test(compare, the_furthest_apart_is_no_mean_that_cancels)
{
#define STATS(max, mean)                                                     \
    "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float64\", \"shape\": " \
    "[4], \"Max\": " max ", \"Min\": -1.0, \"Mean\": " mean                  \
    ", \"Norm\": null, \"requires_grad\": false}"
    struct folders folders = folders_make();
    struct made made;
    write_dump(
        folders.a, HEAD,
        CALL("Torch.exp.0.forward", STATS("1.0", "3e-9"), STATS("1.1", "0.5")));
    write_dump(
        folders.b, HEAD,
        CALL("Torch.exp.0.forward", STATS("1.0", "1e-9"), STATS("1.0", "0.5")));
    make(&made, folders.a, folders.b, TP_COMPARE_STATISTICS);
    cr_assert_eq(made.status, TP_OK, "%s", made.err.message);
    cr_assert_eq(made.records.worst_count, 2);
    const struct tp_compare_record *first =
        &made.records.rows[made.records.worst[0]];
    const struct tp_compare_record *second =
        &made.records.rows[made.records.worst[1]];
    cr_expect_str_eq(first->name_a, "Torch.exp.0.forward.output.0");
    cr_expect_float_eq(first->distance, 0.1 / 1.1, 1e-12);
    cr_expect_float_eq(second->distance, 2e-9, 1e-15);
    cr_expect_float_eq(second->error, 2, 1e-9, "the relative one stays");
    clear(&made);
    folders_remove(&folders);
}

/* Runs of two precisions part as they are meant to: where more than half of the
 * rows have another dtype in B. */
Test(compare, runs_of_two_precisions_part)
{
#define HALF(max)                                                             \
    "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.bfloat16\", \"shape\": " \
    "[2], \"Max\": " max ", \"Min\": 0.0, \"Mean\": 0.5, \"Norm\": " max      \
    ", \"requires_grad\": false}"
    static const char b[] = EXP(TENSOR("2.0", "2"));
    static const char name[] = "Torch.exp.0.forward";
    cr_expect(has_finding(EXP(TENSOR("4.0", "3")), b, TP_FINDS_PARTING,
                          TP_SEVERITY_MEDIUM, name));
    cr_expect(has_finding(EXP(HALF("4.0")), b, TP_FINDS_PARTING,
                          TP_SEVERITY_MEDIUM, name));
    cr_expect(has_finding(CALL("Torch.exp.0.forward", HALF("1.0"), HALF("4.0")),
                          b, TP_FINDS_PARTING, TP_SEVERITY_LOW, name));
}

/* Of tensors it is the L2 distance over the larger norm: at most 2. */
Test(compare, distances_are_bounded)
{
    char a[4096], b[4096];
    struct made made;
    size_t seen = 0;
    testdata_path("msprobe/step1", a, sizeof a);
    testdata_path("msprobe/step0", b, sizeof b);
    make(&made, a, b, TP_COMPARE_TENSOR);
    for (size_t i = 0; i < made.records.count; i++) {
        const struct tp_compare_record *row = &made.records.rows[i];
        const struct tp_compare_line *line =
            &made.comparison.pairs[row->pair].rows[row->row];
        if (!isfinite(row->distance) || !isfinite(row->euc_dist))
            continue;
        const double larger =
            fmax(line->elements.norm_a, line->elements.norm_b);
        cr_expect_leq(row->distance, 2);
        cr_expect_float_eq(row->distance * larger, row->euc_dist,
                           1e-9 * larger + 1e-300, "%s", row->name_a);
        seen += row->distance > 0;
    }
    cr_expect_gt(seen, 20);
    clear(&made);
}
