/* SPDX-License-Identifier: MIT */
#ifndef TP_CUDA_SESSION_STATE_CUH
#define TP_CUDA_SESSION_STATE_CUH

#include "cuda/session.h"

#include <atomic>

#include "cuda/device.h"
#include "cuda/kernels.h"
#include "stats/codes.h"

/* What the files of a session share: session.cu (memory, streams, failures)
 * and session_count.cu (what is counted). */

namespace tp_session {

/* The results of a range that have one place each, as they lie on the device
 * and in pinned memory. Only those that were counted are cleared and copied. */
struct Back {
    uint64_t totals[TP_SELECT_ROOM]; /* of whichever kind: the largest      */
    uint64_t bins[TP_SUMMARY_BINS];
    tp_block_counts blocks;
};
static_assert(int(TP_CODES) <= int(TP_SELECT_ROOM) &&
                  int(TP_SELECT_TOP) <= int(TP_SELECT_ROOM),
              "totals have no room");

/* What kernels are told, likewise. */
struct Plans {
    tp_block_plan blocks;
    tp_select select;
};

/* A tally and its plan; the tally is all-zero between two ranges. */
template <class T>
struct Planned {
    tp_tally_plan plan;
    T tally;
};

/* Memory of which there is one on the device and one pinned. */
template <class T>
struct Pair {
    T *device, *host;
};

/* What is counted in a range; beside tallies. */
enum {
    CODES = 1,
    VALUES = 2,
    BINS = 4,
    BLOCKS = 8,
    SELECT = 16,
    DIMS = 32,
    FLOAT_BINS = 64
};

struct Stage {
    Pair<unsigned char> bytes;
    cudaEvent_t sent; /* it can be filled again                             */
    cudaEvent_t done; /* and sent again                                     */
};

enum { STAGES = 2, TALLIES = 64 };

/* The tallies of a lane: of tp_tally, or of tp_float_tally. */
template <class T>
struct Tallies {
    Pair<Planned<T>> of[TALLIES];
    uint64_t in_use; /* a bit for each that is tallied into in a range     */
};

struct Lane {
    tp_kernel_place place;     /* its stream counts                         */
    cudaStream_t copy;         /* and this one sends                        */
    Stage stages[STAGES];
    unsigned stage;            /* the one to fill, or just sent             */
    bool sent;                 /* so it was                                 */
    const unsigned char *codes; /* what is counted: it, or what is gathered */
    unsigned char *gathered;
    Pair<Back> back;
    Pair<Plans> plans;
    Pair<tp_values> calls;
    Pair<double> cells;        /* of columns, then of rows                  */
    unsigned char *scratch;
    Pair<tp_float_bin> float_bins; /* [TP_FLOAT_BINS]                       */
    Tallies<tp_tally> tallies;
    Tallies<tp_float_tally> float_tallies;
    unsigned char *batch;      /* of small tensors, pinned: on the device   */
    uint32_t *entries;         /* in the place of a stage and of scratch    */
    Pair<tp_kernel_list> lists;
    unsigned what;
    size_t totals;             /* in use                                    */
    size_t call_count, rows, columns;
};

}

struct tp_device_session {
    tp_device_options options;
    tp_session::Lane *lanes;
    unsigned lane_count;
    std::atomic<uint64_t> used; /* bytes on the device, of options.memory   */
    std::atomic<int> failed;
    char failure[TP_DEVICE_REASON_MAX];
};

namespace tp_session {

inline Lane *lane_of(const tp_device_lane *lane)
{
    return &lane->session->lanes[lane->number];
}

inline bool is_lost(const tp_device_lane *lane)
{
    return lane->session->failed.load() != 0;
}

/* Keeps the first failure; false when there was one. */
bool check(tp_device_session *session, int status);

enum { OVER_LIMIT = -1 }; /* no cudaError_t                                 */

/* Memory for `count` on both sides, or, without `host`, on the device, within
 * the session's limit: OVER_LIMIT beyond it. */
int provide(tp_device_session *session, void **device, void **host,
            size_t bytes);

template <class T>
int provide(tp_device_session *session, Pair<T> *pair, size_t count)
{
    return provide(session, reinterpret_cast<void **>(&pair->device),
                   reinterpret_cast<void **>(&pair->host),
                   count * sizeof(T));
}

/* Room of a lane: values for the moments of a range, doubles for cells, bytes
 * of scratch for a stage, entries for a batch. */
size_t entries_room(const tp_device_options &options);
size_t calls_room(const tp_device_options &options);
size_t cells_room(const tp_device_options &options);
size_t scratch_room(const tp_device_options &options);

}

#endif
