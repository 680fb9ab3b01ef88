/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_PICKLE_SCALAR_H
#define TP_TORCH_PICKLE_SCALAR_H

#include "formats/torch/pickle_machine.h"

/*
 * Opcodes that push one number or text, with the argument that the table of
 * opcodes has for them. Only pickle.c uses them; they fail as the machine's
 * functions do.
 */

/* None; True and False: 1 and 0. */
enum tp_status tp_scalar_none(struct tp_machine *m, unsigned argument);
enum tp_status tp_scalar_bool(struct tp_machine *m, unsigned argument);

/* An integer of so many bytes: four of them are signed, fewer are not. */
enum tp_status tp_scalar_int(struct tp_machine *m, unsigned argument);

/* A signed integer of any length, which has so many bytes itself. */
enum tp_status tp_scalar_long(struct tp_machine *m, unsigned argument);

/* A binary64, the most significant byte first. */
enum tp_status tp_scalar_float(struct tp_machine *m, unsigned argument);

/* A text, or bytes, whose length has so many bytes. */
enum tp_status tp_scalar_string(struct tp_machine *m, unsigned argument);
enum tp_status tp_scalar_bytes(struct tp_machine *m, unsigned argument);

/*
 * What a line of text says: a number ('I', 'L', 'F'), a quoted string of
 * Python 2 ('S') or one with raw unicode escapes ('V').
 */
enum tp_status tp_scalar_line(struct tp_machine *m, unsigned letter);

#endif
