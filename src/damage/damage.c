/* SPDX-License-Identifier: MIT */
/*
 * Damaged elements come as words of 64 marks (damage_marks.c, damage_pair.c).
 * Where bits of a word change, a run of neighbours begins or ends, and so runs,
 * holes and stretches are counted; sums over rows are counts of bits, and the
 * cells of the last axis take four bits at a time. Only where few are marked
 * are they looked at one by one.
 *
 * What is added up in any order (cells) and what has an order (struct
 * tp_damage) are apart, so that threads share the large part and keep only 3 kB
 * for each range. Where two pieces meet, a run or stretch may go on: of each
 * piece the first and the last one are kept open until then. A span is a piece
 * like any other, merged at its end.
 *
 * Alternative: a bitmap of the tensor and any number of looks at it; exact, but
 * an eighth of a float8 tensor in memory. Cost: memcmp where nothing differs;
 * 1 to 4 ns an element elsewhere, of float64 up to 10.
 */
#include "damage/damage.h"

#include <string.h>

#include "damage/damage_pair.h"

/* Cells of the last axis that are added to at a time. */
enum { LANES = 4 };

#define INLINE static inline __attribute__((always_inline))

/* --- the plan ------------------------------------------------------------- */

void tp_damage_view_plain(int ndim, const int64_t *shape,
                          struct tp_damage_view *view)
{
    *view = (struct tp_damage_view){.ndim = ndim, .tensor_ndim = ndim};
    for (int i = 0; i < ndim; i++) {
        view->shape[i] = view->tensor_shape[i] = shape[i];
        view->axis[i] = i;
    }
}

void tp_damage_plan_make(enum tp_dtype dtype, unsigned kinds,
                         const struct tp_damage_view *view,
                         struct tp_damage_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    tp_damage_codes_make(dtype, kinds, &plan->codes);
    plan->tensor_ndim = view->tensor_ndim;
    memcpy(plan->tensor_shape, view->tensor_shape, sizeof plan->tensor_shape);
    for (int i = 0; i < view->ndim; i++) {
        if (view->shape[i] > 1)
            plan->axes[plan->ndim++] = (struct tp_damage_axis){
                .axis = view->axis[i], .length = view->shape[i]};
    }
    plan->numel = plan->repeat = 1;
    plan->cells = 1;
    for (int i = plan->ndim - 1; i >= 0; i--) {
        struct tp_damage_axis *axis = &plan->axes[i];
        axis->inner = plan->numel;
        plan->numel *= axis->length;
        while ((axis->length - 1) >> axis->shift >= TP_DAMAGE_CELLS)
            axis->shift++;
        axis->cells = (size_t)((axis->length - 1) >> axis->shift) + 1;
        axis->first_cell = plan->cells;
        plan->cells += axis->cells;
    }
    plan->cells += LANES - 1; /* so many are added to at a time */
}

/* --- runs and stretches, in order ----------------------------------------- */

static void count_near(uint64_t *counts, int64_t length)
{
    counts[length <= TP_DAMAGE_NEAR ? length : 0]++;
}

static void uncount_near(uint64_t *counts, const struct tp_damage_run *run)
{
    const int64_t length = run->end - run->begin;
    counts[length <= TP_DAMAGE_NEAR ? length : 0]--;
}

static void swap(struct tp_damage_stretch *a, struct tp_damage_stretch *b)
{
    const struct tp_damage_stretch was = *a;
    *a = *b;
    *b = was;
}

static bool is_better(const struct tp_damage_stretch *a,
                      const struct tp_damage_stretch *b)
{
    if (a->damaged != b->damaged)
        return a->damaged > b->damaged;
    return a->begin < b->begin;
}

/* Keeps a stretch among the best, most damaged first; of equals the first. */
static void keep_best(struct tp_damage *damage, struct tp_damage_stretch one)
{
    struct tp_damage_stretch *best = damage->best;
    if (!is_better(&one, &best[TP_DAMAGE_STRETCHES - 1]))
        return;
    for (int i = 0; i < TP_DAMAGE_STRETCHES; i++) {
        if (is_better(&one, &best[i]))
            swap(&one, &best[i]);
    }
}

static struct tp_damage_stretch *open_stretch(struct tp_damage *damage)
{
    return damage->stretches > 1 ? &damage->tail : &damage->head;
}

/* A stretch that begins behind all others, or goes on. */
static void add_stretch(struct tp_damage *damage,
                        const struct tp_damage_stretch *one)
{
    struct tp_damage_stretch *open = open_stretch(damage);
    if (damage->stretches && one->begin - open->end <= TP_DAMAGE_GAP) {
        open->end = one->end;
        open->damaged += one->damaged;
        return;
    }
    if (damage->stretches > 1)
        keep_best(damage, damage->tail);
    damage->stretches++;
    *open_stretch(damage) = *one;
}

static struct tp_damage_run *open_run(struct tp_damage *damage)
{
    return damage->runs > 1 ? &damage->last : &damage->first;
}

/* A run that begins behind all others, or goes on. */
static void add_run(struct tp_damage *damage, const struct tp_damage_run *one)
{
    struct tp_damage_run *open = open_run(damage);
    if (damage->runs && one->begin == open->end) {
        open->end = one->end;
        return;
    }
    if (damage->runs)
        count_near(damage->hole, one->begin - open->end);
    if (damage->runs > 1)
        count_near(damage->length, open->end - open->begin);
    damage->runs++;
    *open_run(damage) = *one;
}

/* --- rows ----------------------------------------------------------------- */

/* The row that is at hand: a line along the last axis. */
struct row {
    int64_t begin, end; /* elements; the same: none is                     */
    int64_t damaged;
    int64_t index[TP_LIMIT_DIMS + 1]; /* of the other axes                 */
};

/* Adds a row to the cells of all other axes. */
static void leave_row(const struct tp_damage_plan *plan, const struct row *row,
                      int64_t *cells)
{
    for (int i = 0; row->damaged && i < plan->ndim - 1; i++) {
        const struct tp_damage_axis *axis = &plan->axes[i];
        cells[axis->first_cell + (size_t)(row->index[i] >> axis->shift)] +=
            row->damaged;
    }
}

/* Enters the row of an element, which often is the one that follows. */
static void enter_row(const struct tp_damage_plan *plan, int64_t element,
                      struct row *row)
{
    const int64_t length = plan->axes[plan->ndim - 1].length;
    const bool next = row->begin < row->end && element - row->end < length;
    int i = plan->ndim - 2;
    row->damaged = 0;
    if (next) {
        row->begin = row->end;
        for (; i >= 0 && ++row->index[i] == plan->axes[i].length; i--)
            row->index[i] = 0;
    } else {
        int64_t number = element / length;
        row->begin = number * length;
        for (; i >= 0; i--) {
            row->index[i] = number % plan->axes[i].length;
            number /= plan->axes[i].length;
        }
    }
    row->end = row->begin + length;
}

/* --- elements ------------------------------------------------------------- */

/* What goes from block to block of a span. */
struct walk {
    const struct tp_damage_plan *plan;
    int64_t *cells;
    struct row row;
    /* what is found: but `first` the ends of runs and stretches are set by
     * end_walk, and until then the lengths have those of all runs */
    struct tp_damage found;
    int64_t at;               /* behind the last element taken            */
    uint64_t inside;          /* 1: in a run                              */
    struct tp_damage_run run; /* the one at hand, or the last one         */
    int64_t stretch;          /* where its stretch began,                 */
    uint64_t before;          /* and how many were damaged by then        */
};

static void close_stretch(struct walk *walk, uint64_t damaged)
{
    const struct tp_damage_stretch one = {walk->stretch, walk->run.end,
                                          damaged - walk->before};
    if (one.damaged)
        add_stretch(&walk->found, &one);
}

/* A stretch ends, and one begins behind which so many are damaged. */
static void begin_stretch(struct walk *walk, int64_t begin, uint64_t damaged)
{
    close_stretch(walk, damaged);
    walk->stretch = begin;
    walk->before = damaged;
}

INLINE void end_run(struct walk *walk, int64_t at)
{
    struct tp_damage *found = &walk->found;
    walk->run.end = at;
    count_near(found->length, at - walk->run.begin);
    if (found->first.end == 0)
        found->first = walk->run;
    walk->inside = 0;
}

/* Takes the marks of 64 elements from `first` on for runs: where they change,
 * one begins or ends. */
INLINE void take_runs(struct walk *walk, uint64_t word, int64_t first)
{
    struct tp_damage *found = &walk->found;
    const uint64_t before = word << 1 | walk->inside;
    uint64_t change = word ^ before;
    if (change && walk->inside) {
        end_run(walk, first + __builtin_ctzll(change));
        change &= change - 1;
    }
    while (change) {
        const int begin = __builtin_ctzll(change);
        const int64_t hole = first + begin - walk->run.end;
        const uint64_t below = (UINT64_C(1) << begin) - 1;
        change &= change - 1;
        count_near(found->hole, hole);
        if (hole > TP_DAMAGE_GAP)
            begin_stretch(walk, first + begin,
                          found->damaged +
                              (uint64_t)__builtin_popcountll(word & below));
        walk->run.begin = first + begin;
        walk->inside = 1;
        if (change == 0)
            break;
        end_run(walk, first + __builtin_ctzll(change));
        change &= change - 1;
    }
    found->runs += (uint64_t)__builtin_popcountll(word & ~before);
    found->damaged += (uint64_t)__builtin_popcountll(word);
}

/* Adds marks to the cells of the last axis, from index `from` on. */
INLINE void add_last(const struct tp_damage_axis *axis, int64_t from,
                     uint64_t word, int64_t *cells)
{
    typedef uint64_t lanes __attribute__((vector_size(32)));
    const lanes bit = {0, 1, 2, 3};
    int64_t *its = cells + axis->first_cell;
    if (axis->shift) {
        while (word) {
            const int64_t at = from + __builtin_ctzll(word);
            const int64_t end = ((at >> axis->shift) + 1) << axis->shift;
            const uint64_t rest = end - from < TP_DAMAGE_WORD
                                      ? word & UINT64_MAX << (end - from)
                                      : 0;
            its[at >> axis->shift] += __builtin_popcountll(word ^ rest);
            word = rest;
        }
    } else if (__builtin_popcountll(word) < 12) { /* about as fast */
        for (; word; word &= word - 1)
            its[from + __builtin_ctzll(word)]++;
    } else {
        for (its += from; word; word >>= LANES, its += LANES) {
            lanes some;
            memcpy(&some, its, sizeof some);
            some += ((lanes){0} + word) >> bit & 1;
            memcpy(its, &some, sizeof some);
        }
    }
}

/* Up to 64 marks from `at` on, one word being behind the last. */
INLINE uint64_t marks_from(const uint64_t *words, int64_t at)
{
    const uint64_t *word = words + at / TP_DAMAGE_WORD;
    const int64_t shift = at % TP_DAMAGE_WORD;
    return shift ? word[0] >> shift | word[1] << (TP_DAMAGE_WORD - shift)
                 : word[0];
}

/* Adds marks of one row, from its index `from` on. */
INLINE void take_row(struct walk *walk, uint64_t word, int64_t from)
{
    const struct tp_damage_plan *plan = walk->plan;
    struct row *row = &walk->row;
    const int64_t parity =
        from + (plan->ndim > 1 ? row->index[plan->ndim - 2] : 0);
    const uint64_t even = UINT64_C(0x5555555555555555);
    row->damaged += __builtin_popcountll(word);
    walk->found.odd +=
        (uint64_t)__builtin_popcountll(word & (parity % 2 ? even : ~even));
    add_last(&plan->axes[plan->ndim - 1], from, word, walk->cells);
}

/* Takes marks for rows. */
INLINE void take_rows(struct walk *walk, const uint64_t *words, int64_t first,
                      int64_t n)
{
    const struct tp_damage_plan *plan = walk->plan;
    struct row *row = &walk->row;
    for (int64_t i = 0; i < n && plan->ndim;) {
        uint64_t word = marks_from(words, i);
        if (word == 0) {
            i += TP_DAMAGE_WORD;
            continue;
        }
        i += __builtin_ctzll(word);
        word = marks_from(words, i);
        if (first + i >= row->end) {
            leave_row(plan, row, walk->cells);
            enter_row(plan, first + i, row);
        }
        const int64_t left = row->end - (first + i);
        if (left < TP_DAMAGE_WORD)
            word &= (UINT64_C(1) << left) - 1;
        take_row(walk, word, first + i - row->begin);
        i += left < TP_DAMAGE_WORD ? left : TP_DAMAGE_WORD;
    }
}

/* Takes the marks of a block of `n` elements from `first` on; one word more is
 * 0. Blocks that are left out have none. */
INLINE void take_any(struct walk *walk, const uint64_t *words, int64_t first,
                     int64_t n)
{
    if (walk->inside && walk->at != first)
        end_run(walk, walk->at);
    for (int64_t i = 0; i < n; i += TP_DAMAGE_WORD)
        take_runs(walk, words[i / TP_DAMAGE_WORD], first + i);
    walk->at = first + n;
    take_rows(walk, words, first, n);
}

typedef void take_fn(struct walk *walk, const uint64_t *words, int64_t first,
                     int64_t n);

static void take_portable(struct walk *walk, const uint64_t *words,
                          int64_t first, int64_t n)
{
    take_any(walk, words, first, n);
}

#if defined(__x86_64__)
TP_TARGET_AVX2 static void take_avx2(struct walk *walk, const uint64_t *words,
                                     int64_t first, int64_t n)
{
    take_any(walk, words, first, n);
}
#endif

static take_fn *const take_by[TP_ISA_COUNT] =
    TP_ISA_TABLE(take_portable, take_avx2, take_avx2);

static void begin_walk(const struct tp_damage_plan *plan, int64_t *cells,
                       struct walk *walk)
{
    memset(walk, 0, sizeof *walk);
    walk->plan = plan;
    walk->cells = cells;
    walk->run.end = INT64_MIN / 2; /* the first hole is a long one */
}

/* Adds what was found to `damage`. */
static void end_walk(struct walk *walk, struct tp_damage *damage)
{
    struct tp_damage *found = &walk->found;
    if (walk->inside)
        end_run(walk, walk->at);
    if (found->runs == 0)
        return;
    found->hole[0]--; /* before the first run */
    uncount_near(found->length, &found->first);
    if (found->runs > 1) {
        found->last = walk->run;
        uncount_near(found->length, &found->last);
    }
    close_stretch(walk, found->damaged);
    leave_row(walk->plan, &walk->row, walk->cells);
    walk->cells[0]++;
    tp_damage_merge(damage, found);
}

/* --- what elements hold --------------------------------------------------- */

/* Codes of one byte. */
static void count_small_kinds(const struct tp_damage_codes *codes,
                              const uint64_t *code, int count,
                              struct tp_damage *damage)
{
    uint32_t kinds[2 * TP_DAMAGE_HUGE] = {0};
    for (int i = 0; i < count; i++)
        kinds[codes->of_byte[code[i]]]++;
    damage->nan += kinds[TP_DAMAGE_NAN];
    damage->inf += kinds[TP_DAMAGE_INF];
    damage->zero += kinds[TP_DAMAGE_ZERO];
}

/* As tp_damage_kind_of, without branches. */
static void count_kinds(const struct tp_damage_codes *codes,
                        const uint64_t *code, int count,
                        struct tp_damage *damage)
{
    const bool has_inf = codes->inf != UINT64_MAX;
    unsigned nan = 0, inf = 0, zero = 0, huge = 0;
    if (codes->size == 1) {
        count_small_kinds(codes, code, count, damage);
        return;
    }
    for (int i = 0; i < count; i++) {
        const uint64_t magnitude = code[i] & codes->mask;
        nan += magnitude > codes->inf;
        inf += magnitude == codes->inf;
        zero += magnitude == 0;
        huge += magnitude >= codes->huge && magnitude < codes->inf;
    }
    damage->nan += nan;
    damage->inf += has_inf ? inf : 0;
    damage->zero += zero;
    damage->huge += huge;
}

/* --- spans ---------------------------------------------------------------- */

static size_t count_left(const struct tp_span *span, size_t at, size_t most)
{
    const size_t left = span->n - at;
    return left < most ? left : most;
}

/* Marks that were found one word at a time; a block of them. */
struct marks {
    uint64_t words[TP_DAMAGE_BATCH_WORDS + 1];
    uint64_t any;
};

/* Marks a block of the second span, or where it differs from the first one of
 * another dtype, unless that is NULL, and counts what is marked. */
static void mark_block(const struct tp_damage_codes *codes,
                       const struct tp_span *const spans[2], size_t at,
                       struct tp_damage *damage, struct marks *marks)
{
    const struct tp_span *beside = spans[0], *span = spans[1];
    memset(marks, 0, sizeof *marks);
    for (int i = 0; i < TP_DAMAGE_BATCH_WORDS && at < span->n;
         i++, at += TP_DAMAGE_WORD) {
        const size_t n = count_left(span, at, TP_DAMAGE_WORD);
        const uint64_t word = beside
                                  ? tp_damage_marks_values(beside, span, at, n)
                                  : tp_damage_marks(codes, span, at, n);
        uint64_t some[TP_DAMAGE_WORD];
        if (word == 0)
            continue;
        marks->words[i] = word;
        marks->any |= word;
        count_kinds(codes, some, tp_damage_codes_take(span, at, word, some),
                    damage);
    }
}

static void add_marked(const struct tp_damage_plan *plan,
                       const struct tp_span *const spans[2], int64_t first,
                       struct tp_damage *damage, int64_t *cells)
{
    const struct tp_span *span = spans[1];
    struct walk walk;
    struct marks marks;
    begin_walk(plan, cells, &walk);
    for (size_t at = 0; at < span->n; at += TP_DAMAGE_BATCH) {
        mark_block(&plan->codes, spans, at, &walk.found, &marks);
        if (marks.any)
            take_by[plan->codes.isa](
                &walk, marks.words, first + (int64_t)at,
                (int64_t)count_left(span, at, TP_DAMAGE_BATCH));
    }
    end_walk(&walk, damage);
}

void tp_damage_add(const struct tp_damage_plan *plan,
                   const struct tp_span *span, int64_t first,
                   struct tp_damage *damage, int64_t *cells)
{
    const struct tp_span *const spans[2] = {NULL, span};
    add_marked(plan, spans, first, damage, cells);
}

static void set_differences(const struct tp_damage_differences *differences,
                            struct tp_damage *damage)
{
    damage->nan = differences->nan;
    damage->inf = differences->inf;
    damage->zero = differences->zero;
    damage->huge = differences->huge;
    memcpy(damage->one_bit, differences->one_bit, sizeof damage->one_bit);
    memcpy(damage->ulp, differences->ulp, sizeof damage->ulp);
}

void tp_damage_add_pair(const struct tp_damage_plan *plan,
                        const struct tp_span pair[2], int64_t first,
                        struct tp_damage *damage, int64_t *cells)
{
    const unsigned char *x = pair[0].codes, *y = pair[1].codes;
    const size_t size = plan->codes.size;
    struct tp_damage_differences differences;
    struct walk walk;
    if (pair[0].dtype != pair[1].dtype) {
        const struct tp_span *const spans[2] = {&pair[0], &pair[1]};
        add_marked(plan, spans, first, damage, cells);
        return;
    }
    memset(&differences, 0, sizeof differences);
    begin_walk(plan, cells, &walk);
    for (size_t at = 0, n; at < pair->n; at += n) {
        uint64_t words[TP_DAMAGE_BATCH_WORDS + 1] = {0};
        n = count_left(pair, at, TP_DAMAGE_BATCH);
        if (!memcmp(x + at * size, y + at * size, n * size))
            continue;
        const struct tp_damage_sides sides = {x + at * size, y + at * size, n};
        tp_damage_pair_look(&plan->codes, &sides, words, &differences);
        take_by[plan->codes.isa](&walk, words, first + (int64_t)at, (int64_t)n);
    }
    set_differences(&differences, &walk.found);
    end_walk(&walk, damage);
}

/* --- merging -------------------------------------------------------------- */

/* The stretches of `from` that no other piece can change are among the best;
 * those between `first` and `last` of runs are counted. */
static void merge_stretches(struct tp_damage *into,
                            const struct tp_damage *from)
{
    add_stretch(into, &from->head);
    if (from->stretches == 1)
        return;
    for (int i = 0; i < TP_DAMAGE_STRETCHES; i++)
        keep_best(into, from->best[i]);
    if (into->stretches > 1)
        keep_best(into, into->tail);
    into->stretches += from->stretches - 1;
    into->tail = from->tail;
}

static void merge_runs(struct tp_damage *into, const struct tp_damage *from)
{
    add_run(into, &from->first);
    for (int i = 0; i <= TP_DAMAGE_NEAR; i++) {
        into->length[i] += from->length[i];
        into->hole[i] += from->hole[i];
    }
    if (from->runs == 1)
        return;
    if (into->runs > 1)
        count_near(into->length, into->last.end - into->last.begin);
    into->runs += from->runs - 1;
    into->last = from->last;
}

void tp_damage_merge(struct tp_damage *into, const struct tp_damage *from)
{
    if (from->damaged == 0)
        return;
    if (into->damaged == 0) {
        *into = *from;
        return;
    }
    merge_stretches(into, from);
    merge_runs(into, from);
    into->damaged += from->damaged;
    into->nan += from->nan;
    into->inf += from->inf;
    into->zero += from->zero;
    into->huge += from->huge;
    into->odd += from->odd;
    for (int i = 0; i < 64; i++)
        into->one_bit[i] += from->one_bit[i];
    for (int i = 0; i < 65; i++)
        into->ulp[i] += from->ulp[i];
}
