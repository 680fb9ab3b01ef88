/* SPDX-License-Identifier: MIT */
/*
 * Copies that are none any more: a parameter that several ranks save, and its
 * likes are the same on all of them; the weights of norms under tensor
 * parallelism; an embedding and the output layer that are said to be one.
 *
 * Whether ranks hold copies or parts of a model no file says. Most matrices
 * tell it: equal on all ranks, they are copies, and so is the rest; else only
 * norms of Megatron's and DeepSpeed's mp_rank files are, since what is split
 * over such ranks leaves norms whole (but those of queries and keys). Stages of
 * a pipeline have numbers of their own in these names, and are not compared.
 * Nothing is read again: rows are equal when all their statistics are. Cost: a
 * sort of the parameters.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/text.h"
#include "formats/model_config.h"
#include "rules/checkpoint.h"
#include "rules/rules.h"

/* A parameter of a rank. */
struct copy {
    const struct tp_row *row;
    size_t place; /* in input->rows: equal for equal places                */
};

static int compare_copies(const void *left, const void *right)
{
    const struct copy *a = left, *b = right;
    int result =
        tp_order_int64(a->row->label.iteration, b->row->label.iteration);
    if (!result)
        result = tp_order_size(a->place, b->place);
    if (!result)
        result = tp_order_int64(a->row->ordinal, b->row->ordinal);
    if (!result)
        result = tp_order_int64(a->row->label.part, b->row->label.part);
    if (!result)
        result = tp_order_int64(a->row->label.rank, b->row->label.rank);
    return result ? result : tp_order_place(a->row, b->row);
}

static bool are_copies(const struct copy *a, const struct copy *b)
{
    return a->row->label.iteration == b->row->label.iteration &&
           a->place == b->place && a->row->ordinal == b->row->ordinal &&
           a->row->label.part == b->row->label.part &&
           a->row->label.rank != b->row->label.rank;
}

/* Copies of all parameters, sorted; NULL: out of memory. */
static struct copy *find_copies(const struct tp_rule_input *input,
                                size_t *count)
{
    struct copy *copies = calloc(input->run->row_count + 1, sizeof *copies);
    size_t place = 0;
    *count = 0;
    for (size_t i = 0; copies && i < input->run->row_count; i++) {
        const struct tp_row *row = input->rows[i];
        if (i > 0 && !tp_same_place(input->rows[i - 1], row))
            place = i;
        if (row->label.rank >= 0 && tp_checkpoint_is_parameter(row) &&
            row->label.expert < 0 && !strstr(row->path, "expert"))
            copies[(*count)++] = (struct copy){row, place};
    }
    if (copies)
        qsort(copies, *count, sizeof *copies, compare_copies);
    return copies;
}

/* The first of [first, end) that is not what most are; NULL: all are equal. */
static const struct tp_row *odd_one(const struct copy *first,
                                    const struct copy *end)
{
    const struct tp_row *odd = NULL;
    ptrdiff_t fewest = end - first;
    for (const struct copy *a = first; a < end; a++) {
        ptrdiff_t same = 0;
        for (const struct copy *b = first; b < end; b++)
            same += tp_checkpoint_are_equal(a->row, b->row);
        if (same < fewest) {
            fewest = same;
            odd = a->row;
        }
    }
    return odd;
}

/* Whether a parameter is whole on each rank though matrices are not. */
static bool is_whole(const struct tp_row *row)
{
    static const char *const of_heads[] = {"q_norm", "k_norm", "q_layernorm",
                                           "k_layernorm"};
    for (size_t i = 0; i < sizeof of_heads / sizeof *of_heads; i++) {
        if (strstr(row->path, of_heads[i]))
            return false;
    }
    return strstr(row->file, "mp_rank_") && !strstr(row->file, "zero_pp_") &&
           row->first_dims[1] < 0 && !strcmp(row->label.layer_type, "norm");
}

/* Parameters of one iteration, in groups of copies. */
struct tally {
    size_t equal, differ;  /* matrices                                     */
    size_t odd, odd_whole; /* groups that differ; of these norms           */
    size_t groups, wholes;
    const struct tp_row *first, *first_whole; /* of those that differ       */
    size_t ranks;
};

static size_t end_of(const struct copy *copies, size_t first, size_t count)
{
    size_t end = first + 1;
    while (end < count && are_copies(&copies[end - 1], &copies[end]))
        end++;
    return end;
}

static void look(const struct copy *first, const struct copy *end,
                 struct tally *tally)
{
    const struct tp_row *row = first->row;
    bool constant = true;
    for (const struct copy *c = first; c < end; c++)
        constant = constant && tp_checkpoint_is_constant(c->row);
    if (end - first < 2 || constant)
        return;
    const struct tp_row *odd = odd_one(first, end);
    bool whole = is_whole(row);
    tally->ranks = (size_t)(end - first);
    tally->groups++;
    tally->wholes += whole;
    if (row->first_dims[1] >= 0) {
        tally->equal += !odd;
        tally->differ += odd != NULL;
    }
    if (!odd)
        return;
    tally->first = tally->odd++ ? tally->first : odd;
    if (whole)
        tally->first_whole = tally->odd_whole++ ? tally->first_whole : odd;
}

static enum tp_status tell(const struct tp_rule_input *input,
                           const struct tp_rule *rule,
                           const struct tally *tally, struct tp_error *err)
{
    bool copies = tally->equal > tally->differ;
    const struct tp_row *row = copies ? tally->first : tally->first_whole;
    size_t odd = copies ? tally->odd : tally->odd_whole;
    size_t all = copies ? tally->groups : tally->wholes;
    struct tp_finding *finding;
    if (!row)
        return TP_OK;
    enum tp_status status =
        tp_finding_add(input->findings, rule, row, &finding, err);
    if (status != TP_OK)
        return status;
    finding->level = TP_SEVERITY_MEDIUM;
    finding->metric = "l2_norm";
    finding->value = row->numbers.l2_norm;
    finding->excess = (double)odd / (double)all;
    finding->consequences = (int64_t)odd - 1;
    finding->evidence = tp_finding_text(
        input->findings, "%zu of %zu %s %s not the same on all of %zu ranks%s",
        odd, all,
        copies ? "parameters that ranks have copies of"
               : "norms that tensor parallelism leaves whole",
        odd == 1 ? "is" : "are", tally->ranks,
        tally->ranks > 2 ? "; this rank's is like the fewest" : "");
    finding->suggestion =
        "copies get the same update only from the same start: compare what "
        "each rank loaded, whether this gradient is reduced over the ranks, "
        "and the clipping of its norm";
    return TP_OK;
}

enum tp_status tp_rule_replicas(const struct tp_rule_input *input,
                                const struct tp_rule *rule,
                                struct tp_error *err)
{
    size_t count;
    struct copy *copies = find_copies(input, &count);
    enum tp_status status = copies ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < count && status == TP_OK;) {
        struct tally tally = {0};
        int64_t iteration = copies[i].row->label.iteration;
        while (i < count && copies[i].row->label.iteration == iteration) {
            size_t end = end_of(copies, i, count);
            look(&copies[i], &copies[end], &tally);
            i = end;
        }
        status = tell(input, rule, &tally, err);
    }
    free(copies);
    return status;
}

/* ---- tied weights -------------------------------------------------- */

static bool is_head(const struct tp_row *row)
{
    return tp_checkpoint_ends_in(row->path, "lm_head.weight") ||
           tp_checkpoint_ends_in(row->path, "output_layer.weight") ||
           tp_checkpoint_ends_in(row->path, "embed_out.weight");
}

static bool is_embedding(const struct tp_row *row)
{
    static const char *const endings[] = {
        "embed_tokens.weight",   "wte.weight",      "word_embeddings.weight",
        "tok_embeddings.weight", "embed_in.weight", "shared.weight"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (tp_checkpoint_ends_in(row->path, endings[i]))
            return true;
    }
    return false;
}

/* The embedding of an output layer: beside it, and as large. */
static const struct tp_row *embedding_of(const struct tp_run *run,
                                         const struct tp_row *head)
{
    for (size_t i = 0; i < run->row_count; i++) {
        const struct tp_row *row = &run->rows[i];
        if (is_embedding(row) && !strcmp(row->shape, head->shape) &&
            row->dtype == head->dtype &&
            row->label.iteration == head->label.iteration &&
            row->label.rank == head->label.rank &&
            tp_checkpoint_is_beside(row, head))
            return row;
    }
    return NULL;
}

/* What config.json beside a row's file says. */
static struct tp_model_config config_of(const struct tp_rule_input *input,
                                        const struct tp_row *row)
{
    const struct tp_found_list *files = &input->run->files;
    struct tp_model_config config = {.tied = false};
    if (row->source < files->count &&
        tp_model_config_read(files->files[row->source].path, &config, NULL) !=
            TP_OK)
        input->findings->arena.failed = true;
    return config;
}

/* Of an output layer that is not the embedding, unless it need not be. */
static enum tp_status tell_untied(const struct tp_rule_input *input,
                                  const struct tp_rule *rule,
                                  const struct tp_row *head,
                                  const struct tp_row *before,
                                  struct tp_error *err)
{
    struct tp_model_config config = {.tied = true};
    struct tp_finding *finding;
    if (!before)
        config = config_of(input, head);
    if (!config.tied && !config.unread)
        return TP_OK;
    enum tp_status status =
        tp_finding_add(input->findings, rule, head, &finding, err);
    if (status != TP_OK)
        return status;
    finding->level = config.tied ? TP_SEVERITY_MEDIUM : TP_SEVERITY_LOW;
    finding->metric = "l2_norm";
    finding->value = head->numbers.l2_norm;
    finding->baseline = embedding_of(input->run, head)->numbers.l2_norm;
    finding->excess = 1;
    if (before)
        finding->evidence =
            tp_finding_text(input->findings,
                            "it was the embedding in iteration %" PRId64
                            ", and is not in iteration %" PRId64,
                            before->label.iteration, head->label.iteration);
    else if (config.tied)
        finding->evidence = "config.json beside it says tie_word_embeddings, "
                            "and it is not the embedding";
    else
        finding->evidence = tp_finding_text(
            input->findings,
            "it is not the embedding, and whether it should be is not known: "
            "config.json beside it: %s",
            config.why.message);
    finding->suggestion =
        config.tied ? "tie the weights again after loading and before the "
                      "optimizer is made, or say that they are not tied"
                    : "mend config.json, and look again";
    return TP_OK;
}

enum tp_status tp_rule_tied(const struct tp_rule_input *input,
                            const struct tp_rule *rule, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    const struct tp_row *tied = NULL, *last = NULL;
    for (size_t i = 0; i < input->run->row_count && status == TP_OK; i++) {
        const struct tp_row *row = input->rows[i];
        if (!is_head(row))
            continue;
        if (!last || !tp_same_place(last, row) ||
            last->label.rank != row->label.rank)
            tied = NULL;
        last = row;
        const struct tp_row *embedding = embedding_of(input->run, row);
        if (!embedding)
            continue;
        if (tp_checkpoint_are_equal(row, embedding))
            tied = row;
        else
            status = tell_untied(input, rule, row, tied, err);
    }
    return status;
}
