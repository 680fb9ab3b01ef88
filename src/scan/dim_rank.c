/* SPDX-License-Identifier: MIT */
/*
 * Ranks the indices of an axis as their cells arrive, in one pass: what the
 * axis is said to be, and the 64 indices at most that are kept of it. Three
 * short sorted lists (largest, smallest, zero) take what passes their gate, the
 * height of the last item of a full list; most cells are compared with the
 * gates and dropped. Outliers need the median of all indices that are not zero,
 * which lists do not have: a histogram of 8 bins a binade gives it, the median
 * distance from it, and the number of indices beyond the limit.
 *
 * Sorting all cells would give exact medians, but needs them in memory at once,
 * and an axis may have half as many indices as its tensor has elements.
 * O(length) plus at most 64 moves for each cell that a list takes.
 */
#include "scan/dim_rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "stats/bins.h"
#include "stats/summary.h"

const char *tp_dim_risk_name(enum tp_dim_risk risk)
{
    static const char *const names[] = {"LOW", "MEDIUM", "HIGH"};
    return names[risk];
}

/* Of a part of a complex one; 0: integers. */
static int precision_of(enum tp_dtype dtype)
{
    return tp_dtype_info(tp_dtype_info(dtype)->real)->significand;
}

enum tp_dim_risk tp_dim_risk_of(enum tp_dtype dtype, double ratio)
{
    int p = precision_of(dtype);
    if (p == 0)
        return TP_DIM_LOW;
    return ratio > ldexp(1, p + 1)   ? TP_DIM_HIGH
           : ratio > ldexp(1, p - 2) ? TP_DIM_MEDIUM
                                     : TP_DIM_LOW;
}

const char *const tp_dim_reduce_words[] = {[TP_REDUCE_STORED] = "stored",
                                           [TP_REDUCE_BF16] = "bf16",
                                           [TP_REDUCE_FP16] = "fp16",
                                           NULL};

enum tp_dtype tp_dim_reduce_dtype(enum tp_dtype stored,
                                  enum tp_dim_reduce reduce)
{
    if (reduce == TP_REDUCE_STORED || precision_of(stored) == 0)
        return stored;
    return reduce == TP_REDUCE_BF16 ? TP_BFLOAT16 : TP_FLOAT16;
}

double tp_dim_abs_max(const struct tp_dim_index *index)
{
    return index->count ? fmax(fabs(index->min), fabs(index->max)) : NAN;
}

double tp_dim_l2_norm(const struct tp_dim_index *index)
{
    double n = (double)index->count;
    if (index->count < 2)
        return fabs(index->mean);
    return hypot(sqrt(n - 1) * index->std, sqrt(n) * index->mean);
}

enum tp_status tp_dims_reserve(struct tp_dims_room *room, size_t count,
                               struct tp_error *err)
{
    room->dims.count = 0;
    if (tp_grow(&room->dims.axes, &room->axis_capacity, count,
                sizeof *room->dims.axes, err) != TP_OK)
        return TP_E_MEMORY;
    return tp_grow(&room->indices, &room->index_capacity, count * TP_DIM_KEPT,
                   sizeof *room->indices, err);
}

void tp_dims_clear(struct tp_dims_room *room)
{
    free(room->dims.axes);
    free(room->indices);
    memset(room, 0, sizeof *room);
}

bool tp_dim_is_dead(const struct tp_dim_axis *axis,
                    const struct tp_dim_index *index)
{
    return index->count == axis->values && tp_dim_abs_max(index) == 0;
}

bool tp_dim_is_outlier(const struct tp_dim_axis *axis,
                       const struct tp_dim_index *index)
{
    return tp_dim_abs_max(index) >= axis->limit;
}

bool tp_dim_has_few(const struct tp_dim_axis *axis)
{
    return axis->values < TP_DIM_FEW;
}

enum tp_dim_risk tp_dim_risk_in(const struct tp_dim_axis *axis,
                                enum tp_dtype stored, enum tp_dim_reduce reduce)
{
    enum tp_dim_risk risk =
        tp_dim_risk_of(tp_dim_reduce_dtype(stored, reduce), axis->ratio);
    return risk == TP_DIM_HIGH && tp_dim_has_few(axis) ? TP_DIM_MEDIUM : risk;
}

double tp_dim_excess(const struct tp_dim_axis *axis)
{
    int p = precision_of(axis->reduce);
    if (p == 0 || !(axis->ratio > 0) || tp_dim_has_few(axis))
        return 0;
    double chance = pow((double)axis->length, 1 / (double)axis->values);
    return axis->ratio / chance / ldexp(1, p + 1);
}

bool tp_dim_is_notable(const struct tp_dim_axis *axis)
{
    return axis->risk > TP_DIM_LOW || axis->outliers > 0 || axis->dead > 0;
}

const struct tp_dims *tp_dims_pack(const struct tp_dims *dims,
                                   enum tp_dims_mode mode,
                                   struct tp_arena *arena)
{
    struct tp_dims *packed = tp_arena_alloc(
        arena, sizeof *packed + dims->count * sizeof *packed->axes);
    if (!packed)
        return NULL;
    packed->axes = (struct tp_dim_axis *)(packed + 1);
    packed->count = dims->count;
    for (size_t i = 0; i < dims->count; i++) {
        struct tp_dim_axis *axis = &packed->axes[i];
        *axis = dims->axes[i];
        axis->worst = NULL;
        if (mode != TP_DIMS_ALL && !tp_dim_is_notable(axis))
            axis->kept = 0;
        if (axis->kept == 0)
            continue;
        size_t bytes = axis->kept * sizeof *axis->worst;
        void *copy = tp_arena_alloc(arena, bytes);
        if (!copy)
            return NULL;
        axis->worst = memcpy(copy, dims->axes[i].worst, bytes);
    }
    return packed;
}

/* --- ranking -------------------------------------------------------------- */

/* Magnitudes in the bins of tp_summary_bin: 8 a binade. */
enum { BINS = TP_SUMMARY_BINS / 2, BINS_PER_BINADE = 8 };

/* Fewer live indices than this have no outliers: no majority to leave. */
enum { LEAST_LIVE = 8 };

/* The best indices, sorted by sign * height, falling. */
struct list {
    struct tp_dim_index items[TP_DIM_KEPT];
    size_t count;
    int sign;
    double gate; /* sign * height of what is taken is above this          */
};

struct tp_dim_ranker {
    struct tp_dim_units units;
    int64_t next; /* index                                                */
    uint64_t live, dead;
    double largest, smallest; /* abs_max of the live                       */
    double largest_max, smallest_max; /* of the max that are positive      */
    struct list high, low, zero;
    int first, end; /* the bins that are not all 0 are among [first, end)  */
    uint64_t bins[BINS]; /* last: what is before it is cleared at once     */
};

struct tp_dim_ranker *tp_dim_ranker_new(void)
{
    return calloc(1, sizeof(struct tp_dim_ranker));
}

void tp_dim_ranker_begin(struct tp_dim_ranker *ranker,
                         const struct tp_dim_units *units)
{
    if (ranker->end > ranker->first)
        memset(ranker->bins + ranker->first, 0,
               (size_t)(ranker->end - ranker->first) * sizeof *ranker->bins);
    memset(ranker, 0, offsetof(struct tp_dim_ranker, bins));
    ranker->first = BINS;
    ranker->units = *units;
    ranker->high.sign = ranker->zero.sign = 1;
    ranker->low.sign = -1;
    ranker->high.gate = ranker->low.gate = ranker->zero.gate = -INFINITY;
    ranker->smallest = ranker->smallest_max = INFINITY;
}

void tp_dim_ranker_count_only(struct tp_dim_ranker *ranker)
{
    ranker->high.gate = ranker->low.gate = ranker->zero.gate = INFINITY;
}

static struct tp_dim_index numbers_of(const struct tp_dim_cell *cell,
                                      const struct tp_dim_units *units,
                                      int64_t index)
{
    struct tp_dim_index made = {index, 0, NAN, NAN, NAN, NAN};
    if (cell->n == 0)
        return made;
    int scale = (int)units->scale;
    double repeat = (double)units->repeat;
    made.count = (uint64_t)cell->n * units->repeat;
    made.min = cell->min + 0.0; /* -0 becomes 0 */
    made.max = cell->max + 0.0;
    made.mean = ldexp(cell->mean, scale) + 0.0;
    if (made.count > 1)
        made.std =
            ldexp(sqrt(cell->m2 * repeat / (double)(made.count - 1)), scale);
    return made;
}

/* Where an index stands: those without a finite value last. */
static double height(const struct tp_dim_index *index)
{
    return index->count ? tp_dim_abs_max(index) : -1;
}

/* Inserts what passes the gate; later ones lose ties. */
static void insert(struct list *list, const struct tp_dim_index *item)
{
    double its = list->sign * height(item);
    if (!(its > list->gate))
        return;
    size_t at = list->count;
    while (at > 0 && its > list->sign * height(&list->items[at - 1]))
        at--;
    size_t kept = list->count < TP_DIM_KEPT ? list->count : TP_DIM_KEPT - 1;
    memmove(&list->items[at + 1], &list->items[at],
            (kept - at) * sizeof *list->items);
    list->items[at] = *item;
    list->count = kept + 1;
    if (list->count == TP_DIM_KEPT)
        list->gate = list->sign * height(&list->items[TP_DIM_KEPT - 1]);
}

/* Puts a cell into the lists where it belongs. */
static void place(struct tp_dim_ranker *ranker, const struct tp_dim_cell *cell,
                  bool dead)
{
    struct tp_dim_index item = numbers_of(cell, &ranker->units, ranker->next);
    insert(&ranker->high, &item);
    if (height(&item) > 0)
        insert(&ranker->low, &item);
    if (dead)
        insert(&ranker->zero, &item);
}

static double height_of(const struct tp_dim_cell *cell)
{
    double low = fabs(cell->min), high = fabs(cell->max);
    return cell->n > 0 ? (low > high ? low : high) : -1;
}

static inline void count_bin(struct tp_dim_ranker *ranker, int bin,
                             uint64_t count)
{
    ranker->bins[bin] += count;
    ranker->first = bin < ranker->first ? bin : ranker->first;
    ranker->end = bin >= ranker->end ? bin + 1 : ranker->end;
}

/* Counts `count` such cells; true: the lists may want them, too. */
static inline bool count_cell(struct tp_dim_ranker *ranker,
                              const struct tp_dim_cell *cell, uint64_t count)
{
    double its = height_of(cell);
    if (!(its > 0)) {
        bool dead = its == 0 && (uint64_t)cell->n == ranker->units.values;
        ranker->dead += dead ? count : 0;
        return its > ranker->high.gate || dead;
    }
    ranker->largest = its > ranker->largest ? its : ranker->largest;
    ranker->smallest = its < ranker->smallest ? its : ranker->smallest;
    if (cell->max > 0) {
        ranker->largest_max = fmax(ranker->largest_max, cell->max);
        ranker->smallest_max = fmin(ranker->smallest_max, cell->max);
    }
    ranker->live += count;
    count_bin(ranker, (int)tp_bin_of(its), count);
    return its > ranker->high.gate || -its > ranker->low.gate;
}

void tp_dim_ranker_add(struct tp_dim_ranker *ranker,
                       const struct tp_dim_cells *cells)
{
    for (size_t i = 0; i < cells->length; i++, ranker->next++) {
        const struct tp_dim_cell cell = tp_dim_cells_get(cells, i);
        uint64_t dead = ranker->dead;
        if (count_cell(ranker, &cell, 1))
            place(ranker, &cell, ranker->dead > dead);
    }
}

void tp_dim_ranker_add_same(struct tp_dim_ranker *ranker,
                            const struct tp_dim_cell *cell, uint64_t count)
{
    uint64_t shown = count < TP_DIM_KEPT ? count : TP_DIM_KEPT;
    count_cell(ranker, cell, count);
    for (uint64_t i = 0; i < shown; i++, ranker->next++)
        place(ranker, cell, ranker->dead > 0);
    ranker->next += (int64_t)(count - shown);
}

/* --- from ranks to the axis ----------------------------------------------- */

/* The bin of the median (the upper one of an even number). */
static int median_bin(const struct tp_dim_ranker *ranker)
{
    uint64_t below = 0;
    int bin = ranker->first;
    while (below + ranker->bins[bin] <= ranker->live / 2)
        below += ranker->bins[bin++];
    return bin;
}

/* Median distance from the median, in bins. */
static int median_distance(const struct tp_dim_ranker *ranker, int middle)
{
    uint64_t within = ranker->bins[middle];
    int distance = 0;
    while (within <= ranker->live / 2) {
        distance++;
        if (middle - distance >= 0)
            within += ranker->bins[middle - distance];
        if (middle + distance < BINS)
            within += ranker->bins[middle + distance];
    }
    return distance;
}

/* Finds the median and what is far above it. */
static void find_outliers(const struct tp_dim_ranker *ranker,
                          struct tp_dim_axis *axis)
{
    axis->median = NAN;
    axis->limit = INFINITY;
    if (ranker->live == 0)
        return;
    int sign, middle = median_bin(ranker);
    double inner, outer;
    tp_summary_bin_edges((unsigned)middle, &inner, &outer, &sign);
    axis->median = inner;
    if (ranker->live < LEAST_LIVE)
        return;
    /* 1.4826: of normally distributed values, the standard deviation over
     * the median distance */
    double spread = 1.4826 * median_distance(ranker, middle);
    int far = (int)ceil(fmax(3 * BINS_PER_BINADE, 5 * spread));
    if (middle + far + 1 >= BINS)
        return;
    tp_summary_bin_edges((unsigned)(middle + far + 1), &axis->limit, &outer,
                         &sign);
    for (int bin = middle + far + 1; bin < ranker->end; bin++)
        axis->outliers += ranker->bins[bin];
}

/* Indices as they are chosen. */
struct choice {
    struct tp_dim_index *items;
    size_t count;
};

static bool is_chosen(const struct choice *choice, int64_t index)
{
    for (size_t i = 0; i < choice->count; i++) {
        if (choice->items[i].index == index)
            return true;
    }
    return false;
}

/* Takes the best of a list until there are `most`. */
static void choose(const struct list *list, size_t most, struct choice *choice)
{
    for (size_t i = 0; i < list->count && choice->count < most; i++) {
        if (!is_chosen(choice, list->items[i].index))
            choice->items[choice->count++] = list->items[i];
    }
}

static int compare_items(const void *left, const void *right)
{
    const struct tp_dim_index *a = left, *b = right;
    int result = tp_order_double(height(b), height(a));
    return result ? result : tp_order_int64(a->index, b->index);
}

/* Chooses from the lists of an axis, into worst[]. */
static size_t choose_worst(const struct tp_dim_ranker *ranker, size_t keep,
                           bool all, struct tp_dim_index *worst)
{
    struct choice choice = {worst, 0};
    size_t dead = (keep + 7) / 8;
    dead = ranker->zero.count < dead ? ranker->zero.count : dead;
    choose(&ranker->high, all ? keep : (keep + 1) / 2, &choice);
    choose(&ranker->low, keep - dead, &choice);
    choose(&ranker->zero, keep, &choice);
    choose(&ranker->high, keep, &choice);
    if (choice.count)
        qsort(worst, choice.count, sizeof *worst, compare_items);
    return choice.count;
}

static int compare_indices(const void *left, const void *right)
{
    const struct tp_dim_index *a = left, *b = right;
    return tp_order_int64(a->index, b->index);
}

bool tp_dim_axis_cut(struct tp_dim_axis *axis, size_t keep)
{
    struct tp_dim_index items[TP_DIM_KEPT];
    struct tp_dim_ranker *ranker = tp_dim_ranker_new();
    const size_t count = axis->kept;
    if (!ranker || count > TP_DIM_KEPT || keep > count) {
        free(ranker);
        return false;
    }
    const struct tp_dim_units none = {0, 1, 0};
    tp_dim_ranker_begin(ranker, &none);
    memcpy(items, axis->worst, count * sizeof *items);
    qsort(items, count, sizeof *items, compare_indices);
    for (size_t i = 0; i < count; i++) {
        insert(&ranker->high, &items[i]);
        if (height(&items[i]) > 0)
            insert(&ranker->low, &items[i]);
        if (tp_dim_is_dead(axis, &items[i]))
            insert(&ranker->zero, &items[i]);
    }
    axis->kept = choose_worst(ranker, keep, (uint64_t)axis->length <= keep,
                              (struct tp_dim_index *)axis->worst);
    free(ranker);
    return true;
}

size_t tp_dim_ranker_finish(const struct tp_dim_ranker *ranker, size_t keep,
                            struct tp_dim_axis *axis,
                            struct tp_dim_index *worst)
{
    axis->length = ranker->next;
    axis->values = ranker->units.values * ranker->units.repeat;
    axis->ratio = ranker->live ? ranker->largest / ranker->smallest : NAN;
    axis->max_ratio = ranker->largest_max > 0
                          ? ranker->largest_max / ranker->smallest_max
                          : NAN;
    axis->dead = ranker->dead;
    axis->outliers = 0;
    find_outliers(ranker, axis);
    return choose_worst(ranker, keep, (uint64_t)axis->length <= keep, worst);
}
