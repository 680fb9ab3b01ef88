/* SPDX-License-Identifier: MIT */
/*
 * Updates that a narrow format loses: between the last two checkpoints of a
 * rank, elements of parameters in bfloat16 or float16 that are the same to the
 * bit, and of those in float32 the elements that moved by less than half a
 * unit in the last place that bfloat16 has there. Only this needs both tensors
 * element by element: each of the two is read once more, in step, and nothing
 * is kept but two counts. Parameters of which all statistics are the same are
 * not read (they are the matter of another rule), nor are embeddings, most of
 * whose lines no batch asks for. Moments would tell the updates themselves,
 * but for the learning rate, which no tensor holds. Cost: one reading of the
 * last two checkpoints.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"
#include "rules/checkpoint.h"
#include "rules/rules.h"
#include "scan/pair_scan.h"
#include "tensors/memo.h"
#include "tensors/row_file.h"

enum {
    BATCH = 512,
    BF16_BITS = 8 /* significand, the hidden one too                        */
};

/* Shares above which there is a finding: some where the weights in 16 bits are
 * all there is, most where they may be copies of master weights, and of
 * weights in float32. */
static const double some = 0.1, most = 0.5;

/* ---- counting ------------------------------------------------------ */

struct lost_counts {
    uint64_t values; /* finite in both, not 0 before                        */
    uint64_t moved;
    uint64_t small; /* by less than half a unit, or not at all              */
};

struct lost_state {
    struct lost_counts counts;
    int bits; /* significand of the format                                  */
};

static void count_value(double x, double y, int bits, struct lost_counts *to)
{
    int exponent;
    if (!isfinite(x) || !isfinite(y) || x == 0)
        return;
    frexp(x, &exponent); /* |x| in [2^(exponent - 1), 2^exponent) */
    to->values++;
    to->moved += x != y;
    to->small += fabs(y - x) < ldexp(1, exponent - 1 - bits);
}

static void decode(const struct tp_span *span, size_t first, size_t n,
                   double *values)
{
    const unsigned char *codes = span->codes;
    size_t size = tp_dtype_info(span->dtype)->size;
    tp_dtype_decode(span->dtype, codes + first * size, n, values);
}

static void count_piece(const struct tp_pass *pass,
                        const struct tp_piece *piece, const void *state,
                        void *part, void *scratch)
{
    const struct lost_state *its = state;
    const struct tp_span x = tp_piece_span(pass, piece);
    const struct tp_span y = tp_piece_span_beside(pass, piece);
    double before[BATCH], after[BATCH];
    (void)scratch;
    for (size_t done = 0; done < x.n; done += BATCH) {
        size_t n = x.n - done < BATCH ? x.n - done : BATCH;
        decode(&x, done, n, before);
        decode(&y, done, n, after);
        for (size_t i = 0; i < n; i++)
            count_value(before[i], after[i], its->bits, part);
    }
}

static void merge(void *state, const void *part)
{
    struct lost_state *its = state;
    const struct lost_counts *from = part;
    its->counts.values += from->values;
    its->counts.moved += from->moved;
    its->counts.small += from->small;
}

static const struct tp_sink sink = {.part_size = sizeof(struct lost_counts),
                                    .piece = count_piece,
                                    .merge = merge};

/* ---- which parameters ---------------------------------------------- */

struct pair {
    const struct tp_row *from, *to;
};

static bool has_dtype(const struct tp_row *row)
{
    return row->dtype == TP_BFLOAT16 || row->dtype == TP_FLOAT16 ||
           row->dtype == TP_FLOAT32;
}

static bool is_wanted(const struct tp_row *from, const struct tp_row *to)
{
    return tp_same_place(from, to) && from->label.rank == to->label.rank &&
           from->ordinal == to->ordinal && from->label.iteration >= 0 &&
           from->label.iteration < to->label.iteration &&
           from->dtype == to->dtype && !strcmp(from->shape, to->shape) &&
           has_dtype(from) && !from->quantised && !to->quantised &&
           from->counts.values > 1 && tp_checkpoint_is_parameter(from) &&
           strcmp(from->label.layer_type, "embedding") != 0 &&
           !tp_checkpoint_are_equal(from, to);
}

static int compare_pairs(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;
    if (a->to->source != b->to->source)
        return a->to->source < b->to->source ? -1 : 1;
    if (a->from->source != b->from->source)
        return a->from->source < b->from->source ? -1 : 1;
    return (a->to->place > b->to->place) - (a->to->place < b->to->place);
}

static int64_t last_iteration(const struct tp_run *run)
{
    int64_t last = -1;
    for (size_t i = 0; i < run->row_count; i++) {
        if (run->rows[i].label.iteration > last)
            last = run->rows[i].label.iteration;
    }
    return last;
}

/* The last step of each parameter that was saved in the last iteration, by
 * files; NULL: out of memory. */
static struct pair *find_pairs(const struct tp_rule_input *input, size_t *count)
{
    const size_t rows = input->run->row_count;
    struct pair *pairs = calloc(rows + 1, sizeof *pairs);
    const int64_t last = last_iteration(input->run);
    *count = 0;
    for (size_t i = 1; pairs && i < rows; i++) {
        if (input->rows[i]->label.iteration == last &&
            is_wanted(input->rows[i - 1], input->rows[i]))
            pairs[(*count)++] =
                (struct pair){input->rows[i - 1], input->rows[i]};
    }
    if (pairs)
        qsort(pairs, *count, sizeof *pairs, compare_pairs);
    return pairs;
}

/* ---- reading ------------------------------------------------------- */

/* What was counted of the narrow dtypes, and of float32. */
struct sum {
    bool wide;
    struct lost_counts counts;
    const struct pair *worst;
    double share; /* of the worst                                            */
    size_t parameters;
};

struct reading {
    const struct tp_run *run;
    struct tp_readers readers;
    struct tp_tensor_file from, to;
    size_t from_source, to_source; /* open; SIZE_MAX: none                   */
    struct sum narrow, wide;
};

/* What else the last iteration holds of the weights in 16 bits. */
enum copies {
    COPIES_UNKNOWN,
    COPIES_NONE,  /* the optimiser's moments are in 16 bits, as the weights
                     that it moves                                          */
    COPIES_MASTER /* weights in float32 that are moved instead              */
};

static enum copies copies_of(const struct tp_run *run)
{
    const int64_t last = last_iteration(run);
    enum copies copies = COPIES_UNKNOWN;
    for (size_t i = 0; i < run->row_count; i++) {
        const struct tp_row *row = &run->rows[i];
        if (row->label.iteration != last)
            continue;
        if (row->label.roles & TP_ROLE_MASTER)
            return COPIES_MASTER;
        if ((row->label.roles & (TP_ROLE_MOMENT_1 | TP_ROLE_MOMENT_2)) &&
            tp_dtype_info(row->dtype)->significand &&
            tp_dtype_info(row->dtype)->size == 2)
            copies = COPIES_NONE;
    }
    return copies;
}

static enum tp_status open_file(const struct tp_run *run,
                                const struct tp_row *row,
                                struct tp_tensor_file *file, size_t *source,
                                struct tp_error *err)
{
    if (*source == row->source)
        return TP_OK;
    tp_tensor_file_close(file);
    enum tp_status status = tp_row_file_open(run, row, file, err);
    *source = status == TP_OK ? row->source : SIZE_MAX;
    return status;
}

static double share_of(const struct lost_counts *counts, bool wide)
{
    /* of what is stored wide, elements that do not move at all have no
     * gradient, and nothing to lose */
    uint64_t still = counts->values - counts->moved;
    uint64_t all = wide ? counts->moved : counts->values;
    uint64_t small = wide ? counts->small - still : counts->small;
    return all ? (double)small / (double)all : 0;
}

/* Counts a pair of tensors. */
static enum tp_status count_pair(struct reading *r, const struct pair *pair,
                                 struct lost_counts *counts,
                                 struct tp_error *err)
{
    const struct tp_tensor *x, *y;
    struct tp_pair_view view;
    struct lost_state state = {.bits =
                                   pair->to->dtype == TP_FLOAT16
                                       ? tp_dtype_info(TP_FLOAT16)->significand
                                       : BF16_BITS};
    const struct tp_sink_use use = {&sink, &state, 1};
    const struct tp_digest key =
        tp_memo_key(r->run, "lost updates", pair->from, pair->to);
    if (tp_memo_get(r->run, &key, counts, sizeof *counts))
        return TP_OK;
    enum tp_status status =
        open_file(r->run, pair->from, &r->from, &r->from_source, err);
    if (status == TP_OK)
        status = tp_of_second(
            open_file(r->run, pair->to, &r->to, &r->to_source, err), err);
    if (status == TP_OK)
        status = tp_row_file_tensor(pair->from, &r->from, &x, err);
    if (status == TP_OK)
        status =
            tp_of_second(tp_row_file_tensor(pair->to, &r->to, &y, err), err);
    if (status == TP_OK) {
        status = tp_pair_view_make(x, y, &view, err);
        if (status != TP_OK)
            tp_while(err, "comparing it with %s", pair->to->file);
    }
    if (status == TP_OK)
        status = tp_pair_read(&r->readers, 0, &view, &use, err);
    if (status == TP_OK)
        status = tp_row_file_unchanged(r->run, pair->from, &r->from, err);
    if (status == TP_OK)
        status = tp_of_second(
            tp_row_file_unchanged(r->run, pair->to, &r->to, err), err);
    if (status != TP_OK)
        return status;
    *counts = state.counts;
    tp_memo_put(r->run, &key, counts, sizeof *counts);
    return TP_OK;
}

static enum tp_status read_pair(struct reading *r, const struct pair *pair,
                                struct tp_error *err)
{
    bool wide = pair->to->dtype == TP_FLOAT32;
    struct lost_counts counts;
    enum tp_status status = count_pair(r, pair, &counts, err);
    if (status != TP_OK)
        return status;
    struct sum *sum = wide ? &r->wide : &r->narrow;
    double share = share_of(&counts, wide);
    struct lost_state all = {.counts = sum->counts};
    merge(&all, &counts);
    sum->counts = all.counts;
    sum->parameters++;
    if (!sum->worst || share > sum->share) {
        sum->worst = pair;
        sum->share = share;
    }
    return TP_OK;
}

/* ---- telling ------------------------------------------------------- */

static const char *narrow_advice(enum copies copies)
{
    return copies == COPIES_NONE
               ? "the optimizer holds no wider copy, so these updates were "
                 "lost, below half a unit in the last place: keep master "
                 "weights in float32, or round stochastically"
               : "without master weights in float32 these updates were lost, "
                 "below half a unit in the last place: keep master weights, or "
                 "round stochastically; with them, later steps catch up";
}

static enum tp_status tell(const struct tp_rule_input *input,
                           const struct tp_rule *rule, const struct sum *sum,
                           enum copies copies, struct tp_error *err)
{
    struct tp_finding *finding;
    const bool wide = sum->wide;
    const double share = share_of(&sum->counts, wide);
    const bool sure = !wide && copies == COPIES_NONE;
    if (!sum->worst || (!wide && copies == COPIES_MASTER) ||
        share < (sure ? some : most))
        return TP_OK;
    const struct tp_row *to = sum->worst->to;
    enum tp_status status =
        tp_finding_add(input->findings, rule, to, &finding, err);
    if (status != TP_OK)
        return status;
    const int64_t from = sum->worst->from->label.iteration;
    finding->level =
        sure && share >= most ? TP_SEVERITY_MEDIUM : TP_SEVERITY_LOW;
    finding->metric = "lost_updates";
    finding->value = share;
    finding->excess = share / some;
    finding->consequences = (int64_t)sum->parameters - 1;
    finding->evidence = tp_finding_text(
        input->findings,
        wide ? "of the elements of %zu parameter%s in float32 that moved from "
               "iteration %" PRId64 " to %" PRId64
               ", %.3g %% moved by less than half a unit in the last place of "
               "bfloat16; in this one %.3g %%"
             : "of the elements of %zu parameter%s in 16 bits that moved from "
               "iteration %" PRId64 " to %" PRId64
               ", %.3g %% are the same to the bit; in this one %.3g %%",
        sum->parameters, sum->parameters == 1 ? "" : "s", from,
        to->label.iteration, 100 * share, 100 * sum->share);
    finding->suggestion =
        wide ? "bfloat16 would lose such updates: keep these weights in "
               "float32, or round stochastically"
             : narrow_advice(copies);
    return TP_OK;
}

/* A pair that cannot be read again is left out, and named. */
static enum tp_status keep_problem(const struct reading *r,
                                   const struct pair *pair,
                                   const struct tp_error *why,
                                   struct tp_error *err)
{
    return tp_row_file_failed(r->run, why->of_second ? pair->to : pair->from,
                              why, err);
}

static enum tp_status read_all(struct reading *r,
                               const struct tp_rule_input *input,
                               const struct pair *pairs, size_t count,
                               struct tp_error *err)
{
    enum tp_status status = tp_readers_init(&r->readers, input->pool, err);
    if (status != TP_OK)
        return status;
    r->readers.stop = input->stop;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        struct tp_error why = {0};
        status = read_pair(r, &pairs[i], &why);
        if (status == TP_E_INTERRUPTED || status == TP_E_MEMORY)
            *err = why;
        else if (status != TP_OK)
            status = keep_problem(r, &pairs[i], &why, err);
    }
    tp_readers_clear(&r->readers);
    return status;
}

enum tp_status tp_rule_lost_updates(const struct tp_rule_input *input,
                                    const struct tp_rule *rule,
                                    struct tp_error *err)
{
    size_t count;
    if (!input->pool)
        return TP_OK;
    struct pair *pairs = find_pairs(input, &count);
    struct reading *r = calloc(1, sizeof *r);
    enum tp_status status = pairs && r ? TP_OK : tp_fail_memory(err);
    if (status == TP_OK && count) {
        r->run = input->run;
        r->from_source = r->to_source = SIZE_MAX;
        r->wide.wide = true;
        status = read_all(r, input, pairs, count, err);
        tp_tensor_file_close(&r->from);
        tp_tensor_file_close(&r->to);
        tp_arena_clear(&r->from.arena);
        tp_arena_clear(&r->to.arena);
        const enum copies copies = copies_of(input->run);
        if (status == TP_OK)
            status = tell(input, rule, &r->narrow, copies, err);
        if (status == TP_OK)
            status = tell(input, rule, &r->wide, copies, err);
    }
    free(pairs);
    free(r);
    return status;
}
