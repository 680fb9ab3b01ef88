/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_PASS_H
#define TP_SCAN_PASS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/isa.h"
#include "base/pool.h"
#include "data/tensor.h"
#include "scan/block_grid.h"
#include "stats/code_key.h"

/*
 * One reading of a tensor, split over the pool, merged in order, which feeds
 * any number of sinks.
 *
 * A pass reads the tensor in storage order: a loop over ranges on the pool, a
 * range a loop over pieces, which stay in the second level cache while every
 * sink takes them. Ranges are a fixed grid, and so are the pieces and the
 * blocks of values inside them; what is exact (integers) is added to the
 * totals under a lock in any order, and what rounds is kept per range and
 * merged in order. So results do not depend on the number of jobs. Of several
 * failures the one of the first range is reported.
 *
 * A statistic is a sink: an accumulator, as a constant descriptor, and a state
 * for each use. A pass may have a second walk beside its own, over as many
 * elements, and a piece then has the codes of both: so two tensors are compared
 * by sinks, too, and ranges, merging and errors are the same.
 */

enum {
    /* Half the smallest second level cache of current server cores. */
    TP_PIECE_BYTES = 256 << 10,
    /* What one thread takes at a time. Its tables are then added to the
     * totals, which costs as much as counting 400 KiB. */
    TP_RANGE_BYTES = 16 << 20,
    /* A piece may begin up to this many bytes early, with a block. */
    TP_EARLY_BYTES = TP_PIECE_BYTES / 4,
    /* Sinks of a pass, at most. */
    TP_PASS_SINKS = 8
};

/* --- who reads ------------------------------------------------------------ */

struct tp_device_session;
struct tp_device_lane;

struct tp_scratch {
    void *memory;
    size_t size;
};

/* One worker: buffers that it keeps from pass to pass. */
struct tp_reader {
    unsigned number;
    unsigned char *piece; /* TP_PIECE_BYTES + TP_EARLY_BYTES               */
    unsigned char *beside; /* TP_PIECE_BYTES, for a second walk            */
    void *walk;           /* TP_CHUNK_BYTES, for strided views             */
    /* of the sinks that need some: all-zero between two ranges, whichever
     * sinks had them */
    struct tp_scratch scratch[TP_PASS_SINKS];
    struct tp_scratch parts; /* of tp_pass_memory                          */
};

struct tp_readers {
    struct tp_pool *pool;
    const volatile sig_atomic_t *stop; /* or NULL                          */
    struct tp_device_session *device;  /* or NULL                          */
    enum tp_isa isa; /* whose loops take the values                        */
    unsigned count;
    struct tp_reader *reader; /* of each worker                            */
};

/* Makes readers for the workers of `pool`, to be cleared. */
enum tp_status tp_readers_init(struct tp_readers *readers,
                               struct tp_pool *pool, struct tp_error *err);
void tp_readers_clear(struct tp_readers *readers);

/* TP_E_INTERRUPTED once the user asked to stop; asked for every piece, so
 * that the largest tensor on the slowest disk does not hold the user up. */
enum tp_status tp_readers_go_on(const struct tp_readers *readers,
                                struct tp_error *err);

/* Provides the buffers to read a walk, and the one beside it unless that is
 * NULL. */
enum tp_status tp_reader_prepare(struct tp_reader *reader,
                                 const struct tp_walk *walk,
                                 const struct tp_walk *beside,
                                 struct tp_error *err);

/* --- what is fed ---------------------------------------------------------- */

struct tp_pass;

/* Elements [begin, end) of the walk, in native byte order. */
struct tp_piece {
    const unsigned char *codes; /* of `begin`                              */
    const unsigned char *beside; /* of the second walk; NULL: there is none */
    int64_t begin, end;
    int64_t fresh; /* elements before this one were in the piece before     */
    int64_t whole; /* [begin, whole) are whole blocks; or all there is      */
    const struct tp_block_grid *grid; /* of the elements                   */
};

/* What a sink does on a lane of a device (cuda/session.h). */
struct tp_sink_device {
    /* Whether the lane can do what `piece` is to; it has all it needs then. */
    bool (*can)(const void *state, const struct tp_device_lane *lane);

    /* As that of the sink; the device has the codes. False: it failed. */
    bool (*piece)(const struct tp_pass *pass, const struct tp_piece *piece,
                  const void *state, const struct tp_device_lane *lane);

    /* Adds what was counted to the part of the range and to the shared totals.
     * Called under the lock, in any order. */
    void (*take)(void *state, void *part, const struct tp_device_lane *lane);
};

/* The type of an accumulator. NULL: nothing is to be done. */
struct tp_sink {
    size_t scratch_size; /* of a worker: all-zero before and after a range  */
    size_t part_size;    /* of a range: all-zero before it                  */
    bool blocks;         /* looks at whole blocks, not at fresh elements    */
    bool light; /* without scratch; the host does it as it reads, also where
                   a device does the rest                                  */

    /* Takes a piece into the part of its range and the scratch of the worker;
     * cannot fail. `state` is read by many threads. */
    void (*piece)(const struct tp_pass *pass, const struct tp_piece *piece,
                  const void *state, void *part, void *scratch);

    /* Adds the scratch to totals in the state, and empties it. Called under a
     * lock after each range, in any order: integers only. */
    void (*flush)(void *state, void *scratch);

    /* Adds the part of a range to the state. Called in the order of ranges. */
    void (*merge)(void *state, const void *part);

    const struct tp_sink_device *device; /* NULL: only the host can         */
};

/* One use of a sink. */
struct tp_sink_use {
    const struct tp_sink *sink;
    void *state;
    size_t count; /* scratch and part have so many of their size            */
};

/* --- passes --------------------------------------------------------------- */

struct tp_range;

/* A device that may do ranges in place of this processor. */
struct tp_pass_device {
    /* Does a range; false: nothing was added, and the host is to do it. */
    bool (*range)(const struct tp_range *range);
    uint64_t row_bytes; /* the largest row of blocks it takes              */
};

/* A walk over as many elements as that of a pass, read in step with it. */
struct tp_beside {
    struct tp_walk walk;
    enum tp_dtype real; /* dtype of one real number                        */
    size_t size;        /* bytes of an element, of as many parts           */
};

/* How a tensor is read. */
struct tp_pass {
    struct tp_readers *readers;
    unsigned worker;    /* of the calling task                             */
    struct tp_walk walk;
    enum tp_dtype real; /* dtype of one real number                        */
    size_t size;        /* bytes of an element                             */
    size_t parts;       /* real numbers in an element                      */
    struct tp_block_grid grid; /* for sinks of blocks                      */

    const struct tp_beside *beside; /* or NULL; without sinks of blocks    */
    const struct tp_pass_device *device; /* or NULL; without `beside`      */
    struct tp_error *err; /* of a failure; or NULL                         */
};

/* Describes the reading of `tensor`, in any order, all but the grid. */
void tp_pass_init(struct tp_pass *pass, struct tp_readers *readers,
                  unsigned worker, const struct tp_tensor *tensor,
                  struct tp_error *err);

/*
 * Reads the tensor once and gives each piece to each of the sinks. Where a row
 * of blocks does not fit a piece, sinks of blocks are fed by a second reading,
 * in tiles as high as a block.
 */
enum tp_status tp_pass_run(const struct tp_pass *pass,
                           const struct tp_sink_use *uses, size_t count);

/* The same of `codes`, which are all of the walk, here and now: one piece. */
enum tp_status tp_pass_memory(const struct tp_pass *pass,
                              const struct tp_sink_use *uses, size_t count,
                              const void *codes);

/* Whether tp_pass_run of these uses is a single range: it is then done by the
 * calling worker, and what its sinks do not flush is in its scratch. */
bool tp_pass_is_single(const struct tp_pass *pass,
                       const struct tp_sink_use *uses, size_t count);

/* The scratch of a sink among uses in the calling worker, after one of the two
 * above; the caller leaves it all-zero, */
void *tp_pass_scratch(const struct tp_pass *pass,
                      const struct tp_sink_use *uses,
                      const struct tp_sink *sink);

/* which, after a failure, this does. */
void tp_pass_empty(const struct tp_pass *pass);

/* The fresh real numbers of a piece, those beside them, and its blocks. */
struct tp_span tp_piece_span(const struct tp_pass *pass,
                             const struct tp_piece *piece);
struct tp_span tp_piece_span_beside(const struct tp_pass *pass,
                                    const struct tp_piece *piece);
struct tp_block_cut tp_piece_blocks(const struct tp_pass *pass,
                                    const struct tp_piece *piece);

/* --- ranges, for a device ------------------------------------------------ */

/* A sink, with what it has in a range. */
struct tp_range_sink {
    const struct tp_sink *sink;
    void *state, *part, *scratch;
};

struct tp_range {
    const struct tp_pass *pass;
    struct tp_reader *reader;
    pthread_mutex_t *lock; /* of the shared totals                         */
    int64_t first, end;    /* elements of the walk                         */
    bool blocks;           /* some sink takes blocks                       */
    bool rows; /* of blocks: it begins with one, and is to be cut where one
                  begins                                                   */
    size_t count;
    struct tp_range_sink sinks[TP_PASS_SINKS];
};

/* The piece of a range whose fresh elements are [first, end): where it begins
 * and which blocks are whole; codes are to be set. */
struct tp_piece tp_range_piece(const struct tp_range *range, int64_t first,
                               int64_t end);

/* --- failures ------------------------------------------------------------- */

/* Of several tasks the error of the first by number, so that the message does
 * not depend on the number of jobs. */
struct tp_failure {
    pthread_mutex_t lock;
    size_t at; /* SIZE_MAX: none                                           */
    enum tp_status status;
    struct tp_error err;
};

/* Begins without one; ended by tp_failure_end. */
void tp_failure_begin(struct tp_failure *failure);

/* Keeps this one, unless an earlier task failed. */
void tp_failure_keep(struct tp_failure *failure, size_t at,
                     enum tp_status status, const struct tp_error *err);

/* The status; *err, unless NULL, is set if it is a failure. */
enum tp_status tp_failure_end(struct tp_failure *failure,
                              struct tp_error *err);

#endif
