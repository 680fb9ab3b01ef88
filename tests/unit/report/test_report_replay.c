/* SPDX-License-Identifier: MIT */
/* What the head of a replay's page says: with findings and without, of a whole
 * dump and of a damaged one. */
#include "report/report_replay.h"

#include <criterion/criterion.h>

static const struct tp_dump_rule rule = {.id = "r", .help = "a wrong result"};

static void expect(const struct tp_replay_results *results,
                   const struct tp_dump_finding *finding, bool damaged,
                   const char *verdict, const char *sentence)
{
    const struct tp_dump_findings findings = {
        .rows = (struct tp_dump_finding *)finding, .count = finding != NULL};
    const struct tp_replay_report report = {.results = results,
                                            .findings = &findings};
    struct tp_text first = {0}, second = {0};
    tp_report_replay_head(&report, damaged, &first, &second);
    cr_expect_str_eq(tp_text_get(&first), verdict);
    cr_expect_str_eq(tp_text_get(&second), sentence);
    tp_text_clear(&first);
    tp_text_clear(&second);
}

Test(report_replay, the_head_tells_the_worst)
{
    const struct tp_replay_results results = {
        .counts = {.calls = 5, .states = {[TP_REPLAY_JUDGED] = 3,
                                          [TP_REPLAY_RANDOM] = 2}},
        .backward = {.calls = 4, .states = {[TP_REPLAY_JUDGED] = 4}}};
    struct tp_dump_finding finding = {.rule = &rule,
                                      .step = 1,
                                      .rank = -1,
                                      .name = "Torch.log.0.forward",
                                      .count = 1};
    expect(&results, &finding, false, "a wrong result",
           "Torch.log.0.forward of step 1; 7 of 9 calls computed again, 2 of "
           "random results");
    finding.count = 3;
    finding.rank = 2;
    expect(&results, &finding, false, "a wrong result",
           "Torch.log.0.forward of step 1, rank 2 and 2 other calls; 7 of 9 "
           "calls computed again, 2 of random results");
    expect(&results, NULL, false, "no result stands out",
           "7 of 9 calls computed again, 2 of random results");
}

Test(report_replay, the_head_tells_of_damage)
{
    const struct tp_replay_results some = {
        .counts = {.calls = 2, .states = {[TP_REPLAY_JUDGED] = 1,
                                          [TP_REPLAY_UNREADABLE] = 1}}};
    const struct tp_replay_results none = {
        .counts = {.calls = 1, .states = {[TP_REPLAY_UNREADABLE] = 1}}};
    expect(&some, NULL, true, "no result stands out",
           "1 of 2 calls computed again, 1 with tensors that are absent or "
           "damaged; the input is damaged or incomplete, so that this is not "
           "all of it");
    expect(&none, NULL, true, "no call was computed again",
           "0 of 1 call computed again, 1 with tensors that are absent or "
           "damaged; the input is damaged or incomplete, so that this is not "
           "all of it");
}
