/* SPDX-License-Identifier: MIT */
#ifndef TP_FORMATS_GZIP_H
#define TP_FORMATS_GZIP_H

#include "base/bytes.h"

/* Whether a file packed by gzip starts so. */
bool tp_gzip_is(const unsigned char *head, size_t length);

/* Says what it thinks of the first bytes that were unpacked, TP_FORMAT_HEAD or
 * all; anything but TP_OK ends the unpacking with it. */
typedef enum tp_status tp_gzip_judge(const unsigned char *head, size_t length,
                                     struct tp_error *err);

/*
 * Replaces an input by what gzip packed into it, in memory or in a temporary
 * file, closed by tp_bytes_close as before. TP_E_DAMAGED with the byte of the
 * packed input, which stays as it is after a failure; TP_E_LIMIT when the
 * disk is too small, TP_E_IO, TP_E_MEMORY.
 */
enum tp_status tp_gzip_unpack(struct tp_bytes *bytes, tp_gzip_judge *judge,
                              struct tp_error *err);

#endif
