/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_SPILL_H
#define TP_BASE_SPILL_H

#include "base/bytes.h"

/*
 * A temporary file for what is too large for memory and has to be read at any
 * place: unpacked bytes. It lies in $TMPDIR, else in /tmp, has no name, and is
 * gone with the process whatever ends it.
 */

/* Makes one, empty, that is read by tp_bytes_read and closed by
 * tp_bytes_close. TP_E_IO. */
enum tp_status tp_spill_open(struct tp_bytes *spill, struct tp_error *err);

/*
 * Whether `more` bytes can be put into it: of what the disk has left an eighth
 * stays for others. TP_E_LIMIT names both sizes; TP_E_IO.
 */
enum tp_status tp_spill_room(const struct tp_bytes *spill, uint64_t more,
                             struct tp_error *err);

/*
 * Writes `length` bytes at byte `offset`, where nothing was written before;
 * spill->size is the caller's to set.
 * Of zeros alone only the place is made: they are a hole of the file, so that a
 * bomb costs no disk either. TP_E_IO. Not two threads at once.
 */
enum tp_status tp_spill_write(const struct tp_bytes *spill, uint64_t offset,
                              const unsigned char *data, size_t length,
                              struct tp_error *err);

#endif
