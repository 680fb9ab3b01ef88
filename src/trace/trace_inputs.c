/* SPDX-License-Identifier: MIT */
/*
 * What an operator was given. The profiler writes four lists with an element
 * for each input; they stay as they are in the file until somebody asks, since
 * most operators are repeated with the same inputs thousands of times, and of
 * equal texts there is one (tp_events.inputs).
 *
 * Reading is one pass over each list, by its brackets, commas and quotes; it
 * believes nothing, as nobody has looked into the lists before. The
 * alternative, numbers in the columns of events, would cost each operator what
 * only few are asked for. Linear in the length of the text.
 */
#include "trace/trace_inputs.h"

#include <string.h>

#include "base/text.h"
#include "data/events.h"

/* --- types -------------------------------------------------------------- */

struct type {
    const char *name; /* as the profiler writes it */
    const char *word;
    double bytes;
    enum tp_precision precision;
};

static const struct type types[] = {
    {"c10::BFloat16", "bf16", 2, TP_PRECISION_BF16},
    {"float", "fp32", 4, TP_PRECISION_FP32},
    {"c10::Half", "fp16", 2, TP_PRECISION_FP16},
    {"double", "fp64", 8, TP_PRECISION_FP64},
    {"long int", "int64", 8, TP_PRECISION_OTHER},
    {"long", "int64", 8, TP_PRECISION_OTHER},
    {"int", "int32", 4, TP_PRECISION_OTHER},
    {"short int", "int16", 2, TP_PRECISION_OTHER},
    {"short", "int16", 2, TP_PRECISION_OTHER},
    {"bool", "bool", 1, TP_PRECISION_OTHER},
    {"signed char", "int8", 1, TP_PRECISION_INT8},
    {"unsigned char", "uint8", 1, TP_PRECISION_INT8},
    {"c10::complex<float>", "complex64", 8, TP_PRECISION_OTHER},
    {"c10::complex<double>", "complex128", 16, TP_PRECISION_OTHER},
};

static struct type type_of(struct tp_op_word name)
{
    static const char fp8[] = "c10::Float8_", fp4[] = "c10::Float4_";
    const size_t length = sizeof fp8 - 1;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (tp_op_is(&name, types[i].name))
            return types[i];
    }
    if (name.length > length && !memcmp(name.text, fp8, length))
        return (struct type){"", "fp8", 1, TP_PRECISION_FP8};
    if (name.length > length && !memcmp(name.text, fp4, length))
        return (struct type){"", "fp4", 1, TP_PRECISION_FP4}; /* two a byte */
    return (struct type){"", "", 0, TP_PRECISION_NONE};
}

const char *tp_precision_word(enum tp_precision precision)
{
    static const char *const words[TP_PRECISIONS] = {
        [TP_PRECISION_NONE] = "",      [TP_PRECISION_FP64] = "fp64",
        [TP_PRECISION_FP32] = "fp32",  [TP_PRECISION_TF32] = "tf32",
        [TP_PRECISION_FP16] = "fp16",  [TP_PRECISION_BF16] = "bf16",
        [TP_PRECISION_FP8] = "fp8",    [TP_PRECISION_FP4] = "fp4",
        [TP_PRECISION_INT8] = "int8",  [TP_PRECISION_OTHER] = "",
    };
    return words[precision];
}

/* --- lists -------------------------------------------------------------- */

/* Where reading is, and where the list ends. */
struct cursor {
    const char *at, *end;
};

static void skip_blanks(struct cursor *c)
{
    while (c->at < c->end && tp_json_is_blank(*c->at))
        c->at++;
}

static bool take(struct cursor *c, char wanted)
{
    skip_blanks(c);
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

/* An integer from 0 on. */
static bool take_integer(struct cursor *c, int64_t *number)
{
    skip_blanks(c);
    const char *from = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
        c->at++;
    *number = tp_digits_value(from, (size_t)(c->at - from));
    return *number >= 0;
}

/* The axes of a tensor, after its '['; of what is none, false. */
static bool take_axes(struct cursor *c, struct tp_op_arg *arg)
{
    int64_t length;
    arg->axes = 0;
    arg->elements = 1;
    if (take(c, ']'))
        return true;
    do {
        if (!take_integer(c, &length))
            return false;
        if (arg->axes < TP_OP_AXES_MAX)
            arg->dims[arg->axes] = length;
        arg->axes++;
        arg->elements *= (double)length;
    } while (take(c, ','));
    return take(c, ']');
}

/* Goes behind an element, whatever it is: to the comma or the end of its
 * list. */
static void skip_element(struct cursor *c)
{
    int depth = 0;
    bool quoted = false;
    for (; c->at < c->end; c->at++) {
        const char byte = *c->at;
        if (quoted) {
            c->at += byte == '\\' && c->at + 1 < c->end;
            quoted = byte != '"';
        } else if (byte == '"') {
            quoted = true;
        } else if (byte == '[' || byte == '{') {
            depth++;
        } else if ((byte == ']' || byte == '}') && depth-- == 0) {
            return;
        } else if (byte == ',' && depth == 0) {
            return;
        }
    }
}

/* The elements of all tensors of a list of them. */
static double take_tensors(struct cursor *c)
{
    double elements = 0;
    do {
        struct tp_op_arg one = {.axes = -1};
        if (!take(c, '[') || !take_axes(c, &one))
            return 0;
        elements += one.elements;
    } while (take(c, ','));
    return elements;
}

static struct tp_op_word word_of(struct cursor *c)
{
    struct tp_op_word word = {c->at, 0};
    struct cursor end = *c;
    skip_element(&end);
    word.length = (size_t)(end.at - c->at);
    while (word.length && tp_json_is_blank(word.text[word.length - 1]))
        word.length--;
    if (word.length >= 2 && *word.text == '"' &&
        word.text[word.length - 1] == '"') {
        word.text++;
        word.length -= 2;
    }
    return word;
}

static void read_dims(struct cursor *c, struct tp_op_arg *arg)
{
    const struct cursor start = *c;
    arg->shape = word_of(c);
    if (!take(c, '['))
        return;
    skip_blanks(c);
    if (c->at < c->end && *c->at == '[') {
        arg->elements = take_tensors(c);
        arg->axes = -1;
    } else if (!take_axes(c, arg)) {
        arg->axes = -1;
        arg->elements = 0;
    }
    *c = start;
}

static void read_element(struct cursor *c, enum tp_input_list which,
                         struct tp_op_arg *arg)
{
    skip_blanks(c);
    if (which == TP_INPUT_DIMS)
        read_dims(c, arg);
    else if (which == TP_INPUT_TYPES)
        arg->type = word_of(c);
    else if (which == TP_INPUT_STRIDES)
        arg->strides = word_of(c);
    else
        arg->value = word_of(c);
    skip_element(c);
}

static void read_list(struct cursor c, enum tp_input_list which,
                      struct tp_op_args *args)
{
    size_t count = 0;
    if (!take(&c, '[') || take(&c, ']'))
        return;
    do {
        if (count == TP_OP_ARGS_MAX)
            break;
        read_element(&c, which, &args->args[count++]);
    } while (take(&c, ','));
    args->count = count > args->count ? count : args->count;
    if (which == TP_INPUT_DIMS)
        args->shapes = count;
}

/* Length of the list of that kind; *list: where it begins. */
static size_t find_list(const char *inputs, int which, const char **list)
{
    for (; which > 0 && *inputs; which--) {
        inputs += strcspn(inputs, TP_INPUT_END);
        inputs += *inputs != '\0';
    }
    *list = inputs;
    return strcspn(inputs, TP_INPUT_END);
}

/* Whether strides are those of a tensor without gaps; axes of length 1 may have
 * any. */
static bool is_dense(const struct tp_op_arg *arg)
{
    int64_t strides[TP_OP_AXES_MAX], next = 1;
    const int64_t count = (int64_t)tp_op_integers(&arg->strides, strides,
                                                  TP_OP_AXES_MAX);
    if (count != arg->axes)
        return true; /* not told */
    for (int64_t i = arg->axes; i-- > 0;) {
        if (arg->dims[i] != 1 && strides[i] != next)
            return false;
        next *= arg->dims[i];
    }
    return true;
}

/* A list on one line, with a space behind each comma. */
static void add_tidy(struct tp_text *text, const struct tp_op_word *list)
{
    char part[64];
    size_t used = 0;
    for (size_t i = 0; i < list->length; i++) {
        if (used + 2 > sizeof part) {
            tp_text_bytes(text, part, used);
            used = 0;
        }
        if (tp_json_is_blank(list->text[i]))
            continue;
        part[used++] = list->text[i];
        if (list->text[i] == ',')
            part[used++] = ' ';
    }
    tp_text_bytes(text, part, used);
}

void tp_op_shapes_write(const char *inputs, struct tp_text *text)
{
    struct tp_op_args args;
    tp_op_args_read(inputs, &args);
    tp_text_bytes(text, "[", 1);
    for (size_t i = 0; i < args.shapes; i++) {
        const struct tp_op_word *shape = &args.args[i].shape;
        const bool list = shape->length > 1 && shape->text[1] == '[';
        tp_text_bytes(text, ", ", i ? 2 : 0);
        if (list) /* of tensors, which torch leaves out */
            tp_text_bytes(text, "[]", 2);
        else
            add_tidy(text, shape);
    }
    tp_text_bytes(text, "]", 1);
}

static void add_argument(struct tp_text *text, const struct tp_op_arg *arg)
{
    if (arg->axes < 0 && arg->elements == 0) {
        if (arg->value.length)
            tp_text_bytes(text, arg->value.text, arg->value.length);
        else
            tp_text_bytes(text, "-", 1);
        return;
    }
    tp_text_bytes(text, arg->word, strlen(arg->word));
    add_tidy(text, &arg->shape);
    if (arg->axes > 0 && !is_dense(arg)) {
        tp_text_bytes(text, "/", 1);
        add_tidy(text, &arg->strides);
    }
}

void tp_op_args_write(const struct tp_op_args *args, struct tp_text *text)
{
    for (size_t i = 0; i < args->count && text->length < TP_OP_SHOWN_MAX; i++) {
        tp_text_bytes(text, ", ", i ? 2 : 0);
        add_argument(text, &args->args[i]);
    }
    if (text->length > TP_OP_SHOWN_MAX) {
        text->length = tp_utf8_cut(tp_text_get(text), TP_OP_SHOWN_MAX);
        tp_text_bytes(text, "...", 3);
    }
}

void tp_op_args_read(const char *inputs, struct tp_op_args *args)
{
    memset(args, 0, sizeof *args);
    for (size_t i = 0; i < TP_OP_ARGS_MAX; i++) {
        args->args[i].axes = -1;
        args->args[i].word = "";
    }
    for (int i = 0; i < TP_INPUT_LISTS; i++) {
        struct cursor c;
        const size_t length = find_list(inputs, i, &c.at);
        c.end = c.at + length;
        read_list(c, (enum tp_input_list)i, args);
    }
    for (size_t i = 0; i < args->count; i++) {
        struct tp_op_arg *arg = &args->args[i];
        const struct type type = type_of(arg->type);
        arg->word = type.word;
        arg->bytes = type.bytes;
        arg->precision = type.precision;
        if (arg->axes == 0 && type.bytes == 0) { /* [] of what is no tensor */
            arg->axes = -1;
            arg->elements = 0;
        }
    }
}

size_t tp_op_integers(const struct tp_op_word *value, int64_t *numbers,
                      size_t most)
{
    size_t count = 0;
    if (!value->length) /* nor has it a text then */
        return 0;
    struct cursor c = {value->text, value->text + value->length};
    take(&c, '[');
    while (count < most && take_integer(&c, &numbers[count])) {
        count++;
        if (!take(&c, ','))
            break;
    }
    return count;
}

bool tp_op_is(const struct tp_op_word *value, const char *word)
{
    return value->length == strlen(word) &&
           !memcmp(value->text, word, value->length);
}
