/* SPDX-License-Identifier: MIT */
/*
 * Files that a checkpoint names, or that its layout asks for, and that are not
 * there: a shard of an index, a rank's part, the metadata. What readers left
 * out for that reason was collected with the rows; each file that speaks of it
 * is one finding, with the first sentence. Cost: a look at what was skipped.
 */
#include <string.h>

#include "formats/saved_place.h"
#include "rules/rules.h"

/* What one file says of files that are not there. */
struct told {
    const struct tp_skipped *first;
    size_t missing;
};

/* Entries of a file are neighbours. */
static size_t next_file(const struct tp_run *run, size_t at, struct told *told)
{
    const char *file = run->skipped[at].file;
    *told = (struct told){NULL, 0};
    for (; at < run->skipped_count; at++) {
        const struct tp_skipped *skipped = &run->skipped[at];
        if (strcmp(skipped->file, file) != 0)
            break;
        if (skipped->missing && told->missing++ == 0)
            told->first = skipped;
    }
    return at;
}

/* The checkpoint as a row of no tensor. */
static void describe_file(const char *file, struct tp_row *row)
{
    struct tp_saved_place place;
    size_t stem;
    tp_saved_place_of(file, true, &place, &stem);
    const int64_t step = place.number[TP_PLACE_STEP];
    *row = (struct tp_row){.file = file,
                           .path = "",
                           .source = SIZE_MAX,
                           .place = SIZE_MAX,
                           .label = TP_LABEL_NONE};
    row->label.iteration = step >= 0 ? step : place.number[TP_PLACE_EPOCH];
}

static enum tp_status tell(const struct tp_rule_input *input,
                           const struct tp_rule *rule, const struct told *told,
                           struct tp_error *err)
{
    struct tp_row row;
    struct tp_finding *finding;
    struct tp_findings *findings = input->findings;
    const struct tp_skipped *first = told->first;
    const size_t others = told->missing - 1;
    describe_file(first->file, &row);
    enum tp_status status = tp_finding_add(findings, rule, &row, &finding, err);
    if (status != TP_OK)
        return status;
    finding->level = TP_SEVERITY_MEDIUM;
    finding->metric = "missing";
    finding->value = finding->excess = (double)told->missing;
    finding->evidence = tp_finding_text(
        findings, "%.200s%s%s", first->path, *first->path ? ": " : "",
        first->reason);
    if (others)
        finding->evidence =
            tp_finding_text(findings, "%s; and %zu more of this checkpoint",
                            finding->evidence, others);
    finding->suggestion =
        "copy again what is missing, hidden files, too, or go back to the "
        "checkpoint before: what is loaded from this one is not the model that "
        "was saved";
    return TP_OK;
}

enum tp_status tp_rule_incomplete(const struct tp_rule_input *input,
                                  const struct tp_rule *rule,
                                  struct tp_error *err)
{
    const struct tp_run *run = input->run;
    enum tp_status status = TP_OK;
    struct told told;
    for (size_t i = 0; status == TP_OK && i < run->skipped_count;) {
        i = next_file(run, i, &told);
        if (told.missing)
            status = tell(input, rule, &told, err);
    }
    return status;
}
