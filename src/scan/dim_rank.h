/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_DIM_RANK_H
#define TP_SCAN_DIM_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/dtype.h"
#include "stats/dims.h"

/*
 * Dim-wise statistics: of each axis of a tensor, how far apart its slices
 * lie, and the slices that lie apart most.
 *
 * An axis is analysed when it has at least two indices, and each of them at
 * least two elements: of the single elements of a vector per-index numbers
 * say nothing. NaN and infinities are left out, as everywhere; the parts of
 * complex numbers are elements of the index of their number.
 *
 * dim_ratio is the largest over the smallest per-index abs_max that is not
 * zero; NaN when all are zero. max_ratio is the same of the per-index max, over
 * the smallest that is positive; NaN when none is.
 *
 * With p significand bits in the dtype of a sum, an addend below 2^-(p+1) of
 * it is lost entirely: a dim_ratio above 2^(p+1) is HIGH risk for a reduction
 * over the axis; above 2^(p-2), where all but three bits are lost, MEDIUM.
 * Integers add exactly: LOW. Of fewer than TP_DIM_FEW values an index chance
 * makes any ratio (see tp_dim_excess), so such an axis is MEDIUM at most.
 */

enum tp_dim_risk { TP_DIM_LOW, TP_DIM_MEDIUM, TP_DIM_HIGH };

/* "LOW", "MEDIUM", "HIGH". */
const char *tp_dim_risk_name(enum tp_dim_risk risk);

/* The risk of a ratio for sums in a dtype, however many values it is of. */
enum tp_dim_risk tp_dim_risk_of(enum tp_dtype dtype, double ratio);

/* Fewer values an index than this tell little of it. */
enum { TP_DIM_FEW = 8 };

/* In what a run reduces: what decides the risk of its axes. */
enum tp_dim_reduce { TP_REDUCE_STORED, TP_REDUCE_BF16, TP_REDUCE_FP16 };

enum { TP_DIM_REDUCES = TP_REDUCE_FP16 + 1 };

/* "stored", "bf16", "fp16", then NULL. */
extern const char *const tp_dim_reduce_words[];

/* The dtype in which a tensor is summed; that of integers is their own. */
enum tp_dtype tp_dim_reduce_dtype(enum tp_dtype stored,
                                  enum tp_dim_reduce reduce);

/* Indices kept of an axis, at most. */
enum { TP_DIM_KEPT = 64 };

/* One index of an axis; NaN where a number does not exist. */
struct tp_dim_index {
    int64_t index;
    uint64_t count; /* finite values                                      */
    double min, max, mean, std;
};

/* Largest magnitude and norm of an index; NaN without a finite value. */
double tp_dim_abs_max(const struct tp_dim_index *index);
double tp_dim_l2_norm(const struct tp_dim_index *index);

/*
 * One axis. An index is dead when all its values are zero. It is an outlier
 * when its abs_max exceeds the median index by more than 3 binades (what is
 * scaled along with it loses as many bits, all of the fraction of E4M3) and
 * by more than 5 robust standard deviations, in log2 (what a heavy-tailed
 * tensor has everywhere is no outlier): both from a histogram of 8 bins a
 * binade over the indices that are not dead, of which there must be 8.
 */
struct tp_dim_axis {
    int axis;
    enum tp_dtype reduce;  /* of the sums that `risk` is about             */
    enum tp_dim_risk risk; /* what tp_dim_risk_in says of them             */
    int64_t length;
    uint64_t values; /* of an index, finite or not                         */
    double ratio, max_ratio;
    double median; /* of the abs_max that are not 0: begin of its bin; NaN  */
    double limit;  /* what outliers reach; infinite: there can be none      */
    uint64_t outliers, dead;
    const struct tp_dim_index *worst; /* by falling abs_max, rising index   */
    size_t kept;                      /* of `worst`                        */
};

/* The axes of one tensor, ascending. */
struct tp_dims {
    struct tp_dim_axis *axes;
    size_t count;
};

/* Room for the axes of one tensor after the other. All-zero is empty. */
struct tp_dims_room {
    struct tp_dims dims;
    struct tp_dim_index *indices; /* [axis][TP_DIM_KEPT]                    */
    size_t axis_capacity, index_capacity;
};

/* Makes room for `count` axes, and forgets what was there. */
enum tp_status tp_dims_reserve(struct tp_dims_room *room, size_t count,
                               struct tp_error *err);

/* Releases what it owns; it is empty afterwards. */
void tp_dims_clear(struct tp_dims_room *room);

/* What a run keeps of its tensors. */
enum tp_dims_mode {
    TP_DIMS_NONE,  /* nothing is read                                      */
    TP_DIMS_WORST, /* every axis; indices where something is to be said     */
    TP_DIMS_ALL    /* every axis, each with indices                        */
};

/* Copies the axes into the arena; NULL when out of memory. */
const struct tp_dims *tp_dims_pack(const struct tp_dims *dims,
                                   enum tp_dims_mode mode,
                                   struct tp_arena *arena);

/* Whether an index of the axis is dead, or an outlier. */
bool tp_dim_is_dead(const struct tp_dim_axis *axis,
                    const struct tp_dim_index *index);
bool tp_dim_is_outlier(const struct tp_dim_axis *axis,
                       const struct tp_dim_index *index);

/* The risk of the axis of a tensor that is stored and summed so. */
enum tp_dim_risk tp_dim_risk_in(const struct tp_dim_axis *axis,
                                enum tp_dtype stored,
                                enum tp_dim_reduce reduce);

/* Whether its indices have too few values to say much of them. */
bool tp_dim_has_few(const struct tp_dim_axis *axis);

/*
 * How far the ratio exceeds what is HIGH and what chance gives: above 1 the
 * indices themselves differ. Where N indices have n values each, all drawn
 * alike from a density that does not vanish at zero, the least abs_max of an
 * index is about N^(1/n) times below the usual one, so the limit of HIGH is
 * raised as much. 0 for integers, for all zeros, and of few values.
 */
double tp_dim_excess(const struct tp_dim_axis *axis);

/* Whether something is to be said of an axis: a risk above LOW, outliers or
 * dead indices. */
bool tp_dim_is_notable(const struct tp_dim_axis *axis);

/* --- ranking -------------------------------------------------------------- */

/* Sees the indices of an axis one after the other, any number of them. */
struct tp_dim_ranker;

/* Makes one; released with free. NULL when out of memory. */
struct tp_dim_ranker *tp_dim_ranker_new(void);

/* How cells become numbers. */
struct tp_dim_units {
    int64_t scale;   /* of the cells, see stats/dims.h                     */
    uint64_t repeat; /* each value stands for so many                      */
    uint64_t values; /* of an index, finite or not, before they are repeated */
};

/* Forgets everything, for an axis whose cells are in these units. */
void tp_dim_ranker_begin(struct tp_dim_ranker *ranker,
                         const struct tp_dim_units *units);

/* From now on no index is kept: what the axis is said to be is all there is to
 * find out, and cells need no means. */
void tp_dim_ranker_count_only(struct tp_dim_ranker *ranker);

/* Adds the next indices. */
void tp_dim_ranker_add(struct tp_dim_ranker *ranker,
                       const struct tp_dim_cells *cells);

/* Adds `count` indices that are all the same, in no time. */
void tp_dim_ranker_add_same(struct tp_dim_ranker *ranker,
                            const struct tp_dim_cell *cell, uint64_t count);

/*
 * Fills length to dead of the axis, and worst[] with at most `keep` indices,
 * whose number it returns: half of them the largest, an eighth dead, if there
 * are so many, the rest the smallest that are not.
 */
size_t tp_dim_ranker_finish(const struct tp_dim_ranker *ranker, size_t keep,
                            struct tp_dim_axis *axis,
                            struct tp_dim_index *worst);

/*
 * Leaves of the indices kept of an axis those that `keep` would have left,
 * where twice as many, or that twice, and so on, were. axis->worst is changed
 * in place. False when out of memory: nothing has changed.
 */
bool tp_dim_axis_cut(struct tp_dim_axis *axis, size_t keep);

#endif
