/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_MEMORY_LIMIT_H
#define TP_BASE_MEMORY_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * How much memory a process may take in all, held by the system: beyond it
 * allocations fail, which is told as out of memory is, with the limit in the
 * message (base/error.h). Files that are only read cost nothing of it.
 */

/* Bytes that are there to be taken: what the system calls available, or what
 * its control group may have, if that is less. 0: the system does not say. */
uint64_t tp_memory_available(void);

/* The same of a system whose files of /proc and /sys are below `root`. */
uint64_t tp_memory_available_in(const char *root);

/*
 * Bounds this process, and each that it starts from now on, to so many bytes.
 * TP_E_IO: the system refuses. Does nothing under sanitizers, whose own tables
 * are larger than any memory.
 */
enum tp_status tp_memory_limit(uint64_t bytes, struct tp_error *err);

#endif
