/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_RULE_COSTS_H
#define TP_VERDICT_TRACE_RULE_COSTS_H

#include "verdict/trace_rules.h"

/* The row of /syncs that costs most, with the device idle, else at all; NULL
 * without. */
const struct tp_sync_row *tp_trace_worst_sync(const struct tp_trace *trace);

/* Whether what blocks the host is worth a change: the device idles during at
 * least half of it. A wait for a busy device costs nothing. */
bool tp_trace_blocking_costs(const struct tp_trace *trace);

/* The host inside pageable copies of a direction, % of W, where that costs
 * something and is worth a finding; else 0. */
double tp_trace_pageable_cost(const struct tp_trace_case *it, bool to_host);

#endif
