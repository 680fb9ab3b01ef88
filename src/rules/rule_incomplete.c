/* SPDX-License-Identifier: MIT */
/*
 * Files that a checkpoint names, or that its layout asks for, and that are not
 * there: a shard of an index, a rank's part, the metadata; and shards that an
 * index does not know. What readers say of that was collected with the rows.
 * One finding, about the first checkpoint of which it is said. Cost: a look at
 * what was skipped.
 */
#include <string.h>

#include "formats/saved_place.h"
#include "rules/rules.h"

/* What the files of a run say of others that are not there. */
struct tally {
    struct tp_row row;              /* the first checkpoint of which it is */
    const struct tp_skipped *first; /* what is said of that one            */
    size_t missing, checkpoints;    /* missing: of that one                */
};

/* A checkpoint, by the file that tells of it, as a row of no tensor. */
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

/* Adds what one file says, whose entries are neighbours; the next file's. */
static size_t add_file(const struct tp_run *run, size_t at, struct tally *tally)
{
    const struct tp_skipped *first = NULL;
    const char *file = run->skipped[at].file;
    size_t missing = 0;
    struct tp_row row;
    for (; at < run->skipped_count; at++) {
        const struct tp_skipped *skipped = &run->skipped[at];
        if (strcmp(skipped->file, file) != 0)
            break;
        if (skipped->missing && missing++ == 0)
            first = skipped;
    }
    if (!missing)
        return at;
    describe_file(file, &row);
    if (tally->checkpoints++ == 0 ||
        row.label.iteration < tally->row.label.iteration) {
        tally->row = row;
        tally->first = first;
        tally->missing = missing;
    }
    return at;
}

static void describe(struct tp_findings *findings, const struct tally *tally,
                     struct tp_finding *finding)
{
    const struct tp_skipped *first = tally->first;
    const size_t more = tally->missing - 1, others = tally->checkpoints - 1;
    finding->level = TP_SEVERITY_MEDIUM;
    finding->metric = "missing";
    finding->consequences = (int64_t)others;
    finding->value = finding->excess = (double)tally->missing;
    finding->evidence =
        tp_finding_text(findings, "%.200s%s%s", first->path,
                        *first->path ? ": " : "", first->reason);
    if (more)
        finding->evidence =
            tp_finding_text(findings, "%s; and %zu more of this checkpoint",
                            finding->evidence, more);
    if (others)
        finding->evidence =
            tp_finding_text(findings, "%s; so of %zu other checkpoint%s",
                            finding->evidence, others, others == 1 ? "" : "s");
    finding->suggestion =
        "copy it again as a whole, hidden files, too, and without what other "
        "saves left there, or go back to the checkpoint before: what is loaded "
        "from this one may not be the model that was saved";
}

enum tp_status tp_rule_incomplete(const struct tp_rule_input *input,
                                  const struct tp_rule *rule,
                                  struct tp_error *err)
{
    const struct tp_run *run = input->run;
    struct tally tally = {.first = NULL};
    struct tp_finding *finding;
    for (size_t i = 0; i < run->skipped_count;)
        i = add_file(run, i, &tally);
    if (!tally.first)
        return TP_OK;
    enum tp_status status =
        tp_finding_add(input->findings, rule, &tally.row, &finding, err);
    if (status == TP_OK)
        describe(input->findings, &tally, finding);
    return status;
}
