/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_PICKLE_VALUE_H
#define TP_TORCH_PICKLE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

/*
 * What a pickle holds, as a tree of values. They are named by small numbers
 * (tp_ref), because a pickle's values may be shared and may even contain
 * themselves.
 */
typedef uint32_t tp_ref;

/* No value. Every function below takes it and treats it as an absence. */
#define TP_REF_NONE UINT32_MAX

enum tp_value_kind {
    TP_VALUE_NONE,       /* None                                          */
    TP_VALUE_BOOL,       /* u.integer: 0 or 1                             */
    TP_VALUE_INT,        /* u.integer                                     */
    TP_VALUE_BIG_INT,    /* beyond 64 bits; u.text: two's complement, LE  */
    TP_VALUE_FLOAT,      /* u.real                                        */
    TP_VALUE_STRING,     /* u.text, UTF-8 as far as the file is honest    */
    TP_VALUE_BYTES,      /* u.text; bytes and bytearray                   */
    TP_VALUE_LIST,       /* u.items                                       */
    TP_VALUE_TUPLE,      /* u.items                                       */
    TP_VALUE_SET,        /* u.items; set and frozenset                    */
    TP_VALUE_DICT,       /* u.items: key, value, key, value, ...          */
    TP_VALUE_GLOBAL,     /* u.text: "module.name", NUL-terminated         */
    TP_VALUE_CALL,       /* u.call: what Python would have called         */
    TP_VALUE_PERSISTENT  /* u.call.args: the id; a torch storage          */
};

/* Bytes of the input. `data` is NULL when they are only in the file (long
 * byte strings of files that are not in memory); `where` holds always. */
struct tp_value_text {
    const char *data; /* not NUL-terminated, but for TP_VALUE_GLOBAL      */
    uint64_t length;
    uint64_t where;   /* of the first byte, in the bytes given            */
};

/* A run of references; see tp_pickle_item. */
struct tp_value_items {
    uint32_t first, count, capacity;
};

/*
 * callable(*args), then updated with `state` (__setstate__ or __dict__) and
 * with items: pairs of key and value; the key of an appended item is
 * TP_REF_NONE.
 */
struct tp_value_call {
    struct tp_value_items items;
    tp_ref callable, args, state;
};

/* One value: 32 bytes. */
struct tp_value {
    uint8_t kind;          /* enum tp_value_kind                          */
    uint8_t made;          /* a call: of __new__ of the callable, a class */
    uint16_t offset_high;  /* of the opcode that made it, see             */
    uint32_t offset_low;   /* tp_pickle_offset                            */
    union {
        int64_t integer;
        double real;
        struct tp_value_text text;
        struct tp_value_items items;
        struct tp_value_call call;
    } u;
};

/* The values of one pickle. All-zero bytes are an empty one. */
struct tp_pickle {
    struct tp_value *values;
    size_t count, capacity;
    tp_ref *items;         /* what u.items and u.call.items point into    */
    size_t item_count, item_capacity;
    tp_ref root;
    struct tp_arena arena; /* texts that had to be copied                 */
};

/* The value of a reference, NULL for TP_REF_NONE. */
const struct tp_value *tp_pickle_value(const struct tp_pickle *pickle,
                                       tp_ref ref);

/* Its kind; TP_VALUE_NONE for TP_REF_NONE. */
enum tp_value_kind tp_pickle_kind(const struct tp_pickle *pickle, tp_ref ref);

/* The byte of the opcode that made the value; -1 for TP_REF_NONE. */
int64_t tp_pickle_offset(const struct tp_pickle *pickle, tp_ref ref);

/*
 * Item number `index` of a list, tuple or set; TP_REF_NONE outside, and for
 * other values.
 */
tp_ref tp_pickle_item(const struct tp_pickle *pickle, tp_ref ref,
                      size_t index);

/* Number of items of a list, tuple or set; 0 for other values. */
size_t tp_pickle_length(const struct tp_pickle *pickle, tp_ref ref);

/*
 * Pair number `index` of a dict, or of the items of a call (OrderedDict and
 * the like). Returns false past the end and for other values.
 */
bool tp_pickle_pair(const struct tp_pickle *pickle, tp_ref ref, size_t index,
                    tp_ref *key, tp_ref *value);

/*
 * The value of the string key `key` in a dict (OrderedDict and the like too);
 * the last one if there are several. TP_REF_NONE when there is none or the
 * value is no dict.
 */
tp_ref tp_pickle_lookup(const struct tp_pickle *pickle, tp_ref dict,
                        const char *key);

/*
 * An integer: int, bool, or a numpy integer scalar. Returns false and leaves
 * *value alone for everything else.
 */
bool tp_pickle_int(const struct tp_pickle *pickle, tp_ref ref,
                   int64_t *value);

/* A float; integers are converted. Returns false for everything else. */
bool tp_pickle_float(const struct tp_pickle *pickle, tp_ref ref,
                     double *value);

/*
 * The bytes of a string, borrowed, not NUL-terminated. Returns false for
 * everything else.
 */
bool tp_pickle_text(const struct tp_pickle *pickle, tp_ref ref,
                    const char **text, size_t *length);

/* Whether the value is the string (or the global name) `text`. */
bool tp_pickle_is(const struct tp_pickle *pickle, tp_ref ref,
                  const char *text);

/*
 * The full name of what a call calls, or of a global; NULL when the callable
 * is not a plain name, and for other values.
 */
const char *tp_pickle_callable(const struct tp_pickle *pickle, tp_ref ref);

#endif
