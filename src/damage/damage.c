/* SPDX-License-Identifier: MIT */
/*
 * Damaged elements come as words of 64 marks (damage_marks.c). These become
 * runs of neighbours, and runs are what everything is counted by: the cells of
 * the last axis as differences (one up where a run begins, one down where it
 * ends), those of the other axes once a row, and runs and stretches as far as
 * they reach. Only what an element holds is looked at one by one.
 *
 * What is added up in any order (cells) and what has an order (struct
 * tp_damage) are apart, so that threads share the large part and keep only 3 kB
 * for each range. Where two pieces meet, a run or stretch may go on: of each
 * piece the first and the last one are kept open until then.
 *
 * Alternative: a bitmap of the tensor and any number of looks at it; exact, but
 * an eighth of a float8 tensor in memory. Cost: memcmp where nothing differs;
 * some 10 ns an element where all do, twice that where every other one does.
 */
#include "damage/damage.h"

#include <string.h>

/* Equal bytes that are skipped at a time: a multiple of 64 codes of 8. */
enum { SKIP = 4096 };

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
        plan->cells += axis->cells + 1; /* one for the end of a run */
    }
}

/* --- runs and stretches, in order ----------------------------------------- */

static void count_near(uint64_t *counts, int64_t length)
{
    counts[length <= TP_DAMAGE_NEAR ? length : 0]++;
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

/* --- cells ---------------------------------------------------------------- */

/* Adds to a range of a difference array. */
static void add_between(int64_t *cells, int64_t begin, int64_t end, int64_t by)
{
    cells[begin] += by;
    cells[end] -= by;
}

/* Indices [begin, end) of the last axis, once each. */
static void add_last(const struct tp_damage_axis *axis, int64_t begin,
                     int64_t end, int64_t *cells)
{
    int64_t *its = cells + axis->first_cell;
    const int64_t width = (int64_t)1 << axis->shift;
    const int64_t from = begin >> axis->shift, to = (end - 1) >> axis->shift;
    if (axis->shift == 0) {
        add_between(its, begin, end, 1);
    } else if (from == to) {
        add_between(its, from, from + 1, end - begin);
    } else {
        add_between(its, from, from + 1, ((from + 1) << axis->shift) - begin);
        add_between(its, to, to + 1, end - (to << axis->shift));
        add_between(its, from + 1, to, width);
    }
}

/* The row that is at hand: a line along the last axis. */
struct row {
    int64_t begin, end; /* elements */
    int64_t damaged;
    int parity; /* of its index along the axis before the last */
};

/* Adds a row to the cells of all other axes. */
static void leave_row(const struct tp_damage_plan *plan, const struct row *row,
                      int64_t *cells)
{
    int64_t left = row->begin;
    for (int i = 0; row->damaged && i < plan->ndim - 1; i++) {
        const struct tp_damage_axis *axis = &plan->axes[i];
        const int64_t index = left / axis->inner;
        cells[axis->first_cell + (size_t)(index >> axis->shift)] +=
            row->damaged;
        left -= index * axis->inner;
    }
}

static void enter_row(const struct tp_damage_plan *plan, int64_t element,
                      struct row *row)
{
    const struct tp_damage_axis *last = &plan->axes[plan->ndim - 1];
    const int64_t number = element / last->length;
    row->begin = number * last->length;
    row->end = row->begin + last->length;
    row->damaged = 0;
    row->parity = plan->ndim > 1
                      ? (int)(number % plan->axes[plan->ndim - 2].length % 2)
                      : 0;
}

/* --- elements ------------------------------------------------------------- */

/* What goes from word to word. */
struct walk {
    const struct tp_damage_plan *plan;
    struct tp_damage *damage;
    int64_t *cells;
    struct row row;
    struct tp_damage_run run; /* empty: none is open */
};

/* Indices of the row that add up with its own to an odd number. */
static uint64_t count_odd(const struct row *row, int64_t begin, int64_t end)
{
    const int64_t first = (begin - row->begin + row->parity) % 2;
    return (uint64_t)((end - begin + first) / 2);
}

static void close_run(struct walk *walk)
{
    const struct tp_damage_plan *plan = walk->plan;
    struct tp_damage *damage = walk->damage;
    struct row *row = &walk->row;
    struct tp_damage_run run = walk->run;
    if (run.begin == run.end)
        return;
    const struct tp_damage_stretch one = {run.begin, run.end,
                                          (uint64_t)(run.end - run.begin)};
    add_run(damage, &run);
    add_stretch(damage, &one);
    damage->damaged += one.damaged;
    walk->run.begin = walk->run.end = 0;
    while (run.begin < run.end && plan->ndim) {
        if (run.begin >= row->end) {
            leave_row(plan, row, walk->cells);
            enter_row(plan, run.begin, row);
        }
        const int64_t end = run.end < row->end ? run.end : row->end;
        add_last(&plan->axes[plan->ndim - 1], run.begin - row->begin,
                 end - row->begin, walk->cells);
        damage->odd += count_odd(row, run.begin, end);
        row->damaged += end - run.begin;
        run.begin = end;
    }
}

/* Adds the marks of up to 64 elements from `first` on. */
static void take_word(struct walk *walk, uint64_t word, int64_t first)
{
    while (word) {
        const int skip = __builtin_ctzll(word);
        const uint64_t rest = ~(word >> skip);
        const int length = rest ? __builtin_ctzll(rest) : TP_DAMAGE_WORD;
        const int64_t begin = first + skip;
        if (begin != walk->run.end || walk->run.begin == walk->run.end) {
            close_run(walk);
            walk->run.begin = begin;
        }
        walk->run.end = begin + length;
        if (skip + length >= TP_DAMAGE_WORD)
            return;
        word &= UINT64_MAX << (skip + length);
    }
}

static void end_walk(struct walk *walk)
{
    close_run(walk);
    leave_row(walk->plan, &walk->row, walk->cells);
    walk->cells[0] += walk->damage->damaged > 0;
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

/* How the bits of two codes of one dtype differ. */
static void count_bits(const struct tp_damage_codes *codes, const uint64_t *x,
                       const uint64_t *y, int count, struct tp_damage *damage)
{
    const enum tp_code_order order = tp_code_order_of(codes->dtype);
    const int bits = 8 * (int)codes->size;
    for (int i = 0; i < count; i++) {
        const uint64_t differ = x[i] ^ y[i];
        const uint64_t key_x = tp_code_key(order, bits, x[i]);
        const uint64_t key_y = tp_code_key(order, bits, y[i]);
        const uint64_t apart = key_x > key_y ? key_x - key_y : key_y - key_x;
        damage->ulp[64 - __builtin_clzll(apart)]++;
        if ((differ & (differ - 1)) == 0)
            damage->one_bit[__builtin_ctzll(differ)]++;
    }
}

/* The marks without elements that are NaN in both; x and y without them. */
static uint64_t drop_nan(const struct tp_damage_codes *codes, uint64_t word,
                         uint64_t *x, uint64_t *y)
{
    int from = 0, to = 0;
    for (uint64_t left = word; left; left &= left - 1, from++) {
        if (tp_damage_kind_of(codes, y[from]) == TP_DAMAGE_NAN &&
            tp_damage_kind_of(codes, x[from]) == TP_DAMAGE_NAN) {
            word &= ~(left & (0 - left));
        } else {
            x[to] = x[from];
            y[to++] = y[from];
        }
    }
    return word;
}

/* Looks at the marked elements of a pair; the marks of those that count. */
static uint64_t count_pairs(const struct tp_damage_codes *codes,
                            const struct tp_span pair[2], size_t at,
                            uint64_t word, struct tp_damage *damage)
{
    const struct tp_span *x = &pair[0], *y = &pair[1];
    uint64_t a[TP_DAMAGE_WORD], b[TP_DAMAGE_WORD];
    const uint64_t nan = damage->nan;
    const int count = tp_damage_codes_take(y, at, word, b);
    count_kinds(codes, b, count, damage);
    if (x->dtype != y->dtype)
        return word;
    tp_damage_codes_take(x, at, word, a);
    if (damage->nan > nan)
        word = drop_nan(codes, word, a, b);
    const int left = __builtin_popcountll(word);
    damage->nan -= (uint64_t)(count - left);
    count_bits(codes, a, b, left, damage);
    return word;
}

/* --- spans ---------------------------------------------------------------- */

static size_t word_at(const struct tp_span *span, size_t at)
{
    const size_t left = span->n - at;
    return left < TP_DAMAGE_WORD ? left : TP_DAMAGE_WORD;
}

void tp_damage_add(const struct tp_damage_plan *plan,
                   const struct tp_span *span, int64_t first,
                   struct tp_damage *damage, int64_t *cells)
{
    struct walk walk = {.plan = plan, .damage = damage, .cells = cells};
    for (size_t at = 0; at < span->n; at += TP_DAMAGE_WORD) {
        const uint64_t word =
            tp_damage_marks(&plan->codes, span, at, word_at(span, at));
        if (word == 0)
            continue;
        uint64_t codes[TP_DAMAGE_WORD];
        const int count = tp_damage_codes_take(span, at, word, codes);
        count_kinds(&plan->codes, codes, count, damage);
        take_word(&walk, word, first + (int64_t)at);
    }
    end_walk(&walk);
}

/* Elements from `at` on that are equal byte by byte, in whole SKIPs. */
static size_t count_equal(const struct tp_span *x, const struct tp_span *y,
                          size_t size, size_t at)
{
    const unsigned char *a = x->codes, *b = y->codes;
    const size_t step = SKIP / size;
    size_t end = at;
    while (end + step <= x->n && !memcmp(a + end * size, b + end * size, SKIP))
        end += step;
    return end - at;
}

void tp_damage_add_pair(const struct tp_damage_plan *plan,
                        const struct tp_span pair[2], int64_t first,
                        struct tp_damage *damage, int64_t *cells)
{
    const struct tp_span *x = &pair[0], *y = &pair[1];
    struct walk walk = {.plan = plan, .damage = damage, .cells = cells};
    const size_t size = plan->codes.size;
    const size_t step = SKIP / size;
    for (size_t at = 0; at < x->n;) {
        if (at % step == 0 && x->dtype == y->dtype)
            at += count_equal(x, y, size, at);
        const size_t end = at + step < x->n ? at + step : x->n;
        for (; at < end; at += word_at(x, at)) {
            uint64_t word =
                tp_damage_marks_pair(x, y, &plan->codes, at, word_at(x, at));
            if (word)
                word = count_pairs(&plan->codes, pair, at, word, damage);
            take_word(&walk, word, first + (int64_t)at);
        }
    }
    end_walk(&walk);
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

void tp_damage_settle(const struct tp_damage_plan *plan, int64_t *cells)
{
    if (plan->ndim == 0)
        return;
    const struct tp_damage_axis *last = &plan->axes[plan->ndim - 1];
    int64_t *its = cells + last->first_cell;
    for (size_t i = 1; i <= last->cells; i++)
        its[i] += its[i - 1];
}
