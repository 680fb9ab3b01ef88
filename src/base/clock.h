/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_CLOCK_H
#define TP_BASE_CLOCK_H

/* Seconds of a clock that only goes forward. */
double tp_now(void);

#endif
