/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_PASS_H
#define TP_SCAN_PASS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/session.h"
#include "scan/scan.h"
#include "stats/blocks.h"
#include "stats/codes.h"
#include "stats/judge.h"
#include "stats/select.h"
#include "stats/tally.h"
#include "stats/values.h"

/*
 * What the files of the scan share: scan.c (the kinds of tensors, results),
 * scan_read.c (one reading, in parallel), scan_device.c (ranges that a device
 * counts), scan_ahead.c (small tensors that it counts), scan_blocks.c (block
 * formats), scan_quant.c (casts), scan_dims.c (statistics by index).
 *
 * A scan is one or more readings of the tensor in storage order. A reading is
 * a loop over ranges on the pool, a range a loop over pieces that stay in the
 * second level cache while they are checked and counted. Ranges are a fixed
 * grid, and so are the pieces and the blocks of values inside them. Integers
 * are added under a lock in any order, and what is not exact is kept per range
 * and merged in order; so the number of jobs is not seen.
 *
 * Tensors of at most one range never leave their thread, and those of at most
 * SMALL_CODES values are read once and sorted in memory.
 */

enum {
    /* Half the smallest second level cache of current server cores. */
    PIECE_BYTES = 256 << 10,
    /* What one thread takes at a time. Its tables are then added to the
     * totals, which costs as much as counting 400 KiB. */
    RANGE_BYTES = 16 << 20,
    /* Ranges between two merges: bounds memory for tensors of any size. */
    WAVE_RANGES = 256,
    /* Up to so many real numbers a tensor is read once, and wide ones are
     * sorted in memory. */
    SMALL_CODES = TP_SELECT_SMALL,
    /* A piece may begin up to this many bytes early, at the begin of a block
     * of a block format. */
    EARLY_BYTES = PIECE_BYTES / 4,
    /* What is sent to a device at a time: some 80 us of its link, of which a
     * few are for what each copy and each kernel takes to start. */
    STAGE_BYTES = 4 << 20
};

/* Tables of a worker; all-zero between two ranges, whichever kind was used. */
union tables {
    struct tp_code_tables codes;
    union tp_select_tables select;
};

/* Sorted lists, or scratch for sorting: used when a tensor is finished. */
struct lists {
    double value[TP_CODES];
    uint64_t count[TP_CODES];
    uint64_t scratch[TP_CODES]; /* for tallies                           */
};

/* Small tensors whose codes a device has counted. */
struct ahead {
    size_t count, next;
    const struct tp_tensor *tensor[TP_DEVICE_LISTS];
    struct tp_device_list list[TP_DEVICE_LISTS];
};

/* Scratch of one worker. Pointers are NULL until first needed. */
struct worker {
    unsigned char *piece; /* PIECE_BYTES + EARLY_BYTES                    */
    void *walk;           /* TP_CHUNK_BYTES, for strided views            */
    union tables *tables;
    struct lists *lists;
    uint32_t *bins; /* [TP_SUMMARY_BINS], all-zero between ranges   */
    struct tp_block_plan *plan; /* the last one made here                 */
    /* one for each MX cast, by its number in the request: all-zero between
     * ranges; and the last plan made here */
    struct tp_tally *tally[TP_SCAN_SPECS];
    struct tp_tally_plan *tally_plan[TP_SCAN_SPECS];
    struct tp_dim_ranker *ranker[2]; /* not used by tasks inside a scan    */
    struct ahead *ahead;
};

struct tp_scanner {
    struct tp_pool *pool;
    const volatile sig_atomic_t *stop; /* or NULL                         */
    struct tp_device_session *device;  /* or NULL                         */
    unsigned size;
    struct worker workers[];
};

/* TP_E_INTERRUPTED once the user asked to stop; asked for every piece, so
 * that the largest tensor on the slowest disk does not hold the user up. */
static inline enum tp_status tp_scan_go_on(const struct tp_scanner *scanner,
                                           struct tp_error *err)
{
    if (scanner->stop && *scanner->stop)
        return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    return TP_OK;
}

/* What a range leaves for the merge in order. */
struct part {
    uint32_t crc;
    uint64_t crc_bytes;
    struct tp_values values;
    struct tp_quant_error *errors; /* [spec_count] of the direct casts    */
};

/* What a reading does with the pieces. */
enum work {
    WORK_CRC = 1,     /* CRC-32 of the bytes read                          */
    WORK_CODES = 2,   /* histogram of 8-bit or 16-bit codes into totals    */
    WORK_VALUES = 4,  /* moments and top digits of wider ones              */
    WORK_SELECT = 8,  /* further digits                                    */
    WORK_BLOCKS = 16, /* block format counts                              */
    WORK_TALLY = 32,  /* MX casts of 8-bit and 16-bit codes                */
    WORK_QUANT = 64,  /* other casts: elementwise                          */
    WORK_QUANT_BLOCKS = 128, /* and to blocks                             */
    WORK_ANY_BLOCKS = WORK_BLOCKS | WORK_TALLY | WORK_QUANT_BLOCKS
};

/* How a cast is simulated. */
enum cast_kind {
    CAST_NONE,   /* does not apply                                        */
    CAST_LIST,   /* from the histogram of codes                           */
    CAST_TALLY,  /* from that and a tally                                 */
    CAST_VALUES, /* from the values                                       */
    CAST_BLOCKS  /* from the values, by blocks                            */
};

/* The casts of a scan. */
struct casts {
    const struct tp_quant_spec *spec;
    struct tp_quant_error *error; /* of the request                       */
    size_t count;
    enum cast_kind kind[TP_SCAN_SPECS];
    double amax;
    unsigned works; /* kinds of work there is for them                    */
    const struct tp_tally_plan *plan[TP_SCAN_SPECS];
    struct tp_tally *total[TP_SCAN_SPECS]; /* NULL: tallies stay          */
};

/* One scan. */
struct scan {
    struct tp_scanner *scanner;
    struct tp_tensor *tensor;
    struct tp_scan_result *result;
    unsigned worker;    /* of the calling task                          */
    enum tp_dtype real; /* dtype of one real number                     */
    size_t size;        /* bytes of an element                          */
    size_t parts;       /* real numbers in an element                   */
    uint64_t codes;     /* real numbers the walk visits                 */
    const struct tp_number *target;    /* elementwise, or NULL            */
    const struct tp_number *blockwise; /* block format, or NULL           */
    enum tp_scale_rule rule;
    struct tp_judge judge;
    struct tp_walk walk;
    struct tp_lines lines; /* along which blocks lie                      */
    int64_t block;         /* at a multiple of this, any of them begins   */
    struct casts casts;
    const struct tp_block_plan *plan; /* of the calling worker              */
    const unsigned char *small; /* all of a small tensor, in memory         */

    /* of the reading under way */
    unsigned work;
    size_t first_range; /* of the wave                                  */
    const struct tp_select *select;
    struct part *wave; /* [WAVE_RANGES]                                */
    struct tp_quant_error *wave_errors; /* of their parts                 */
    pthread_mutex_t lock; /* for what follows                             */
    uint64_t *totals;     /* NULL: counts stay in the worker's tables     */
    struct tp_block_counts blocks;
    size_t failed; /* range of *err; SIZE_MAX: none                */
    enum tp_status status;
    struct tp_error *err;

    /* merged from the waves */
    uint32_t crc;
    struct tp_values values;
};

/* What a range gathers before it takes the lock. */
struct gather {
    struct worker *worker;
    struct scan_lane *lane; /* of a device that does the work; or NULL    */
    struct part *part;
    struct tp_block_counts blocks;
    struct tp_quant_error *errors; /* [casts.count], of the range         */
};

/* --- scan_read.c -------------------------------------------------------- */

/*
 * Reads the whole tensor once and does `work`: what is gathered is in
 * scan->totals, the bins of the result, scan->blocks, crc and values.
 * Returns scan->status; on failure *scan->err is set.
 */
enum tp_status tp_scan_read(struct scan *scan, unsigned work);

/* Provides what a reading of scan->work needs of a worker. */
enum tp_status tp_scan_prepare(const struct scan *scan, struct worker *worker,
                               struct tp_error *err);

/* Makes *memory, a pointer, point to `size` zeroed bytes unless it points to
 * something; false when out of memory. */
bool tp_scan_provide(void *memory, size_t size);

/* Adds what a range counted to the totals of the scan, and empties it. */
void tp_scan_add(struct scan *scan, struct gather *gather);

/* Keeps the error of the first range that failed, so that the message does
 * not depend on the number of jobs. */
void tp_scan_keep_error(struct scan *scan, size_t range, enum tp_status status,
                        const struct tp_error *err);

/* Leaves the tables of a worker all-zero after a failure. */
void tp_scan_empty(struct worker *worker);

/* Counts n real numbers of 8 or 16 bits into the tables of a worker. */
void tp_scan_count_codes(const struct scan *scan, struct worker *worker,
                         const void *codes, size_t n);

/* --- scan_device.c ------------------------------------------------------ */

/* A lane of the device, and whether it did all that it was asked for. */
struct scan_lane {
    struct tp_device_lane at;
    bool ok;
};

/* The lane of a worker; false when it has none, or the device failed. */
bool tp_scan_lane(const struct scan *scan, const struct worker *worker,
                  struct scan_lane *lane);

/* Whether the device can do the work of this reading; then it has all that is
 * needed. */
bool tp_scan_device_can(const struct scan *scan, const struct scan_lane *lane);

/*
 * Work on a lane: begin, stages of elements [first, end) of the walk (those
 * with block work begin and end with blocks, but for the end of the walk or
 * where a range ends), and at the end what was counted is added to the totals.
 * False when something could not be read or the device failed: then nothing
 * was added, and the host is to do it. Since it reads in pieces of its own,
 * what it says of a failure to read does not depend on devices.
 */
void tp_scan_begin_there(struct gather *gather, struct scan_lane *lane);
void tp_scan_stage_there(const struct scan *scan, int64_t first, int64_t end,
                         struct gather *gather);
bool tp_scan_end_there(struct scan *scan, struct gather *gather);

/* All that for a range. */
bool tp_scan_range_there(struct scan *scan, size_t range,
                         struct gather *gather, struct scan_lane *lane);

/* Reads elements [first, end) of a walk into the next stage of a lane and
 * sends them; they fit STAGE_BYTES + EARLY_BYTES. Returns where their codes
 * lie, or would lie if the host had gathered them; NULL when they could not be
 * read or the device failed. *crc, unless NULL, goes on over all from element
 * `fresh` on. */
struct stage {
    const struct tp_walk *walk;
    int64_t first, end;
    int64_t fresh;
    uint32_t *crc;
};
const unsigned char *tp_scan_send(const struct scan *scan,
                                  const struct stage *stage,
                                  struct worker *worker,
                                  struct scan_lane *lane);

/* Has the device do the block work for rows, or for columns. */
void tp_scan_blocks_there(const struct scan *scan,
                          const struct tp_device_rows *rows,
                          struct scan_lane *lane);

/* --- scan_ahead.c --------------------------------------------------------- */

/* What tp_scan_ahead has of the tensor, once; or NULL. */
const struct tp_device_list *tp_scan_take_ahead(struct worker *worker,
                                                const struct tp_tensor *tensor);

/* --- scan_blocks.c ------------------------------------------------------ */

/* The last element of the walk at or before `at` with which a block begins. */
int64_t tp_scan_block_begin(const struct scan *scan, int64_t at);

/* Whether blocks are small enough to be counted piece by piece. */
bool tp_scan_blocks_fit(const struct scan *scan);

/* Does the block work for elements [first, end) of the walk, at which blocks
 * begin and end; `codes` holds them, aligned to the code size. */
void tp_scan_count_blocks(const struct scan *scan, const unsigned char *codes,
                          int64_t first, int64_t end, struct gather *gather);

/* A reading for blocks that do not fit, which does `work`, of WORK_ANY_BLOCKS;
 * gathers and returns as tp_scan_read does. */
enum tp_status tp_scan_read_tiles(struct scan *scan, unsigned work);

/* --- scan_quant.c --------------------------------------------------------- */

/* Takes up the casts of the request: what kinds of work they are. */
void tp_scan_casts_init(struct scan *scan,
                        const struct tp_scan_request *request);

/* Provides what tallies need: plans, and totals unless they stay in the
 * tables of the calling worker. Freed by tp_scan_casts_clear. */
enum tp_status tp_scan_casts_begin(struct scan *scan, bool totals);
void tp_scan_casts_clear(struct scan *scan);

/* Provides the tallies of a worker. */
bool tp_scan_casts_prepare(const struct scan *scan, struct worker *worker);

/* Simulates the casts of scan->work: of rows of blocks, of rows x columns
 * whose columns are blocks, and elementwise. */
void tp_scan_cast_rows(const struct scan *scan, struct gather *gather,
                       const unsigned char *codes, size_t rows,
                       size_t row_length);
void tp_scan_cast_columns(const struct scan *scan, struct gather *gather,
                          const unsigned char *codes, size_t rows,
                          size_t columns);
void tp_scan_cast_values(const struct scan *scan, struct gather *gather,
                         const void *codes, size_t n);

/* Adds the tallies of a worker to the totals. Called under the lock. */
void tp_scan_casts_add(struct scan *scan, struct worker *worker);

/* Adds the errors of a range, in order. */
void tp_scan_casts_merge(struct scan *scan,
                         const struct tp_quant_error *errors);

/* Ends the casts that follow from the list of codes, not yet repeated. */
void tp_scan_casts_list(struct scan *scan, const struct tp_code_list *list);

/* Does the other casts, once the extrema of the result are known: by a
 * further reading, or of `codes`, which then hold all of the walk. */
enum tp_status tp_scan_casts_direct(struct scan *scan,
                                    const unsigned char *codes);

/* --- scan_dims.c ---------------------------------------------------------- */

/* Fills asked->dims, once the result is there: by a further reading, or from
 * `codes`, which then hold all of the walk. */
enum tp_status tp_scan_dims(struct scan *scan,
                            const struct tp_scan_request *asked,
                            const unsigned char *codes);

#endif
