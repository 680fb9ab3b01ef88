/* SPDX-License-Identifier: MIT */
/*
 * Whether each saved iteration is complete. A moment is an iteration (and
 * sample) of a rank of a run; a cell says how often a tensor, by its labels,
 * was saved in a moment. Runs save some tensors always, some now and then, some
 * only in the beginning or at the end, and ranks hold different layers, so that
 * a tensor is only missed
 *
 *  - between two moments of its rank that have it, where its usual step
 *    promises it, and at the ends of the rank if another rank has it then;
 *  - on a rank that has other tensors of its layer in that moment, if three
 *    times as many ranks have all of them;
 *  - in the last moment of a rank, if what is there are the first tensors of
 *    the moment before, in the order of saving, and ends within a pass;
 *
 * and in the first case only if it is rarely missed: what comes and goes, as
 * experts do, has no step. Tensors that share all labels are told by number;
 * where all such are fewer, the iteration was a smaller one.
 *
 * Comparing each iteration with the union of all is simpler, and wrong for most
 * runs. O(n log n) for n rows.
 */
#include "tensors/complete.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/search.h"
#include "base/text.h"
#include "tensors/saved.h"

enum {
    NOTES_MAX = 8, /* more ranks are alike */
    NAMES_MAX = 3  /* tensors that a note names */
};

/* A tensor that is not, or not as often, where it is expected. */
struct miss {
    size_t moment;
    const struct tp_row *tensor; /* in another moment                      */
    size_t count, usual;
    bool elsewhere; /* it is other ranks that have it                      */
};

/* What there is, and what is found to miss. */
struct survey {
    struct tp_saved saved;
    size_t *shared, *fewer; /* [moment]: tensors that share their labels,
                               and those of them that are too few          */
    size_t *cut; /* [moment]: the last one of its rank, if that is cut; or 0 */
    struct miss *misses;
    size_t miss_count, miss_capacity;
    int64_t *places, *steps, *candidates; /* [moment], scratch              */
    const struct tp_row **present;        /* [cell], scratch               */
    struct tp_error *err;
};

/* Cells [first, end) of one tensor or layer. */
struct span {
    size_t first, end;
};

/* --- what there is -------------------------------------------------------- */

static int by_time(const void *left, const void *right)
{
    const struct tp_row *a = *(const struct tp_row *const *)left;
    const struct tp_row *b = *(const struct tp_row *const *)right;
    int result = tp_compare_times(a, b);
    return result ? result : tp_compare_ranks(a, b);
}

static int by_miss(const void *left, const void *right)
{
    const struct miss *a = left, *b = right;
    int result = tp_order_size(a->moment, b->moment);
    if (!result)
        result = tp_compare_tensors(a->tensor, b->tensor);
    return result ? result : a->elsewhere - b->elsewhere;
}

/* Whether a moment stops within what the one before it has. */
static bool is_cut(const struct survey *s, size_t moment)
{
    const struct tp_row *const *now = s->saved.rows + s->saved.first[moment];
    const struct tp_row *const *before =
        s->saved.rows + s->saved.first[moment - 1];
    size_t n = tp_saved_size(&s->saved, moment);
    if (n >= tp_saved_size(&s->saved, moment - 1) ||
        before[0]->label.counter < 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (now[i]->label.counter < 0 || tp_compare_tensors(now[i], before[i]))
            return false;
    }
    /* an evaluation has no backward pass */
    return !tp_order_text(before[n - 1]->label.operation,
                          before[n]->label.operation);
}

/* Of each rank the last moment, if two that are alike come before it. */
static void find_cuts(struct survey *s)
{
    for (size_t i = 0, end; i < s->saved.count; i = end) {
        for (end = i + 1;
             end < s->saved.count && tp_saved_same_rank(&s->saved, i, end);)
            end++;
        size_t last = end - 1;
        if (end - i < 3 ||
            tp_saved_size(&s->saved, last - 1) !=
                tp_saved_size(&s->saved, last - 2) ||
            !is_cut(s, last))
            continue;
        for (size_t m = i; m < end; m++)
            s->cut[m] = last;
    }
}

/* The cells from `first` on that `compare` finds alike, up to `end`. */
static struct span span_of(const struct survey *s, size_t first, size_t end,
                           int (*compare)(const struct tp_row *,
                                          const struct tp_row *))
{
    size_t at = first + 1;
    while (at < end &&
           !compare(s->saved.cells[first].row, s->saved.cells[at].row))
        at++;
    return (struct span){first, at};
}

/* How often a tensor was saved by a rank at the time of a row. */
static size_t count_at(const struct survey *s, struct span tensor, int64_t rank,
                       const struct tp_row *time)
{
    const struct tp_cell *cells = s->saved.cells + tensor.first;
    size_t at, n = tensor.end - tensor.first;
    TP_PARTITION_POINT(at, n,
                       cells[at].row->label.rank < rank ||
                           (cells[at].row->label.rank == rank &&
                            tp_compare_times(cells[at].row, time) < 0));
    bool found = at < n && cells[at].row->label.rank == rank &&
                 !tp_compare_times(cells[at].row, time);
    return found ? cells[at].count : 0;
}

/* The median of how often a tensor is there; counts the moments with fewer. 0:
 * there is no memory. */
static size_t usual_count(struct survey *s, struct span tensor)
{
    size_t n = 0;
    for (size_t i = tensor.first; i < tensor.end; i++)
        n += s->saved.cells[i].count > 1;
    if (n == 0)
        return 1;
    n = tensor.end - tensor.first;
    size_t *counts = calloc(n, sizeof *counts);
    if (!counts)
        return 0;
    for (size_t i = 0; i < n; i++)
        counts[i] = s->saved.cells[tensor.first + i].count;
    tp_sort_size(counts, n);
    size_t usual = counts[n / 2];
    free(counts);
    for (size_t i = tensor.first; i < tensor.end && usual > 1; i++) {
        s->shared[s->saved.cells[i].moment]++;
        s->fewer[s->saved.cells[i].moment] += s->saved.cells[i].count < usual;
    }
    return usual;
}

/* --- what there is not ---------------------------------------------------- */

static enum tp_status add_miss(struct survey *s, const struct miss *miss)
{
    if (tp_grow(&s->misses, &s->miss_capacity, s->miss_count + 1,
                sizeof *s->misses, s->err) != TP_OK)
        return TP_E_MEMORY;
    s->misses[s->miss_count++] = *miss;
    return TP_OK;
}

/* Whether a rank other than that of the moment has the tensor then. */
static bool is_elsewhere(const struct survey *s, struct span tensor,
                         size_t moment, size_t usual)
{
    const struct tp_row *time = s->saved.moments[moment];
    const struct tp_cell *cells = s->saved.cells + tensor.first;
    const size_t n = tensor.end - tensor.first;
    size_t i = 0; /* the first cell of a rank */
    while (i < n) {
        const int64_t rank = cells[i].row->label.rank;
        if (rank != time->label.rank &&
            count_at(s, tensor, rank, time) >= usual)
            return true;
        TP_PARTITION_POINT(i, n, cells[i].row->label.rank <= rank);
    }
    return false;
}

/* Moments in which a rank's own habit promises a tensor that is not there, into
 * s->candidates; `n` places have it. */
static size_t find_candidates(struct survey *s, struct span tensor, size_t n,
                              size_t usual)
{
    const int64_t *places = s->places;
    const struct tp_row *here = s->saved.moments[places[0]];
    int64_t step = tp_usual_step(places, n, s->steps);
    size_t count = 0;
    if (step == 0)
        return 0;
    for (size_t i = 1; i < n; i++) {
        bool regular = (places[i] - places[i - 1]) % step == 0;
        for (int64_t at = places[i - 1] + step; regular && at < places[i];
             at += step)
            s->candidates[count++] = at;
    }
    for (int way = -1; way <= 1; way += 2) {
        int64_t at = places[way < 0 ? 0 : n - 1] + way * step;
        for (; at >= 0 && (size_t)at < s->saved.count &&
               !tp_compare_runs(s->saved.moments[at], here) &&
               !tp_compare_ranks(s->saved.moments[at], here);
             at += way * step)
            if (is_elsewhere(s, tensor, (size_t)at, usual))
                s->candidates[count++] = at;
    }
    return count;
}

/* A tensor on one rank in its last moment, if that is cut. */
static enum tp_status judge_cut(struct survey *s, struct span rank)
{
    const struct tp_row *row = s->saved.cells[rank.first].row;
    size_t last = s->cut[s->saved.cells[rank.first].moment];
    if (last == 0)
        return TP_OK;
    const size_t before =
        count_at(s, rank, row->label.rank, s->saved.moments[last - 1]);
    const struct miss miss = {
        last, row, count_at(s, rank, row->label.rank, s->saved.moments[last]),
        before, false};
    return miss.count < before ? add_miss(s, &miss) : TP_OK;
}

/* A tensor on one rank over its moments. */
static enum tp_status judge_rank(struct survey *s, struct span tensor,
                                 struct span rank, size_t usual)
{
    enum tp_status status = judge_cut(s, rank);
    size_t n = 0;
    for (size_t i = rank.first; i < rank.end; i++) {
        if (s->saved.cells[i].count >= usual)
            s->places[n++] = (int64_t)s->saved.cells[i].moment;
    }
    size_t count = n ? find_candidates(s, tensor, n, usual) : 0;
    if (4 * count > n)
        return status;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        const struct tp_row *row = s->saved.cells[rank.first].row;
        size_t moment = (size_t)s->candidates[i];
        const struct miss miss = {
            moment, row,
            count_at(s, rank, row->label.rank, s->saved.moments[moment]), usual,
            false};
        status = add_miss(s, &miss);
    }
    return status;
}

/* A tensor at one time, over the ranks that have its layer then. */
static enum tp_status judge_time(struct survey *s, struct span tensor,
                                 const struct tp_row *const *ranks,
                                 size_t count, size_t usual)
{
    enum tp_status status = TP_OK;
    size_t have = 0;
    if (s->saved.cells[tensor.first].row->label.layer_idx < 0)
        return TP_OK; /* as many as the rank has layers */
    for (size_t i = 0; i < count; i++)
        have += count_at(s, tensor, ranks[i]->label.rank, ranks[i]) >= usual;
    if (have < 2 || have < 3 * (count - have))
        return TP_OK;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        size_t its = count_at(s, tensor, ranks[i]->label.rank, ranks[i]);
        const struct miss miss = {tp_saved_find(&s->saved, ranks[i]),
                                  s->saved.cells[tensor.first].row, its, usual,
                                  true};
        if (its < usual)
            status = add_miss(s, &miss);
    }
    return status;
}

/* One row for each rank and time that a layer is there, by time; returns how
 * many. */
static size_t find_present(struct survey *s, struct span layer)
{
    size_t n = layer.end - layer.first, kept = 0;
    for (size_t i = 0; i < n; i++)
        s->present[i] = s->saved.cells[layer.first + i].row;
    qsort(s->present, n, sizeof *s->present, by_time);
    for (size_t i = 0; i < n; i++) {
        if (!kept || by_time(&s->present[kept - 1], &s->present[i]))
            s->present[kept++] = s->present[i];
    }
    return kept;
}

static enum tp_status judge_tensor(struct survey *s, struct span tensor,
                                   size_t present)
{
    size_t usual = usual_count(s, tensor);
    enum tp_status status = usual ? TP_OK : tp_fail_memory(s->err);
    for (size_t i = tensor.first; i < tensor.end && status == TP_OK;) {
        struct span rank = span_of(s, i, tensor.end, tp_compare_ranks);
        status = judge_rank(s, tensor, rank, usual);
        i = rank.end;
    }
    for (size_t i = 0, end; i < present && status == TP_OK; i = end) {
        for (end = i; end < present &&
                      !tp_compare_times(s->present[i], s->present[end]);)
            end++;
        status = judge_time(s, tensor, s->present + i, end - i, usual);
    }
    return status;
}

static enum tp_status judge(struct survey *s)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < s->saved.cell_count && status == TP_OK;) {
        struct span layer =
            span_of(s, i, s->saved.cell_count, tp_compare_layers);
        size_t present = find_present(s, layer);
        while (i < layer.end && status == TP_OK) {
            struct span tensor = span_of(s, i, layer.end, tp_compare_tensors);
            status = judge_tensor(s, tensor, present);
            i = tensor.end;
        }
    }
    return status;
}

/* Sorts the misses; drops those told twice, and those of smaller iterations. */
static void weed(struct survey *s)
{
    size_t kept = 0;
    if (s->miss_count)
        qsort(s->misses, s->miss_count, sizeof *s->misses, by_miss);
    for (size_t i = 0; i < s->miss_count; i++) {
        const struct miss *miss = &s->misses[i];
        size_t m = miss->moment;
        const struct miss *last = kept ? &s->misses[kept - 1] : NULL;
        bool again = last && last->moment == m &&
                     !tp_compare_tensors(last->tensor, miss->tensor);
        bool smaller = s->shared[m] > 1 && s->fewer[m] == s->shared[m];
        if (!again && !(smaller && miss->count))
            s->misses[kept++] = *miss;
    }
    s->miss_count = kept;
}

/* --- words ---------------------------------------------------------------- */

static void add_name(const struct miss *miss, struct tp_text *text)
{
    const struct tp_label *label = &miss->tensor->label;
    const char *const words[] = {label->operation, label->phase,
                                 label->tensor_name};
    tp_text_add(text, "%s", label->layer_type);
    if (label->layer_idx >= 0)
        tp_text_add(text, " L%" PRId64, label->layer_idx);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        tp_text_add(text, "%s%s", *words[i] ? " " : "", words[i]);
    if (miss->usual > 1)
        tp_text_add(text, " (%zu of %zu)", miss->count, miss->usual);
}

/* The misses of one moment: how many, and some names. */
static void add_moment(const struct survey *s, const struct miss *misses,
                       size_t count, struct tp_text *text)
{
    const struct tp_label *label = &s->saved.moments[misses->moment]->label;
    size_t m = misses->moment, absent = 0;
    bool last =
        m + 1 == s->saved.count || !tp_saved_same_rank(&s->saved, m, m + 1);
    bool elsewhere = true;
    for (size_t i = 0; i < count; i++) {
        absent += misses[i].usual - misses[i].count;
        elsewhere = elsewhere && misses[i].elsewhere;
    }
    tp_text_add(text, "iteration %" PRId64, label->iteration);
    if (label->sample_idx >= 0)
        tp_text_add(text, ", sample %" PRId64, label->sample_idx);
    tp_text_add(text, "%s lacks %zu of %zu tensors that %s have: ",
                last ? ", the last one," : "", absent,
                tp_saved_size(&s->saved, m) + absent,
                elsewhere ? "other ranks" : "its other iterations");
    for (size_t i = 0; i < count && i < NAMES_MAX; i++) {
        tp_text_add(text, i ? ", " : "");
        add_name(&misses[i], text);
    }
    tp_text_add(text, count > NAMES_MAX ? ", ..." : "");
}

/* The misses [0, count) of one rank, as one note. */
static void note_rank(const struct survey *s, const struct miss *misses,
                      size_t count, struct tp_run *run)
{
    const struct tp_label *label = &s->saved.moments[misses->moment]->label;
    const char *type = label->quant_type;
    struct tp_text text = {0};
    size_t first = 0, more = 0;
    while (first < count && misses[first].moment == misses->moment)
        first++;
    for (size_t i = first; i < count; i++)
        more += misses[i].moment != misses[i - 1].moment;
    if (label->rank >= 0)
        tp_text_add(&text, "rank %" PRId64 "%s%s: ", label->rank,
                    *type ? " of " : "", type);
    else
        tp_text_add(&text, "%s%s", type, *type ? ": " : "");
    add_moment(s, misses, first, &text);
    int64_t last = s->saved.moments[misses[count - 1].moment]->label.iteration;
    if (more == 1)
        tp_text_add(&text, "; iteration %" PRId64 " lacks some, too", last);
    else if (more)
        tp_text_add(&text, "; %zu more lack some, up to iteration %" PRId64,
                    more, last);
    if (run->skipped_count)
        tp_text_add(&text, " (what was skipped may be among them)");
    run->arena.failed |= text.failed;
    tp_run_note(run, "%s", tp_text_get(&text));
    tp_text_clear(&text);
}

static void write_notes(const struct survey *s, struct tp_run *run)
{
    size_t notes = 0;
    for (size_t i = 0, end; i < s->miss_count; i = end) {
        const struct tp_row *row = s->saved.moments[s->misses[i].moment];
        for (end = i; end < s->miss_count; end++) {
            const struct tp_row *its = s->saved.moments[s->misses[end].moment];
            if (tp_compare_runs(row, its) || tp_compare_ranks(row, its))
                break;
        }
        if (notes++ < NOTES_MAX)
            note_rank(s, s->misses + i, end - i, run);
    }
    if (notes > NOTES_MAX)
        tp_run_note(run, "... and %zu more ranks with incomplete iterations",
                    notes - NOTES_MAX);
}

static enum tp_status survey_init(struct survey *s, const struct tp_run *run)
{
    size_t n = run->row_count + 1;
    s->shared = calloc(3 * n, sizeof *s->shared);
    s->places = calloc(3 * n, sizeof *s->places);
    s->present = calloc(n, sizeof *s->present);
    if (!s->shared || !s->places || !s->present)
        return tp_fail_memory(s->err);
    s->fewer = s->shared + n;
    s->cut = s->shared + 2 * n;
    s->steps = s->places + n;
    s->candidates = s->places + 2 * n;
    return tp_saved_make(run, &s->saved, s->err);
}

enum tp_status tp_complete_note(struct tp_run *run, struct tp_error *err)
{
    struct survey s = {.err = err};
    enum tp_status status = survey_init(&s, run);
    if (status == TP_OK) {
        find_cuts(&s);
        status = judge(&s);
    }
    if (status == TP_OK) {
        weed(&s);
        write_notes(&s, run);
    }
    tp_saved_clear(&s.saved);
    free(s.shared);
    free(s.places);
    free(s.present);
    free(s.misses);
    return status;
}
