/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_NUMBER_H
#define TP_TRACE_TRACE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of a trace from their text, without a detour through a double. */

/*
 * Decimal microseconds to nanoseconds: "1712195495519689.047", "25",
 * "-1.5", "1.2e3". More than three decimals are rounded half to even. False
 * when the text is no JSON number or the result does not fit.
 */
bool tp_trace_ns(const char *text, size_t length, int64_t *ns);

/* A decimal integer, all of the text; false when it is none or too large. */
bool tp_trace_integer(const char *text, size_t length, int64_t *value);

#endif
