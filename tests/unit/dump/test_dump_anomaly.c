/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/call_maker.h"

#include "dump/dump_anomaly.h"
#include "dump/dump_origin.h"

/* Where NaN and Inf come from. Each case has a twin that is silent, or is one:
 * `origins` is "" then. */

enum { CALLS = 12, RANKS = 3, STEPS = 2 };

struct scenario {
    const char *name;
    const char *calls[STEPS][RANKS][CALLS]; /* steps, then ranks           */
    const char *construct; /* of each place; NULL: none                    */
    const char *origins;   /* "STEP/RANK KIND NAME;", by place and order   */
};

static const char *const kinds[] = {
    [TP_ORIGIN_CALL] = "call",
    [TP_ORIGIN_MASKED] = "masked",
    [TP_ORIGIN_GIVEN] = "given",
    [TP_ORIGIN_RECEIVED] = "received",
};

static const struct scenario scenarios[] = {
    {.name = "all finite",
     .calls = {{{"Torch.log.0.forward i:2:1 o:0.7:0",
                 "Tensor.__mul__.0.forward i:0.7:0 s:2 o:1.4:0"}}},
     .origins = ""},
    {.name = "the first call",
     .calls = {{{"Torch.log.0.forward i:1:-1 o:nan:nan",
                 "Tensor.__mul__.0.forward i:nan:nan s:2 o:nan:nan"}}},
     .origins = "0/0 call Torch.log.0.forward;"},
    {.name = "-inf of a logarithm is no mask",
     .calls = {{{"Torch.log.0.forward i:1:0 o:0:-inf",
                 "Tensor.__add__.0.forward i:0:-inf i:1:1 o:1:-inf"}}},
     .origins = "0/0 call Torch.log.0.forward;"},
    {.name = "a mask and its softmax",
     .calls = {{{"Tensor.masked_fill.0.forward i:3:1 i:1:0 s:-inf o:3:-inf",
                 "Functional.softmax.0.forward i:3:-inf o:1:0"}}},
     .origins = ""},
    {.name = "a mask that is made by full and triu and added",
     .calls = {{{"Torch.full.0.forward s:-inf o:-inf:-inf:64",
                 "Torch.triu.0.forward i:-inf:-inf:64 o:0:-inf:64",
                 "Tensor.__add__.0.forward i:3:1 i:0:-inf:64 o:3:-inf",
                 "Torch.softmax.0.forward i:3:-inf o:1:0"}}},
     .origins = ""},
    {.name = "a mask that is a buffer of the model",
     .calls = {{{"Tensor.__add__.0.forward i:3:1 i:0:-inf:64 o:3:-inf",
                 "Torch.softmax.0.forward i:3:-inf o:1:0"}}},
     .origins = ""},
    {.name = "a mask by keyword",
     .calls = {{{"Functional.own.0.forward i:3:1 k:0:-inf:64 o:3:1"}}},
     .origins = ""},
    {.name = "masks of the lowest value, added up",
     .calls = {{{"Tensor.__add__.0.forward i:0:-3.4028234663852886e38 "
                 "i:0:-3.4028234663852886e38 o:0:-inf",
                 "Torch.softmax.0.forward i:0:-inf o:1:0"}}},
     .origins = ""},
    {.name = "a row that is masked entirely",
     .calls = {{{"Tensor.masked_fill.0.forward i:3:1 i:1:1 s:-inf o:3:-inf",
                 "Functional.softmax.0.forward i:3:-inf o:nan:nan",
                 "Torch.matmul.0.forward i:nan:nan i:2:1 o:nan:nan"}}},
     .origins = "0/0 masked Functional.softmax.0.forward;"},
    {.name = "a filled mask does not hide what was there",
     .calls = {{{"Torch.log.0.forward i:1:-1 o:nan:nan",
                 "Tensor.masked_fill.0.forward i:nan:nan s:-inf o:nan:nan"}}},
     .origins = "0/0 call Torch.log.0.forward;"},
    {.name = "a mask before a true origin",
     .calls = {{{"Tensor.masked_fill.0.forward i:3:1 i:1:0 s:-inf o:3:-inf",
                 "Functional.softmax.0.forward i:3:-inf o:1:0",
                 "Tensor.div.0.forward i:1:0 i:0:0 o:inf:-inf"}}},
     .origins = "0/0 call Tensor.div.0.forward;"},
    {.name = "inside two lists",
     .calls = {{{"Torch.cat.0.forward l:nan:nan i:1:0 o:nan:nan"}}},
     .origins = "0/0 given Torch.cat.0.forward;"},
    {.name = "a parameter",
     .calls = {{{"Functional.gelu.0.forward i:2:1 o:2:0.8",
                 "Module.a.fc.Linear.forward.0 i:2:0.8 p:nan:nan:64 o:nan:nan",
                 "Torch.sum.0.forward i:nan:nan o:nan:nan:1"}}},
     .origins = "0/0 given Module.a.fc.Linear.forward.0;"},
    {.name = "in the backward pass only",
     .calls = {{{"Torch.sqrt.0.forward i:1:0 o:1:0",
                 "Torch.sum.0.forward i:1:0 o:3:3:1",
                 "Torch.sum.0.backward i:1:1:1 o:1:1",
                 "Torch.sqrt.0.backward i:1:1 o:inf:0.5"}}},
     .origins = "0/0 call Torch.sqrt.0.backward;"},
    {.name = "a gradient of what was bad before",
     .calls = {{{"Torch.log.0.forward i:1:0 o:0:-inf",
                 "Torch.where.0.forward i:1:0 i:0:-inf i:0:0 o:0:-1",
                 "Torch.where.0.backward i:1:1 o:1:0",
                 "Torch.log.0.backward i:1:0 o:nan:nan"}}},
     .origins = "0/0 call Torch.log.0.forward;"},
    {.name = "the optimizer",
     .calls = {{{"Tensor.sqrt.0.forward i:1:0 o:1:0",
                 "Tensor.addcdiv_.0.forward i:2:1 i:1:0 i:1:0 o:nan:nan"}}},
     .origins = "0/0 call Tensor.addcdiv_.0.forward;"},
    {.name = "the gradient of a parameter",
     .calls = {{{"Module.a.fc.Linear.backward.0 i:1:0 o:1:0",
                 "Module.a.fc.Linear.parameters_grad o:inf:0"}}},
     .origins = "0/0 call Module.a.fc.Linear.parameters_grad;"},
    {.name = "the gradient of a parameter, after NaN elsewhere",
     .calls = {{{"Torch.log.0.forward i:1:-1 o:nan:nan",
                 "Module.a.fc.Linear.backward.0 i:1:0 o:1:0",
                 "Module.a.fc.Linear.parameters_grad o:inf:0"}}},
     .origins = "0/0 call Torch.log.0.forward;"
                "0/0 call Module.a.fc.Linear.parameters_grad;"},
    {.name = "the gradient of a parameter, after a bad gradient",
     .calls = {{{"Torch.sqrt.0.backward i:1:1 o:inf:0.5",
                 "Module.a.fc.Linear.parameters_grad o:nan:nan:4"}}},
     .origins = "0/0 call Torch.sqrt.0.backward;"},
    {.name = "a module around it",
     .calls = {{{"Torch.log.0.forward i:1:-1 o:nan:nan:4",
                 "Module.a.Block.forward.0 i:1:-1 o:nan:nan",
                 "Module.Net.forward.0 i:1:-1 o:nan:nan:2"}}},
     .construct = "{\"Torch.log.0.forward\": \"Module.a.Block.forward.0\", "
                  "\"Module.a.Block.forward.0\": \"Module.Net.forward.0\"}",
     .origins = "0/0 call Torch.log.0.forward;"},
    {.name = "a module that is listed before what is inside it",
     .calls = {{{"Module.a.Block.forward.0 i:1:-1 o:nan:nan",
                 "Module.a.b.Log.forward.0 i:1:-1 o:nan:nan:4"}}},
     .origins = "0/0 call Module.a.b.Log.forward.0;"},
    {.name = "a module beside it",
     .calls = {{{"Module.a.b.Log.forward.0 i:1:-1 o:nan:nan:4",
                 "Module.c.Exp.forward.0 i:99:0 o:inf:1"}}},
     .origins = "0/0 call Module.a.b.Log.forward.0;"
                "0/0 call Module.c.Exp.forward.0;"},
    {.name = "unwritten memory",
     .calls = {{{"Torch.empty.0.forward o:nan:nan",
                 "Tensor.fill_.0.forward i:nan:nan s:0 o:0:0",
                 "Torch.empty.1.forward o:nan:nan:16",
                 "Distributed.recv.0.forward i:nan:nan:16 src:1 o:1:0:16"}}},
     .origins = ""},
    {.name = "unwritten memory that is used",
     .calls = {{{"Torch.empty.0.forward o:nan:nan",
                 "Tensor.add_.0.forward i:nan:nan i:1:0 o:nan:nan"}}},
     .origins = "0/0 call Tensor.add_.0.forward;"},
    {.name = "only the norm overflows",
     .calls = {{{"Torch.matmul.0.forward i:1e30:-1 o:1e30:-1",
                 "Torch.matmul.1.forward i:3e38:-3e38 o:3e38:-3e38"}}},
     .origins = ""},
    {.name = "inputs without statistics",
     .calls = {{{"Torch.matmul.0.forward u o:nan:nan"}}},
     .origins = "0/0 call Torch.matmul.0.forward;"},
    {.name = "a collective of two, from rank 1",
     .calls = {{{"Torch.add.0.forward i:1:0 o:1:0",
                 "Distributed.all_reduce.0.forward i:1:0 o:nan:nan",
                 "Tensor.mul_.0.forward i:nan:nan o:nan:nan"},
                {"Torch.log.0.forward i:1:-1 o:nan:nan",
                 "Distributed.all_reduce.0.forward i:nan:nan o:nan:nan"}}},
     .origins = "0/1 call Torch.log.0.forward;"},
    {.name = "its twin",
     .calls = {{{"Distributed.all_reduce.0.forward i:1:0 o:2:0"},
                {"Torch.log.0.forward i:2:1 o:1:0",
                 "Distributed.all_reduce.0.forward i:1:0 o:2:0"}}},
     .origins = ""},
    {.name = "a collective that overflows",
     .calls = {{{"Distributed.all_reduce.0.forward i:3e38:0 o:inf:0"},
                {"Distributed.all_reduce.0.forward i:3e38:0 o:inf:0"}}},
     .origins = "0/0 call Distributed.all_reduce.0.forward;"},
    {.name = "a collective of ranks that are not there",
     .calls = {{{"Distributed.all_reduce.0.forward i:1:0 g:0,7 o:nan:nan"}}},
     .origins = "0/0 received Distributed.all_reduce.0.forward;"},
    {.name = "two groups",
     .calls = {{{"Distributed.all_reduce.0.forward i:1:0 g:0,1 o:1:0",
                 "Distributed.all_reduce.1.forward i:1:0 g:0,2 o:nan:nan"},
                {"Distributed.all_reduce.0.forward i:1:0 g:0,1 o:1:0"},
                {"Torch.log.0.forward i:1:-1 o:nan:nan",
                 "Distributed.all_reduce.0.forward i:nan:nan g:0,2 "
                 "o:nan:nan"}}},
     .origins = "0/2 call Torch.log.0.forward;"},
    {.name = "sent and received",
     .calls = {{{"Distributed.recv.0.forward src:1 o:nan:nan",
                 "Functional.gelu.0.forward i:nan:nan o:nan:nan"},
                {"Torch.log.0.forward i:1:-1 o:nan:nan",
                 "Distributed.send.0.forward i:nan:nan dst:0 o:nan:nan"}}},
     .origins = "0/1 call Torch.log.0.forward;"},
    {.name = "the second of two messages",
     .calls = {{{"Distributed.recv.0.forward src:1 o:1:0",
                 "Distributed.recv.1.forward src:1 o:nan:nan"},
                {"Distributed.send.0.forward i:1:0 dst:0 o:1:0",
                 "Torch.log.0.forward i:1:-1 o:nan:nan",
                 "Distributed.isend.0.forward i:nan:nan dst:0 o:nan:nan"}}},
     .origins = "0/1 call Torch.log.0.forward;"},
    {.name = "messages of a list, among them a bad one",
     .calls = {{{"Distributed.batch_isend_irecv.0.forward >1:1:0 <1:nan:nan "
                 "<2:nan:nan:16 =>1:1:0 =<1:3:0 =<2:nan:nan:16",
                 "Torch.add.0.forward i:3:0 o:3:0",
                 "Torch.sub.0.forward i:nan:nan:16 o:nan:nan:16"},
                {"Torch.add.0.forward i:3:0 o:3:0",
                 "Distributed.batch_isend_irecv.0.forward <0:5:0 >0:3:0 "
                 "=<0:1:0 =>0:3:0"},
                {"Torch.log.0.forward i:1:-1:16 o:nan:nan:16",
                 "Distributed.batch_isend_irecv.0.forward >0:nan:nan:16 "
                 "=>0:nan:nan:16"}}},
     .origins = "0/2 call Torch.log.0.forward;"},
    {.name = "a list and a single message, the second of two is bad",
     .calls = {{{"Distributed.batch_isend_irecv.0.forward <1:9:9 <1:9:9 "
                 "=<1:1:0 =<1:nan:nan"},
                {"Distributed.send.0.forward i:1:0 dst:0 o:1:0",
                 "Torch.log.0.forward i:1:-1 o:nan:nan",
                 "Distributed.isend.0.forward i:nan:nan dst:0 o:nan:nan"}}},
     .origins = "0/1 call Torch.log.0.forward;"},
    {.name = "a list that sends what is bad and receives what is bad",
     .calls = {{{"Torch.log.0.forward i:1:-1 o:nan:nan",
                 "Distributed.batch_isend_irecv.0.forward >1:nan:nan "
                 "<1:0:0:16 =>1:nan:nan =<1:inf:0:16",
                 "Functional.gelu.0.forward i:inf:0:16 o:inf:0:16"},
                {"Torch.exp.0.forward i:99:0:16 o:inf:0:16",
                 "Distributed.batch_isend_irecv.0.forward >0:inf:0:16 "
                 "<0:0:0 =>0:inf:0:16 =<0:nan:nan"}}},
     .origins = "0/0 call Torch.log.0.forward;0/1 call Torch.exp.0.forward;"},
    {.name = "its twin",
     .calls = {{{"Distributed.batch_isend_irecv.0.forward >1:1:0 <1:nan:nan:16 "
                 "=>1:1:0 =<1:2:0:16"},
                {"Distributed.batch_isend_irecv.0.forward >0:2:0:16 "
                 "<0:inf:inf =>0:2:0:16 =<0:1:0"}}},
     .origins = ""},
    {.name = "what a list received is bad once it is used", /* as dumped */
     .calls = {{{"Distributed.batch_isend_irecv.0.forward >1:1:0:16 <1:0:0 "
                 "=>1:1:0:16 =<1:0:0",
                 "Torch.add.0.forward i:nan:nan o:nan:nan"},
                {"Torch.log.0.forward i:1:-1 o:nan:nan",
                 "Distributed.batch_isend_irecv.0.forward >0:nan:nan <0:0:0:16 "
                 "=>0:nan:nan =<0:0:0:16"}}},
     .origins = "0/1 call Torch.log.0.forward;"},
    {.name = "what a list received is finite, or of another shape",
     .calls = {{{"Distributed.batch_isend_irecv.0.forward <1:0:0 <1:0:0:16 "
                 "=<1:0:0 =<1:0:0:16",
                 "Torch.add.0.forward i:nan:nan o:nan:nan"},
                {"Torch.log.0.forward i:1:-1:16 o:nan:nan:16",
                 "Distributed.batch_isend_irecv.0.forward >0:1:0 >0:nan:nan:16 "
                 "=>0:1:0 =>0:nan:nan:16"}}},
     .origins = "0/0 given Torch.add.0.forward;0/1 call Torch.log.0.forward;"},
    {.name = "a message of a list from a rank that is not there",
     .calls = {{{"Distributed.batch_isend_irecv.0.forward >1:1:0 <7:0:0 "
                 "=>1:1:0 =<7:nan:nan"},
                {"Distributed.batch_isend_irecv.0.forward <0:0:0 =<0:1:0"}}},
     .origins = "0/0 received Distributed.batch_isend_irecv.0.forward;"},
    {.name = "the buffer of a broadcast",
     .calls = {{{"Distributed.broadcast.0.forward i:1:0 src:0 o:1:0"},
                {"Distributed.broadcast.0.forward i:nan:nan src:0 o:1:0"}}},
     .origins = ""},
    {.name = "again in the next step",
     .calls = {{{"Torch.log.0.forward i:1:-1 o:nan:nan"}},
               {{"Torch.log.0.forward i:1:-2 o:nan:nan"}}},
     .origins = "0/0 call Torch.log.0.forward;1/0 call Torch.log.0.forward;"},
    {.name = "an input of the next step",
     .calls = {{{"Tensor.div.0.forward i:1:0 i:0:0 o:nan:nan"}},
               {{"Functional.linear.0.forward i:1:0 i:nan:nan:64 o:nan:nan",
                 "Functional.gelu.0.forward i:nan:nan o:nan:nan"}}},
     .origins = "0/0 call Tensor.div.0.forward;"
                "1/0 given Functional.linear.0.forward;"},
};

static void find(const struct scenario *scenario, struct tp_dump *dump,
                 struct tp_dump_anomalies *anomalies)
{
    struct maker maker = maker_begin();
    for (int step = 0; step < STEPS; step++)
        for (int rank = 0; rank < RANKS; rank++) {
            char folder[64], name[96];
            if (!scenario->calls[step][rank][0])
                continue;
            snprintf(folder, sizeof folder, "d/step%d/rank%d", step, rank);
            call_write(&maker, folder, scenario->calls[step][rank]);
            snprintf(name, sizeof name, "%s/construct.json", folder);
            if (scenario->construct)
                maker_put(&maker, name, scenario->construct);
        }
    cr_assert_eq(maker_read(&maker, "d", false, dump), TP_OK);
    *anomalies = (struct tp_dump_anomalies){.count = 0};
    cr_assert_eq(tp_dump_anomalies_find(dump, anomalies, NULL), TP_OK);
    maker_end(&maker);
}

static void add_origin(const struct tp_dump *dump,
                       const struct tp_dump_origin *origin,
                       struct tp_text *text)
{
    const struct tp_dump_place *place = &dump->places[origin->place];
    tp_text_add(text, "%d/%d %s %s;", (int)place->step, (int)place->rank,
                kinds[origin->kind], place->calls[origin->call].key);
}

Test(dump_anomaly, origins)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        const struct scenario *scenario = &scenarios[i];
        struct tp_dump dump;
        struct tp_dump_anomalies anomalies;
        struct tp_text text = {0};
        find(scenario, &dump, &anomalies);
        for (size_t k = 0; k < anomalies.origin_count; k++)
            if (anomalies.origins[k].same == TP_NO_ORIGIN)
                add_origin(&dump, &anomalies.origins[k], &text);
        cr_expect_str_eq(tp_text_get(&text), scenario->origins, "%s: %s",
                         scenario->name, tp_text_get(&text));
        tp_text_clear(&text);
        tp_dump_anomalies_clear(&anomalies);
        tp_dump_clear(&dump);
    }
}

/* Rows have the levels of msprobe, and say which are origins and masks. */
Test(dump_anomaly, rows)
{
    static const struct scenario one = {
        .calls = {{{"Tensor.masked_fill.0.forward i:3:1 s:-inf o:3:-inf",
                    "Torch.softmax.0.forward i:3:-inf o:1:0",
                    "Torch.log.0.forward i:1:-1 o:nan:nan",
                    "Tensor.__mul__.0.forward i:nan:nan o:nan:nan",
                    "Tensor.nan_to_num.0.forward i:nan:nan o:1:1",
                    "Torch.mul.0.forward i:9:0 s:900 o:8100:1"}}}};
    static const struct {
        const char *level;
        int first, mask;
    } expected[] = {{"critical", 0, 1}, {"medium", 0, 1}, {"critical", 1, 0},
                    {"high", 0, 0},     {"medium", 0, 0}, {"high", 0, 0}};
    struct tp_dump dump;
    struct tp_dump_anomalies anomalies;
    find(&one, &dump, &anomalies);
    cr_assert_eq(anomalies.count, 6);
    for (size_t i = 0; i < 6; i++) {
        const struct tp_dump_anomaly *row = &anomalies.rows[i];
        cr_expect_str_eq(row->level, expected[i].level, "%zu", i);
        cr_expect_eq(row->first, expected[i].first, "%zu", i);
        cr_expect_eq(row->mask, expected[i].mask, "%zu", i);
        cr_expect_eq(row->order, (int64_t)i);
    }
    cr_expect_str_eq(anomalies.rows[2].value, "output.0: NaN");
    cr_expect_str_eq(anomalies.rows[5].value,
                     "norm 8100, of inputs 9"); /* hypot(8100, 1), (9, 0) */
    cr_expect_eq(anomalies.masks, 2);
    cr_expect_eq(anomalies.grown, 1);
    cr_expect_eq(anomalies.origins[0].followers, 2);
    tp_dump_anomalies_clear(&anomalies);
    tp_dump_clear(&dump);
}

static void find_origins(const struct tp_dump *dump,
                         const struct tp_dump_anomalies *anomalies,
                         struct tp_dump_findings *findings)
{
    struct tp_pool *pool;
    cr_assert_eq(tp_pool_new(1, &pool, NULL), TP_OK);
    cr_assert_eq(
        tp_dump_origins_find(dump, anomalies, pool, NULL, findings, NULL),
        TP_OK);
    tp_pool_free(pool);
}

/* One finding for calls of one kind; what may come from the step before is
 * less than an origin. */
Test(dump_anomaly, findings)
{
    static const struct scenario one = {
        .calls = {
            {{"Torch.log.0.forward i:1:-1 o:nan:nan",
              "Torch.log.1.forward i:1:-1 o:nan:nan:16",
              "Tensor.__mul__.0.forward i:nan:nan o:nan:nan"}},
            {{"Torch.log.0.forward i:1:-3 o:nan:nan:4"}, {NULL}, {NULL}}}};
    struct tp_dump dump;
    struct tp_dump_anomalies anomalies;
    struct tp_dump_findings findings = {.count = 0};
    find(&one, &dump, &anomalies);
    find_origins(&dump, &anomalies, &findings);
    cr_assert_eq(findings.count, 1);
    const struct tp_dump_finding *finding = &findings.rows[0];
    cr_expect_eq(finding->level, TP_SEVERITY_HIGH);
    cr_expect_str_eq(finding->name, "Torch.log.0.forward");
    cr_expect_eq(finding->step, 0);
    cr_expect_eq(finding->order, 0);
    cr_expect(strstr(finding->evidence,
                     "gave NaN in output.0; what it was given is finite: "
                     "input.0 float32 [8] from -1 to 1."),
              "%s", finding->evidence);
    cr_expect(strstr(finding->evidence, "in 2 other calls of it"), "%s",
              finding->evidence);
    tp_dump_findings_clear(&findings);
    tp_dump_anomalies_clear(&anomalies);
    tp_dump_clear(&dump);
}

Test(dump_anomaly, given_after_an_earlier_step_is_medium)
{
    struct tp_dump dump;
    struct tp_dump_anomalies anomalies;
    struct tp_dump_findings findings = {.count = 0};
    const size_t last = sizeof scenarios / sizeof *scenarios - 1;
    find(&scenarios[last], &dump, &anomalies);
    find_origins(&dump, &anomalies, &findings);
    tp_dump_findings_sort(&findings);
    cr_assert_eq(findings.count, 2);
    cr_expect_eq(findings.rows[0].level, TP_SEVERITY_HIGH);
    cr_expect_eq(findings.rows[1].level, TP_SEVERITY_MEDIUM);
    cr_expect_eq(findings.rows[1].step, 1);
    tp_dump_findings_clear(&findings);
    tp_dump_anomalies_clear(&anomalies);
    tp_dump_clear(&dump);
}

/* What the finding of a lone origin says of zeros; `has` NULL: nothing. */
static void expect_words(const char *line, const char *has, const char *advice)
{
    const struct scenario one = {.calls = {{{line}}}};
    struct tp_dump dump;
    struct tp_dump_anomalies anomalies;
    struct tp_dump_findings findings = {.count = 0};
    find(&one, &dump, &anomalies);
    find_origins(&dump, &anomalies, &findings);
    cr_assert_eq(findings.count, 1, "%s", line);
    const char *evidence = findings.rows[0].evidence;
    cr_expect(strstr(evidence, has ? has : "zero") ? has != NULL : !has,
              "%s: %s", line, evidence);
    cr_expect(strstr(findings.rows[0].suggestion, advice), "%s: %s", line,
              findings.rows[0].suggestion);
    tp_dump_findings_clear(&findings);
    tp_dump_anomalies_clear(&anomalies);
    tp_dump_clear(&dump);
}

Test(dump_anomaly, zeros_that_are_divided_by)
{
    expect_words("Tensor.addcdiv_.0.forward i:2:1 i:1:0 i:1:0 o:nan:nan",
                 "It divides by input.2, which has a zero.", "epsilon");
    expect_words("Tensor.addcdiv_.0.forward i:2:0 i:1:0 i:1:0.5 o:inf:0", NULL,
                 "ranges of its inputs");
    expect_words("Tensor.div.0.forward i:1:1 i:0:-1 o:inf:-1",
                 "It divides by input.1, which has a zero.", "epsilon");
    expect_words("Tensor.div.0.forward i:1:0 i:1:-1 o:inf:-1", NULL,
                 "Look for zeros"); /* it may have one between */
    expect_words("Tensor.__truediv__.0.forward i:1:1 s:0 o:inf:inf",
                 "It divides by input.1, which is zero.", "epsilon");
    expect_words("Torch.reciprocal.0.forward i:1:0 o:inf:1",
                 "It divides by input.0, which has a zero.", "epsilon");
    expect_words("Torch.rsqrt.0.forward i:1:0 o:inf:1",
                 "It divides by the root of input.0, which has a zero.",
                 "epsilon");
    expect_words("Torch.rsqrt.0.forward i:1:-1 o:nan:nan", NULL, "negative");
    expect_words("Torch.log.0.forward i:1:0 o:0:-inf",
                 "It takes the logarithm of input.0, which has a zero.",
                 "epsilon");
    expect_words("Torch.log.0.forward i:1:-1 o:nan:nan", NULL, "clamp");
    expect_words("Torch.div.0.backward i:1:0 i:0:0 o:inf:0", NULL, "zeros");
}

/* Adam's eps is 0 in float16 only. */
Test(dump_anomaly, an_epsilon_of_float16)
{
    static const struct scenario one = {
        .calls = {{{"Tensor.addcdiv_.0.forward i:2:1 i:1:0 i:1:0 o:nan:nan"}}}};
    for (int half = 0; half < 2; half++) {
        struct tp_dump dump;
        struct tp_dump_anomalies anomalies;
        struct tp_dump_findings findings = {.count = 0};
        find(&one, &dump, &anomalies);
        for (size_t i = 0; half && i < dump.places[0].item_count; i++)
            dump.places[0].items[i].element = TP_FLOAT16;
        find_origins(&dump, &anomalies, &findings);
        cr_assert_eq(findings.count, 1);
        const char *advice = findings.rows[0].suggestion;
        cr_expect_eq(strstr(advice, "eps of 1e-8 is 0") != NULL, half == 1,
                     "%s", advice);
        tp_dump_findings_clear(&findings);
        tp_dump_anomalies_clear(&anomalies);
        tp_dump_clear(&dump);
    }
}

/* Without Max and Min a Norm that is Inf tells only where Mean does not. */
Test(dump_anomaly, a_lone_norm)
{
    static const struct {
        const char *item;
        size_t origins;
    } cases[] = {
        {"\"dtype\": \"torch.float32\", \"Norm\": Infinity", 1},
        {"\"dtype\": \"torch.float32\", \"Mean\": 1, \"Norm\": Infinity", 0},
        {"\"dtype\": 4, \"shape\": \"a\", \"Norm\": Infinity", 0},
        {"\"dtype\": \"torch.int64\", \"Norm\": Infinity", 0},
        {"\"dtype\": \"torch.float32\", \"Mean\": -Infinity", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct maker maker = maker_begin();
        struct tp_dump dump;
        struct tp_dump_anomalies anomalies = {.count = 0};
        char json[256];
        snprintf(json, sizeof json,
                 "{\"data\": {\"Tensor.add.0.forward\": {\"output\": "
                 "[{\"type\": \"torch.Tensor\", %s}]}}}",
                 cases[i].item);
        maker_put(&maker, "d/dump.json", json);
        cr_assert_eq(maker_read(&maker, "d", false, &dump), TP_OK);
        cr_assert_eq(tp_dump_anomalies_find(&dump, &anomalies, NULL), TP_OK);
        cr_expect_eq(anomalies.origin_count, cases[i].origins, "%s", json);
        tp_dump_anomalies_clear(&anomalies);
        tp_dump_clear(&dump);
        maker_end(&maker);
    }
}

/* Calls that each made their own, and what has it from the first of them. */
Test(dump_anomaly, the_same_again)
{
    static const struct {
        const char *calls[3], *words;
    } cases[] = {
        {{"Torch.log.0.forward i:1:-1 o:nan:nan"}, "No other call has it."},
        {{"Torch.log.0.forward i:1:-1 o:nan:nan",
          "Torch.log.1.forward i:1:-1 o:nan:nan:16"},
         "The same happens in 1 other call of it. No call has it from the "
         "first of them."},
        {{"Torch.log.0.forward i:1:-1 o:nan:nan",
          "Tensor.__mul__.0.forward i:nan:nan o:nan:nan"},
         "1 other call has it: Tensor.__mul__.0.forward."},
        {{"Torch.log.0.forward i:1:-1 o:nan:nan",
          "Torch.log.1.forward i:1:-1 o:nan:nan:16",
          "Tensor.__mul__.0.forward i:nan:nan o:nan:nan"},
         "The same happens in 1 other call of it. 1 call has it from the first "
         "of them: Tensor.__mul__.0.forward."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scenario one = {.name = ""};
        struct tp_dump dump;
        struct tp_dump_anomalies anomalies;
        struct tp_dump_findings findings = {.count = 0};
        memcpy(one.calls[0][0], cases[i].calls, sizeof cases[i].calls);
        find(&one, &dump, &anomalies);
        find_origins(&dump, &anomalies, &findings);
        cr_assert_eq(findings.count, 1);
        cr_expect(strstr(findings.rows[0].evidence, cases[i].words), "%s",
                  findings.rows[0].evidence);
        tp_dump_findings_clear(&findings);
        tp_dump_anomalies_clear(&anomalies);
        tp_dump_clear(&dump);
    }
}

/* Roots and exponentials are large by what they are, other calls are not: nor
 * are gradients, squares, or powers whose exponent is not known. */
Test(dump_anomaly, norms_that_mathematics_makes)
{
    static const struct scenario one = {
        .calls = {{{"Tensor.sqrt.0.forward i:1e-10:0 o:1e-5:0",
                    "Torch.rsqrt.0.forward i:1e-10:1e-11 o:3e5:1e5",
                    "Torch.exp.0.forward i:9:0 o:8103:1",
                    "Torch.reciprocal.0.forward i:1e-3:1e-3 o:1e3:1e3",
                    "Tensor.__pow__.0.forward i:1e-10:0 s:0.5 o:1e-5:0",
                    "Torch.pow.0.forward s:2 i:9:0 o:512:1",
                    "Tensor.__pow__.1.forward i:50:0 s:3 o:125000:0",
                    "Torch.pow.1.forward i:50:0 i:3:3 o:125000:0",
                    "Tensor.mul.0.forward i:9:0 s:900 o:8100:1",
                    "Tensor.sqrt.0.backward i:1e-5:0 o:1:0", NULL}}}};
    static const char *const grown[] = {
        "Tensor.__pow__.1.forward", "Torch.pow.1.forward",
        "Tensor.mul.0.forward", "Tensor.sqrt.0.backward"};
    struct tp_dump dump;
    struct tp_dump_anomalies anomalies;
    find(&one, &dump, &anomalies);
    cr_assert_eq(anomalies.grown, 4, "%zu", anomalies.grown);
    cr_assert_eq(anomalies.count, 4);
    for (size_t i = 0; i < 4; i++)
        cr_expect_str_eq(anomalies.rows[i].api_name, grown[i]);
    cr_expect_str_eq(anomalies.first_grown, grown[0]);
    tp_dump_anomalies_clear(&anomalies);
    tp_dump_clear(&dump);
}

/* An origin is before other findings of its severity, whatever their check,
 * and behind those of a higher one. */
Test(dump_anomaly, origins_are_the_first_findings)
{
    static const struct tp_dump_place place = {.step = 0, .rank = 0};
    static const struct {
        enum tp_dump_check_id check;
        enum tp_severity level;
    } added[] = {{TP_CHECK_STATISTICS, TP_SEVERITY_HIGH},
                 {TP_CHECK_NONFINITE, TP_SEVERITY_MEDIUM},
                 {TP_CHECK_JSON, TP_SEVERITY_MEDIUM},
                 {TP_CHECK_NONFINITE, TP_SEVERITY_HIGH},
                 {TP_CHECK_FLOW, TP_SEVERITY_HIGH}},
      sorted[] = {{TP_CHECK_NONFINITE, TP_SEVERITY_HIGH},
                  {TP_CHECK_STATISTICS, TP_SEVERITY_HIGH},
                  {TP_CHECK_FLOW, TP_SEVERITY_HIGH},
                  {TP_CHECK_NONFINITE, TP_SEVERITY_MEDIUM},
                  {TP_CHECK_JSON, TP_SEVERITY_MEDIUM}};
    struct tp_dump_findings findings = {.count = 0};
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        struct tp_dump_finding *finding;
        cr_assert_eq(tp_dump_finding_add(&findings, added[i].check,
                                         added[i].level, &place, &finding,
                                         NULL),
                     TP_OK);
    }
    tp_dump_findings_sort(&findings);
    for (size_t i = 0; i < findings.count; i++) {
        cr_expect_eq(findings.rows[i].rule,
                     &tp_dump_checks[sorted[i].check].rule, "%zu", i);
        cr_expect_eq(findings.rows[i].level, sorted[i].level, "%zu", i);
    }
    tp_dump_findings_clear(&findings);
}
