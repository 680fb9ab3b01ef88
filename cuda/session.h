/* SPDX-License-Identifier: MIT */
#ifndef TP_CUDA_SESSION_H
#define TP_CUDA_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "stats/blocks.h"
#include "stats/code_key.h"
#include "stats/dims.h"
#include "stats/float_tally.h"
#include "stats/judge.h"
#include "stats/select.h"
#include "stats/tally.h"
#include "stats/values.h"

/*
 * A device that counts codes for the host. Work is done by *lanes*, each with
 * one thread that uses it: two stages (a buffer in pinned memory and as much
 * on the device), a stream that copies and one that counts. So while the host
 * fills one stage, the other is copied or counted; and lanes do not wait for
 * each other.
 *
 *     begin(lane)               nothing is counted yet
 *     for each stage:
 *         stage(lane)           the buffer to fill
 *         send(lane, bytes)     its first bytes go to the device
 *         codes, values, ...    what is counted of them, in any order
 *     end(lane)                 waits
 *     take(lane, results)       adds what was counted
 *
 * Results have the bits that the functions of src/stats give for the same
 * codes. After a failure (out of device memory, a device that is lost) all
 * functions return false from then on, and the host does the work: nothing of
 * what failed was added to any result. A program built without CUDA has the
 * same functions, and no device to open.
 */
struct tp_device_session;

struct tp_device_options {
    int index;       /* of 0 .. tp_device_count() - 1                      */
    unsigned lanes;  /* at most, one for each thread                       */
    uint64_t memory; /* bytes on the device at most; 0: half of what is free */
    size_t range;    /* bytes counted between begin and end, at most       */
    size_t stage;    /* bytes of a buffer                                  */
    size_t call;     /* bytes of codes of 32 or 64 bits whose moments are
                        taken at once, see tp_values_add                   */
    size_t tallies;  /* that each lane has memory for                      */
};

/* NULL, and a sentence in `reason` (of TP_DEVICE_REASON_MAX bytes, device.h),
 * when the device or its memory is not to be had. Closed by
 * tp_device_close. */
struct tp_device_session *tp_device_open(
    const struct tp_device_options *options, char *reason);

/* Gives everything back. Accepts NULL. */
void tp_device_close(struct tp_device_session *session);

/* Lanes there are: fewer than asked for where memory does not allow more. */
unsigned tp_device_lanes(const struct tp_device_session *session);

/* Why the session failed, or "". Any thread. */
const char *tp_device_failure(const struct tp_device_session *session);

/* One lane: the session's first argument of all that follows. */
struct tp_device_lane {
    struct tp_device_session *session;
    unsigned number; /* below tp_device_lanes() */
};

/* --- what is sent --------------------------------------------------------- */

/* As all that follow: false after a failure. */
bool tp_device_begin(const struct tp_device_lane *lane);

/* The buffer to fill next, of `stage` bytes; NULL after a failure. What was
 * sent before is not counted any more. */
void *tp_device_stage(const struct tp_device_lane *lane);

/* Sends the first `bytes` of that buffer. They stay as they are until the
 * second tp_device_stage after this, or tp_device_end. */
bool tp_device_send(const struct tp_device_lane *lane, size_t bytes);

/* A strided view of what was sent, in bytes from the begin of the buffer to
 * element 0 (which may lie before it), and elements. */
struct tp_device_view {
    int size; /* bytes of an element: 1 2 4 8 16                           */
    int ndim; /* at most TP_LIMIT_DIMS                                     */
    int64_t origin;
    const int64_t *shape, *stride;
};

/* Puts elements [first, first + n) of the view, in row-major order, in the
 * place of what was sent; they fit a stage. */
bool tp_device_gather(const struct tp_device_lane *lane,
                      const struct tp_device_view *view, uint64_t first,
                      uint64_t n);

/* --- what is counted ------------------------------------------------------ */

/* Pointers to codes are to the buffer: where codes lie in it, or would lie if
 * the host had gathered them. */

/* A histogram of codes of 8 or 16 bits. */
bool tp_device_codes(const struct tp_device_lane *lane,
                     const struct tp_span *span);

/* Counts, moments and extrema of codes of 32 or 64 bits, and what else is
 * wanted. A span that does not end with a whole `call` is the last. */
enum { TP_DEVICE_TOP_DIGITS = 1, TP_DEVICE_SUMMARY_BINS = 2 };
bool tp_device_values(const struct tp_device_lane *lane,
                      const struct tp_span *span, const struct tp_judge *judge,
                      unsigned wanted);

/* Sums of codes of TP_FLOAT32 by leading bits: tp_float_bins_add. The first
 * provides room for them; false when it does not fit into the memory that is
 * allowed, which is no failure. */
bool tp_device_float_bins_room(const struct tp_device_lane *lane);
bool tp_device_float_bins(const struct tp_device_lane *lane,
                          const struct tp_span *span);

/* What tp_select_count counts. */
bool tp_device_select(const struct tp_device_lane *lane,
                      const struct tp_span *span,
                      const struct tp_select *select);

/* tp_blocks_count, or tp_blocks_count_across. The plan is the same from begin
 * to end. */
bool tp_device_blocks(const struct tp_device_lane *lane,
                      const struct tp_block_plan *plan,
                      const struct tp_block_rows *rows);

/* Provides tallies 0 .. count - 1; false when they do not fit into the memory
 * that is allowed, which is no failure. */
bool tp_device_tallies(const struct tp_device_lane *lane, size_t count);

/* tp_tally_rows, into a tally that was provided. It has the same plan from
 * begin to end. */
bool tp_device_tally(const struct tp_device_lane *lane, size_t tally,
                     const struct tp_tally_plan *plan,
                     const struct tp_block_rows *rows);

/* The same two of TP_FLOAT32: tp_float_tally_rows. */
bool tp_device_float_tallies(const struct tp_device_lane *lane, size_t count);
bool tp_device_float_tally(const struct tp_device_lane *lane, size_t tally,
                           const struct tp_tally_plan *plan,
                           const struct tp_block_rows *rows);

/* Statistics by index: tp_dims_add of strips `height` rows high (at most
 * TP_DIM_ROWS) of a matrix that does not lie across. From begin to end all
 * matrices have the same columns; their rows follow each other. */
struct tp_device_matrix {
    struct tp_dim_matrix matrix;
    size_t height;
};
bool tp_device_dims(const struct tp_device_lane *lane,
                    const struct tp_device_matrix *dims);

/* Whether there is room for what dims->matrix.rows rows in all make, and for
 * the work on `stage_rows` of them at a time. */
bool tp_device_dims_fit(const struct tp_device_lane *lane,
                        const struct tp_device_matrix *dims, size_t stage_rows);

/* --- small tensors -------------------------------------------------------- */

/* Not between begin and end, whose memory on the device it takes; it waits. */

enum { TP_DEVICE_LISTS = 256 };

/* One of many tensors of at most TP_SELECT_SMALL codes of 8 or 16 bits. */
struct tp_device_list {
    const void *codes;       /* in the batch, aligned to 16 bytes          */
    uint32_t n, code_size;
    const uint32_t *entries; /* out: for tp_codes_list_entries, borrowed
                                until the next tp_device_lists             */
    size_t length;           /* out                                        */
};

/* A buffer of `stage` bytes for their codes; NULL where there is no pinned
 * memory for it, which is no failure. */
void *tp_device_batch(const struct tp_device_lane *lane);

/* Counts the codes of at most TP_DEVICE_LISTS tensors in one launch. */
bool tp_device_lists(const struct tp_device_lane *lane,
                     struct tp_device_list *lists, size_t count);

/* --- what comes back ------------------------------------------------------ */

/* Waits until all is counted. */
bool tp_device_end(const struct tp_device_lane *lane);

/* Where what was counted goes; NULL: nowhere. */
struct tp_device_results {
    /* [TP_CODES] of codes, [TP_SELECT_TOP] of the top digits of values: added
     * to; [TP_SELECT_ROOM] of a selection: as by tp_select_flush */
    uint64_t *totals;
    uint64_t *bins;                 /* [TP_SUMMARY_BINS] of values: added to */
    struct tp_values *values;       /* merged into, in order               */
    struct tp_block_counts *blocks; /* added to                            */
    struct tp_float_bin_total *float_bins; /* [TP_FLOAT_BINS]: added to    */
};

/* Adds what was counted before the last tp_device_end, which succeeded. */
void tp_device_take(const struct tp_device_lane *lane,
                    const struct tp_device_results *results);

/* The same of one tally; empties it, so it is to be called once for each that
 * was tallied. */
void tp_device_take_tally(const struct tp_device_lane *lane, size_t tally,
                          struct tp_tally *into);
void tp_device_take_float_tally(const struct tp_device_lane *lane, size_t tally,
                                struct tp_float_tally_total *into);

/* And of tp_device_dims: columns and rows, borrowed until the next begin. */
void tp_device_take_dims(const struct tp_device_lane *lane,
                         struct tp_dim_cells *columns,
                         const struct tp_dim_cell **rows);

#ifdef __cplusplus
}
#endif

#endif
