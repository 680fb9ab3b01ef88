/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_PICKLE_MACHINE_H
#define TP_TORCH_PICKLE_MACHINE_H

#include "base/bytes.h"
#include "formats/torch/pickle_value.h"

/*
 * The parts of the pickle machine below its opcodes: input, stack, memo and
 * the making of values. Only pickle.c and pickle_scalar.c use it. Every
 * function that fails has set machine->err with the opcode's name and byte;
 * none is for two threads at once.
 */

enum {
    TP_MACHINE_WINDOW = 64 << 10, /* bytes of a file that is not in memory */
    TP_MACHINE_NAME_MAX = 1024,   /* bytes of a global's name              */
    TP_MACHINE_ROOM = 128         /* first size of every array; a file of
                                     tensor_saver has about 100 values     */
};

struct tp_machine {
    const struct tp_bytes *bytes;
    uint64_t start, position, end;
    uint64_t opcode_at;
    unsigned char opcode;
    const char *opcode_name;     /* NULL: there is no such opcode         */

    const unsigned char *window; /* bytes [window_start, window_end)      */
    uint64_t window_start, window_end;
    unsigned char *buffer;       /* of the window, when it is ours        */

    struct tp_pickle *out;
    tp_ref *stack, *memo;
    size_t depth, stack_room, memo_count, memo_room;
    size_t *marks;
    size_t mark_count, mark_room;
    tp_ref constants[4];         /* where None, False, True and () are, and
                                    1; 0: not made yet                     */
    uint64_t copied;             /* bytes of text put into out->arena     */
    uint64_t passed;             /* bytes of text left in the file        */
    bool stopped;
    struct tp_error *err;
};

/* Releases what the machine took; the values stay in machine->out. */
void tp_machine_clear(struct tp_machine *m);

/* Words a failure of the current opcode; returns `code`. */
enum tp_status tp_machine_fail(struct tp_machine *m, enum tp_status code,
                               const char *reason);

/* TP_E_DAMAGED unless n more bytes of input are there. */
enum tp_status tp_machine_check_left(struct tp_machine *m, uint64_t n);

/* The next n <= TP_MACHINE_WINDOW bytes; *p holds until the next take. */
enum tp_status tp_machine_take(struct tp_machine *m, size_t n,
                               const unsigned char **p);

/* The next little-endian number of `size` bytes, at most 8. */
enum tp_status tp_machine_take_number(struct tp_machine *m, unsigned size,
                                      uint64_t *number);

/* The bytes up to the next newline, which is consumed but not counted. */
enum tp_status tp_machine_take_line(struct tp_machine *m,
                                    const unsigned char **p, size_t *length);

/* Puts a value that exists on the stack. */
enum tp_status tp_machine_push(struct tp_machine *m, tp_ref ref);

/* A new value on top of the stack; *value holds until the next one. */
enum tp_status tp_machine_new(struct tp_machine *m, enum tp_value_kind kind,
                              struct tp_value **value);

/* The same of what cannot change, None, a truth or the empty tuple, which are
 * made once: their opcodes are a byte each, and lists have them by the
 * million. */
enum tp_status tp_machine_constant(struct tp_machine *m,
                                   enum tp_value_kind kind, bool truth);

/* The lowest height of the stack that an opcode without MARK may see. */
size_t tp_machine_floor(const struct tp_machine *m);

/* Takes the top of the stack, or looks at it. */
enum tp_status tp_machine_pop(struct tp_machine *m, tp_ref *ref);
enum tp_status tp_machine_peek(struct tp_machine *m, tp_ref *ref);

/*
 * Drops the newest mark. What was above it is stack[*first ..], *count long,
 * and off the stack; it is not overwritten before the next push.
 */
enum tp_status tp_machine_pop_mark(struct tp_machine *m, size_t *first,
                                   size_t *count);

/* Adds references to a value's items; with `pairs`, behind absent keys. */
enum tp_status tp_machine_add_items(struct tp_machine *m,
                                    struct tp_value_items *items,
                                    const tp_ref *refs, size_t count,
                                    bool pairs);

/* Pushes a container of the `count` references at stack[first], which are
 * off the stack but not overwritten yet. */
enum tp_status tp_machine_push_items(struct tp_machine *m,
                                     enum tp_value_kind kind, size_t first,
                                     size_t count);

/* Memory for text that the input does not hold as it is; NUL-terminated. */
enum tp_status tp_machine_text(struct tp_machine *m, size_t length,
                               char **text);

/* Pushes a text of the next `length` bytes of the input. */
enum tp_status tp_machine_push_text(struct tp_machine *m,
                                    enum tp_value_kind kind,
                                    uint64_t length);

/* Pushes the global "module.name". */
enum tp_status tp_machine_push_global(struct tp_machine *m,
                                      const char *module,
                                      size_t module_length, const char *name,
                                      size_t name_length);

#endif
