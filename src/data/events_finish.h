/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_EVENTS_FINISH_H
#define TP_DATA_EVENTS_FINISH_H

#include "data/events.h"

/* To be called after the last event: drops lanes without events, gives every
 * lane the names of its process, returns memory that is not needed. */
enum tp_status tp_events_finish(struct tp_events *events,
                                struct tp_error *err);

#endif
