/* SPDX-License-Identifier: MIT */
#include "formats/torch/pickle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "formats/torch/pickle_machine.h"
#include "formats/torch/pickle_scalar.h"

/*
 * A pickle is a program for a stack machine: one byte of opcode, then its
 * argument. Values are pushed; a MARK remembers a height of the stack, and
 * the opcodes that build containers take everything above it. The memo is a
 * numbered store from which values are pushed again. STOP ends the program;
 * the value on top is the result. Every opcode is one row of the table at the
 * end of this file.
 *
 * The alternative, to let Python load the file, would run what the file says;
 * here a call is kept as a value (BUILD, REDUCE and NEWOBJ make no object).
 * One pass, a few instructions an opcode; 32 bytes of memory a value, and
 * texts stay in the file where it is in memory.
 */

struct opcode {
    const char *name;
    enum tp_status (*run)(struct tp_machine *m, unsigned argument);
    unsigned argument;
};

/* ---- opcodes: frame and stack ----------------------------------------- */

static enum tp_status op_proto(struct tp_machine *m, unsigned argument)
{
    (void)argument;
    uint64_t version;
    enum tp_status status = tp_machine_take_number(m, 1, &version);
    if (status == TP_OK && version > 5)
        status =
            tp_machine_fail(m, TP_E_UNSUPPORTED, "a protocol newer than 5");
    return status;
}

static enum tp_status op_frame(struct tp_machine *m, unsigned argument)
{
    (void)argument;
    uint64_t length;
    enum tp_status status = tp_machine_take_number(m, 8, &length);
    if (status == TP_OK && length > m->end - m->position)
        status = tp_machine_fail(m, TP_E_DAMAGED,
                                 "the frame is longer than the data");
    return status;
}

static enum tp_status op_stop(struct tp_machine *m, unsigned argument)
{
    (void)argument;
    m->stopped = true;
    return tp_machine_pop(m, &m->out->root);
}

static enum tp_status op_mark(struct tp_machine *m, unsigned argument)
{
    (void)argument;
    enum tp_status status = tp_grow(&m->marks, &m->mark_room, m->mark_count + 1,
                                    sizeof *m->marks, m->err);
    if (status == TP_OK)
        m->marks[m->mark_count++] = m->depth;
    return status;
}

static enum tp_status op_pop(struct tp_machine *m, unsigned argument)
{
    (void)argument;
    tp_ref dropped;
    /* directly above a mark, Python's POP takes the mark away */
    if (m->mark_count && m->depth == tp_machine_floor(m)) {
        m->mark_count--;
        return TP_OK;
    }
    return tp_machine_pop(m, &dropped);
}

static enum tp_status op_pop_mark(struct tp_machine *m, unsigned argument)
{
    (void)argument;
    size_t first, count;
    return tp_machine_pop_mark(m, &first, &count);
}

static enum tp_status op_dup(struct tp_machine *m, unsigned argument)
{
    (void)argument;
    tp_ref top;
    enum tp_status status = tp_machine_peek(m, &top);
    return status == TP_OK ? tp_machine_push(m, top) : status;
}

static enum tp_status op_unsupported(struct tp_machine *m, unsigned argument)
{
    (void)argument;
    return tp_machine_fail(m, TP_E_UNSUPPORTED,
                           "its data is outside the pickle");
}

/* ---- opcodes: containers ---------------------------------------------- */

/* argument: the kind */
static enum tp_status op_empty(struct tp_machine *m, unsigned argument)
{
    if (argument == TP_VALUE_TUPLE)
        return tp_machine_constant(m, TP_VALUE_TUPLE, false);
    return tp_machine_push_items(m, (enum tp_value_kind)argument, 0, 0);
}

static enum tp_status op_from_mark(struct tp_machine *m, unsigned argument)
{
    size_t first, count;
    enum tp_status status = tp_machine_pop_mark(m, &first, &count);
    if (status != TP_OK)
        return status;
    if (argument == TP_VALUE_DICT && count % 2)
        return tp_machine_fail(m, TP_E_DAMAGED, "a key without a value");
    return tp_machine_push_items(m, (enum tp_value_kind)argument, first, count);
}

/* argument: number of items */
static enum tp_status op_small_tuple(struct tp_machine *m, unsigned argument)
{
    if (m->depth - tp_machine_floor(m) < argument)
        return tp_machine_fail(m, TP_E_DAMAGED, "the stack is too short");
    m->depth -= argument;
    return tp_machine_push_items(m, TP_VALUE_TUPLE, m->depth, argument);
}

/* Adds stack[first ..] to the container below; `pairs`: keys and values. */
static enum tp_status add_to_top(struct tp_machine *m, size_t first,
                                 size_t count, bool pairs)
{
    tp_ref target;
    enum tp_status status = tp_machine_peek(m, &target);
    if (status != TP_OK)
        return status;
    if (pairs && count % 2)
        return tp_machine_fail(m, TP_E_DAMAGED, "a key without a value");
    struct tp_value *value = &m->out->values[target];
    const tp_ref *refs = m->stack + first;
    if (value->kind == TP_VALUE_CALL)
        return tp_machine_add_items(m, &value->u.call.items, refs, count,
                                    !pairs);
    bool fits =
        pairs ? value->kind == TP_VALUE_DICT
              : value->kind == TP_VALUE_LIST || value->kind == TP_VALUE_SET;
    if (!fits)
        return tp_machine_fail(m, TP_E_DAMAGED,
                               "what it adds to is no such container");
    return tp_machine_add_items(m, &value->u.items, refs, count, false);
}

/* APPEND, SETITEM. argument: number of values taken from the stack */
static enum tp_status op_add(struct tp_machine *m, unsigned argument)
{
    if (m->depth - tp_machine_floor(m) < argument)
        return tp_machine_fail(m, TP_E_DAMAGED, "the stack is too short");
    m->depth -= argument;
    return add_to_top(m, m->depth, argument, argument == 2);
}

/* APPENDS, ADDITEMS, SETITEMS. argument: whether pairs are added */
static enum tp_status op_add_many(struct tp_machine *m, unsigned argument)
{
    size_t first, count;
    enum tp_status status = tp_machine_pop_mark(m, &first, &count);
    return status == TP_OK ? add_to_top(m, first, count, argument) : status;
}

/* ---- opcodes: memo ---------------------------------------------------- */

/* The number after the opcode. argument: its bytes; 0: as a line of text */
static enum tp_status memo_number(struct tp_machine *m, unsigned argument,
                                  uint64_t *number)
{
    if (argument)
        return tp_machine_take_number(m, argument, number);
    const unsigned char *p;
    size_t length;
    enum tp_status status = tp_machine_take_line(m, &p, &length);
    if (status != TP_OK)
        return status;
    *number = 0;
    for (size_t i = 0; i < length; i++) {
        if (p[i] < '0' || p[i] > '9' || *number > UINT32_MAX)
            return tp_machine_fail(m, TP_E_DAMAGED,
                                   "its argument is not a number");
        *number = *number * 10 + (uint64_t)(p[i] - '0');
    }
    return TP_OK;
}

static enum tp_status memo_put(struct tp_machine *m, uint64_t number)
{
    tp_ref top;
    enum tp_status status = tp_machine_peek(m, &top);
    if (status != TP_OK)
        return status;
    /* Picklers number what they store from 0, and storing takes a byte. */
    if (number > m->position - m->start)
        return tp_machine_fail(m, TP_E_LIMIT,
                               "a memo number far beyond its place");
    if (number >= m->memo_room) {
        size_t need = (size_t)number + 1;
        status = tp_grow(&m->memo, &m->memo_room,
                         need < TP_MACHINE_ROOM ? TP_MACHINE_ROOM : need,
                         sizeof *m->memo, m->err);
        if (status != TP_OK)
            return status;
    }
    while (m->memo_count <= number)
        m->memo[m->memo_count++] = TP_REF_NONE;
    m->memo[number] = top;
    return TP_OK;
}

static enum tp_status op_put(struct tp_machine *m, unsigned argument)
{
    uint64_t number;
    enum tp_status status = memo_number(m, argument, &number);
    return status == TP_OK ? memo_put(m, number) : status;
}

static enum tp_status op_memoize(struct tp_machine *m, unsigned argument)
{
    (void)argument;
    return memo_put(m, m->memo_count);
}

static enum tp_status op_get(struct tp_machine *m, unsigned argument)
{
    uint64_t number;
    enum tp_status status = memo_number(m, argument, &number);
    if (status != TP_OK)
        return status;
    if (number >= m->memo_count || m->memo[number] == TP_REF_NONE)
        return tp_machine_fail(m, TP_E_DAMAGED,
                               "nothing was stored under this number");
    return tp_machine_push(m, m->memo[number]);
}

/* ---- opcodes: globals and calls --------------------------------------- */

static enum tp_status op_global(struct tp_machine *m, unsigned argument)
{
    (void)argument;
    const unsigned char *p;
    size_t length;
    enum tp_status status = tp_machine_take_line(m, &p, &length);
    if (status != TP_OK)
        return status;
    if (length > TP_MACHINE_NAME_MAX)
        return tp_machine_fail(m, TP_E_LIMIT,
                               "the name of a module is too long");
    char module[TP_MACHINE_NAME_MAX];
    memcpy(module, p, length);
    size_t module_length = length;
    status = tp_machine_take_line(m, &p, &length);
    if (status != TP_OK)
        return status;
    return tp_machine_push_global(m, module, module_length, (const char *)p,
                                  length);
}

/* A string on the stack that names a module or something in it. */
static enum tp_status pop_name(struct tp_machine *m, const char **text,
                               size_t *length)
{
    tp_ref ref;
    enum tp_status status = tp_machine_pop(m, &ref);
    if (status != TP_OK)
        return status;
    const struct tp_value *value = tp_pickle_value(m->out, ref);
    if (value->kind != TP_VALUE_STRING)
        return tp_machine_fail(m, TP_E_DAMAGED,
                               "module and name are not strings");
    if (value->u.text.length > TP_MACHINE_NAME_MAX)
        return tp_machine_fail(m, TP_E_LIMIT,
                               "the name of a global is too long");
    *text = value->u.text.data; /* a text so short is always in memory */
    *length = (size_t)value->u.text.length;
    return TP_OK;
}

static enum tp_status op_stack_global(struct tp_machine *m, unsigned argument)
{
    (void)argument;
    const char *module, *name;
    size_t module_length, name_length;
    enum tp_status status = pop_name(m, &name, &name_length);
    if (status == TP_OK)
        status = pop_name(m, &module, &module_length);
    if (status != TP_OK)
        return status;
    return tp_machine_push_global(m, module, module_length, name, name_length);
}

/* argument: bytes of the number */
static enum tp_status op_extension(struct tp_machine *m, unsigned argument)
{
    uint64_t number;
    enum tp_status status = tp_machine_take_number(m, argument, &number);
    if (status != TP_OK)
        return status;
    char name[32];
    int length = snprintf(name, sizeof name, "extension.%" PRIu64, number);
    return tp_machine_push_global(m, "copyreg", strlen("copyreg"), name,
                                  (size_t)length);
}

static enum tp_status push_call(struct tp_machine *m, tp_ref callable,
                                tp_ref args)
{
    struct tp_value *value;
    enum tp_status status = tp_machine_new(m, TP_VALUE_CALL, &value);
    if (status == TP_OK)
        value->u.call = (struct tp_value_call){
            .callable = callable, .args = args, .state = TP_REF_NONE};
    return status;
}

/* REDUCE, and NEWOBJ with the argument 1 */
static enum tp_status op_call(struct tp_machine *m, unsigned argument)
{
    tp_ref args, callable;
    enum tp_status status = tp_machine_pop(m, &args);
    if (status == TP_OK)
        status = tp_machine_pop(m, &callable);
    if (status == TP_OK)
        status = push_call(m, callable, args);
    if (status == TP_OK)
        m->out->values[m->out->count - 1].made = argument != 0;
    return status;
}

/* The arguments of the call become the pair (args, kwargs). */
static enum tp_status op_call_keywords(struct tp_machine *m, unsigned argument)
{
    if (m->depth - tp_machine_floor(m) < 3)
        return tp_machine_fail(m, TP_E_DAMAGED, "the stack is too short");
    m->depth -= 2;
    enum tp_status status =
        tp_machine_push_items(m, TP_VALUE_TUPLE, m->depth, 2);
    return status == TP_OK ? op_call(m, argument) : status;
}

/* INST: the class is named by two lines, the arguments follow the mark. */
static enum tp_status op_inst(struct tp_machine *m, unsigned argument)
{
    enum tp_status status = op_from_mark(m, TP_VALUE_TUPLE);
    tp_ref args, callable;
    if (status == TP_OK)
        status = tp_machine_pop(m, &args);
    if (status == TP_OK)
        status = op_global(m, argument);
    if (status == TP_OK)
        status = tp_machine_pop(m, &callable);
    return status == TP_OK ? push_call(m, callable, args) : status;
}

/* OBJ: after the mark come the class and the arguments. */
static enum tp_status op_obj(struct tp_machine *m, unsigned argument)
{
    (void)argument;
    size_t first, count;
    enum tp_status status = tp_machine_pop_mark(m, &first, &count);
    if (status == TP_OK && count == 0)
        status = tp_machine_fail(m, TP_E_DAMAGED, "the class is missing");
    if (status != TP_OK)
        return status;
    tp_ref callable = m->stack[first], args;
    status = tp_machine_push_items(m, TP_VALUE_TUPLE, first + 1, count - 1);
    if (status == TP_OK)
        status = tp_machine_pop(m, &args);
    return status == TP_OK ? push_call(m, callable, args) : status;
}

static enum tp_status op_build(struct tp_machine *m, unsigned argument)
{
    (void)argument;
    tp_ref state, target;
    enum tp_status status = tp_machine_pop(m, &state);
    if (status == TP_OK)
        status = tp_machine_peek(m, &target);
    if (status != TP_OK)
        return status;
    struct tp_value *value = &m->out->values[target];
    if (value->kind != TP_VALUE_CALL)
        return tp_machine_fail(m, TP_E_DAMAGED, "what it updates is no object");
    value->u.call.state = state;
    return TP_OK;
}

static enum tp_status push_persistent(struct tp_machine *m, tp_ref id)
{
    struct tp_value *value;
    enum tp_status status = tp_machine_new(m, TP_VALUE_PERSISTENT, &value);
    if (status == TP_OK)
        value->u.call = (struct tp_value_call){
            .callable = TP_REF_NONE, .args = id, .state = TP_REF_NONE};
    return status;
}

static enum tp_status op_persistent(struct tp_machine *m, unsigned argument)
{
    (void)argument;
    tp_ref id;
    enum tp_status status = tp_machine_pop(m, &id);
    return status == TP_OK ? push_persistent(m, id) : status;
}

static enum tp_status op_persistent_text(struct tp_machine *m,
                                         unsigned argument)
{
    tp_ref id;
    enum tp_status status = tp_scalar_line(m, argument);
    if (status == TP_OK)
        status = tp_machine_pop(m, &id);
    return status == TP_OK ? push_persistent(m, id) : status;
}

/* ---- the table -------------------------------------------------------- */

static const struct opcode opcodes[256] = {
    ['('] = {"MARK", op_mark, 0},
    [')'] = {"EMPTY_TUPLE", op_empty, TP_VALUE_TUPLE},
    ['.'] = {"STOP", op_stop, 0},
    ['0'] = {"POP", op_pop, 0},
    ['1'] = {"POP_MARK", op_pop_mark, 0},
    ['2'] = {"DUP", op_dup, 0},
    ['B'] = {"BINBYTES", tp_scalar_bytes, 4},
    ['C'] = {"SHORT_BINBYTES", tp_scalar_bytes, 1},
    ['F'] = {"FLOAT", tp_scalar_line, 'F'},
    ['G'] = {"BINFLOAT", tp_scalar_float, 0},
    ['I'] = {"INT", tp_scalar_line, 'I'},
    ['J'] = {"BININT", tp_scalar_int, 4},
    ['K'] = {"BININT1", tp_scalar_int, 1},
    ['L'] = {"LONG", tp_scalar_line, 'L'},
    ['M'] = {"BININT2", tp_scalar_int, 2},
    ['N'] = {"NONE", tp_scalar_none, 0},
    ['P'] = {"PERSID", op_persistent_text, 'V'},
    ['Q'] = {"BINPERSID", op_persistent, 0},
    ['R'] = {"REDUCE", op_call, 0},
    ['S'] = {"STRING", tp_scalar_line, 'S'},
    ['T'] = {"BINSTRING", tp_scalar_string, 4},
    ['U'] = {"SHORT_BINSTRING", tp_scalar_string, 1},
    ['V'] = {"UNICODE", tp_scalar_line, 'V'},
    ['X'] = {"BINUNICODE", tp_scalar_string, 4},
    [']'] = {"EMPTY_LIST", op_empty, TP_VALUE_LIST},
    ['a'] = {"APPEND", op_add, 1},
    ['b'] = {"BUILD", op_build, 0},
    ['c'] = {"GLOBAL", op_global, 0},
    ['d'] = {"DICT", op_from_mark, TP_VALUE_DICT},
    ['e'] = {"APPENDS", op_add_many, false},
    ['g'] = {"GET", op_get, 0},
    ['h'] = {"BINGET", op_get, 1},
    ['i'] = {"INST", op_inst, 0},
    ['j'] = {"LONG_BINGET", op_get, 4},
    ['l'] = {"LIST", op_from_mark, TP_VALUE_LIST},
    ['o'] = {"OBJ", op_obj, 0},
    ['p'] = {"PUT", op_put, 0},
    ['q'] = {"BINPUT", op_put, 1},
    ['r'] = {"LONG_BINPUT", op_put, 4},
    ['s'] = {"SETITEM", op_add, 2},
    ['t'] = {"TUPLE", op_from_mark, TP_VALUE_TUPLE},
    ['u'] = {"SETITEMS", op_add_many, true},
    ['}'] = {"EMPTY_DICT", op_empty, TP_VALUE_DICT},
    [0x80] = {"PROTO", op_proto, 0},
    [0x81] = {"NEWOBJ", op_call, 1},
    [0x82] = {"EXT1", op_extension, 1},
    [0x83] = {"EXT2", op_extension, 2},
    [0x84] = {"EXT4", op_extension, 4},
    [0x85] = {"TUPLE1", op_small_tuple, 1},
    [0x86] = {"TUPLE2", op_small_tuple, 2},
    [0x87] = {"TUPLE3", op_small_tuple, 3},
    [0x88] = {"NEWTRUE", tp_scalar_bool, true},
    [0x89] = {"NEWFALSE", tp_scalar_bool, false},
    [0x8a] = {"LONG1", tp_scalar_long, 1},
    [0x8b] = {"LONG4", tp_scalar_long, 4},
    [0x8c] = {"SHORT_BINUNICODE", tp_scalar_string, 1},
    [0x8d] = {"BINUNICODE8", tp_scalar_string, 8},
    [0x8e] = {"BINBYTES8", tp_scalar_bytes, 8},
    [0x8f] = {"EMPTY_SET", op_empty, TP_VALUE_SET},
    [0x90] = {"ADDITEMS", op_add_many, false},
    [0x91] = {"FROZENSET", op_from_mark, TP_VALUE_SET},
    [0x92] = {"NEWOBJ_EX", op_call_keywords, 1},
    [0x93] = {"STACK_GLOBAL", op_stack_global, 0},
    [0x94] = {"MEMOIZE", op_memoize, 0},
    [0x95] = {"FRAME", op_frame, 0},
    [0x96] = {"BYTEARRAY8", tp_scalar_bytes, 8},
    [0x97] = {"NEXT_BUFFER", op_unsupported, 0},
    [0x98] = {"READONLY_BUFFER", op_unsupported, 0},
};

/* ---- running ---------------------------------------------------------- */

static enum tp_status step(struct tp_machine *m)
{
    const unsigned char *p;
    m->opcode_at = m->position;
    if (m->position >= m->end)
        return tp_fail(m->err, TP_E_DAMAGED, (int64_t)m->position,
                       "the pickle ends at byte %" PRIu64
                       " without a STOP opcode",
                       m->position);
    enum tp_status status = tp_machine_take(m, 1, &p);
    if (status != TP_OK)
        return status;
    const struct opcode *opcode = &opcodes[*p];
    m->opcode = *p;
    m->opcode_name = opcode->name;
    if (!opcode->run)
        return tp_machine_fail(m, TP_E_DAMAGED, "no such opcode");
    return opcode->run(m, opcode->argument);
}

enum tp_status tp_pickle_read(const struct tp_bytes *bytes, uint64_t *position,
                              uint64_t end, struct tp_pickle *pickle,
                              struct tp_error *err)
{
    if (end > bytes->size)
        end = bytes->size;
    struct tp_machine m = {
        .bytes = bytes,
        .start = *position,
        .position = *position,
        .end = end,
        .out = pickle,
        .err = err,
    };
    pickle->count = 0;
    pickle->item_count = 0;
    pickle->root = TP_REF_NONE;
    tp_arena_reset(&pickle->arena);

    enum tp_status status = TP_OK;
    if (*position > end)
        status = tp_fail(err, TP_E_DAMAGED, (int64_t)end,
                         "the pickle should start behind the end");
    while (status == TP_OK && !m.stopped) {
        status = step(&m);
        if (status == TP_OK &&
            m.position - m.start - m.passed > TP_LIMIT_PICKLE_BYTES)
            status = tp_machine_fail(&m, TP_E_LIMIT, "the pickle is too long");
    }
    if (status == TP_OK)
        *position = m.position;
    tp_machine_clear(&m);
    return status;
}

void tp_pickle_clear(struct tp_pickle *pickle)
{
    free(pickle->values);
    free(pickle->items);
    tp_arena_clear(&pickle->arena);
    memset(pickle, 0, sizeof *pickle);
    pickle->root = TP_REF_NONE;
}
