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
    TP_STEP_SCALER,   /* scaler.step(optimizer)                    */
    TP_STEP_OPTIMIZER /* optimizer.step()                          */
};

/* A branch that is taken: an if, elif, else, except or case. */
struct tp_check_arm {
    uint32_t group; /* the "if" that it belongs to                        */
    uint32_t node;
};

struct tp_check_event {
    enum tp_check_step step;
    uint32_t node; /* the call                                         */
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

enum { TP_CHECK_EVENTS = 200 };

/* Number of the first event of a kind behind number `from` that can follow
 * it in one iteration; the count when there is none. */
size_t tp_events_next(const struct tp_script *script,
                      const struct tp_check_events *events, size_t from,
                      enum tp_check_step step);

/* Whether there is any event of a kind from number `first` to before `end`. */
bool tp_events_any(const struct tp_check_events *events, size_t first,
                   size_t end, enum tp_check_step step);

#endif
