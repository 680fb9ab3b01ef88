/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_ORDER_H
#define TP_CHECK_CHECK_ORDER_H

#include "check/check_roles.h"

/* What a function does to gradients, in which order. */

enum { TP_CHECK_ARMS = 12 }; /* branches in each other; deeper: unknown   */

enum tp_check_step {
    TP_STEP_SCALED_BACKWARD, /* scaler.scale(loss).backward()             */
    TP_STEP_UNSCALE,
    TP_STEP_CLIP,
    TP_STEP_SCALER,    /* scaler.step(optimizer)                          */
    TP_STEP_OPTIMIZER, /* optimizer.step()                                */
    TP_STEP_BACKWARD,  /* loss.backward(), or engine.backward(loss)       */
    /* of GradScaler                                                      */
    TP_STEP_MAKE_SCALER,
    TP_STEP_SCALE,
    TP_STEP_UPDATE,
    TP_STEP_FP16_AUTOCAST, /* a block of it begins                        */
    /* in training loops                                                  */
    TP_STEP_MAKE,      /* a module or an optimizer                        */
    TP_STEP_ITEM,      /* x.item()                                        */
    TP_STEP_KEEP_LOSS, /* total += loss                                   */
    TP_STEP_CLOCK,     /* time.time()                                     */
    TP_STEP_NETWORK,   /* a module is called                              */
    TP_STEP_WAIT,      /* for the device                                  */
    TP_STEP_PROFILER,  /* p = profile(schedule=...)                        */
    /* of msprobe                                                         */
    TP_STEP_PROBE_START,
    TP_STEP_PROBE_STOP,
    TP_STEP_PROBE_END /* forward_backward_dump_end()                     */
};

/* A branch that is taken: an if, elif, else, except or case. */
struct tp_check_arm {
    uint32_t group; /* the "if" that it belongs to                        */
    uint32_t node;
};

struct tp_check_event {
    enum tp_check_step step;
    uint32_t node; /* the call                                         */
    uint32_t loop; /* the innermost one of the function; 0: none       */
    unsigned arms; /* beyond TP_CHECK_ARMS: unknown                    */
    struct tp_check_arm arm[TP_CHECK_ARMS];
    size_t reach; /* later events from this number on cannot follow   */
};

/* The events of one function in the order of the source. All-zero bytes are
 * none. A function with more than TP_CHECK_EVENTS is no training step and is
 * not judged. */
struct tp_check_events {
    struct tp_check_event *at;
    size_t count, capacity;
};

enum { TP_CHECK_EVENTS = 400 };

/* Whether event j can follow event i in one iteration. */
bool tp_events_follow(const struct tp_script *script,
                      const struct tp_check_events *events, size_t i, size_t j);

/* Number of the first event of a kind behind number `from` that can follow
 * it in one iteration; the count when there is none. */
size_t tp_events_next(const struct tp_script *script,
                      const struct tp_check_events *events, size_t from,
                      enum tp_check_step step);

/* Whether there is any event of a kind from number `first` to before `end`. */
bool tp_events_any(const struct tp_check_events *events, size_t first,
                   size_t end, enum tp_check_step step);

#endif
