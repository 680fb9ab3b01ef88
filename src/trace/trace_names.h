/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_NAMES_H
#define TP_TRACE_TRACE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What an event's name alone says. The profiler has no finer categories than
 * "runtime call" or "operator", and its own annotations are recognised by
 * their names only, so one table of patterns holds all of them, CUDA's, ROCm's
 * and MTIA's, old names and new.
 */

/* Bits of enum tp_name_kind (analyze/trace.h) of a name. */
uint32_t tp_name_kinds(const char *name);

/* Whether `name` is ProfilerStep#N with a number that fits; then *number is
 * it. */
bool tp_name_step(const char *name, int64_t *number);

#endif
