/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_SCRIPT_H
#define TP_CHECK_CHECK_SCRIPT_H

#include "base/memory.h"
#include "check/python_tree.h"

/* One script, and what is known of its names. Unknown stays unknown: 0. */

/* What a value or an object is, as bits. */
enum {
    TP_TAG_HALF = 1 << 0,         /* a tensor or module of 16 bits        */
    TP_TAG_FP16 = 1 << 1,         /* of these, float16                    */
    TP_TAG_BF16 = 1 << 2,         /* of these, bfloat16                   */
    TP_TAG_FLOAT = 1 << 3,        /* one of 32 bits or more               */
    TP_TAG_FP8 = 1 << 4,          /* float8                               */
    TP_TAG_AUTOCAST_OUT = 1 << 5, /* made under autocast                  */
    TP_TAG_DTYPE = 1 << 6,        /* not a tensor, the dtype itself       */
    TP_TAG_PROBS = 1 << 7,        /* a softmax                            */
    TP_TAG_SIGMOID = 1 << 8,
    TP_TAG_SCALED = 1 << 9,  /* a loss times the scale                    */
    TP_TAG_SCALER = 1 << 10, /* a GradScaler                              */
    TP_TAG_OPTIMIZER = 1 << 11,
    TP_TAG_AUTOCAST = 1 << 12, /* a context of autocast                   */
    TP_TAG_MODULE = 1 << 13,
    TP_TAG_NORM = 1 << 14,          /* a module that normalizes           */
    TP_TAG_DATA_PARALLEL = 1 << 15, /* a DataParallel                     */
    TP_TAG_CROSS_ENTROPY = 1 << 16, /* objects that compute these         */
    TP_TAG_BCE_LOGITS = 1 << 17,
    TP_TAG_NLL = 1 << 18,
    TP_TAG_LOSS = 1 << 19,
    TP_TAG_EXP = 1 << 20,     /* an exponential, nothing subtracted       */
    TP_TAG_EXP_SUM = 1 << 21, /* a sum of these                           */
    TP_TAG_SHIFTED = 1 << 22, /* perhaps at most 0, as x - x.max()         */
    TP_TAG_SQUARE = 1 << 23,
    TP_TAG_SQUARES = 1 << 24,  /* a sum or mean of squares                 */
    TP_TAG_MEAN = 1 << 25,     /* a mean, or what is made from one         */
    TP_TAG_MASKED = 1 << 26,   /* -Inf where a mask says                   */
    TP_TAG_POSITIVE = 1 << 27, /* nowhere 0, as an exponential            */
    TP_TAG_CONSTANT = 1 << 28, /* no gradient goes through it             */
    TP_TAG_GUESS = 1 << 29,    /* told by a name, or through a call       */
    TP_TAG_DEBUGGER = 1 << 30  /* a PrecisionDebugger of msprobe          */
};

/* The tags that say in how many bits a tensor is. */
#define TP_TAG_WIDTH \
    (TP_TAG_HALF | TP_TAG_FP16 | TP_TAG_BF16 | TP_TAG_FLOAT | TP_TAG_FP8)

/* Names and what they stand for; all-zero bytes are none. */
struct tp_names {
    struct tp_name *slots; /* open addressing, a power of two             */
    size_t count, capacity;
};

struct tp_name {
    const char *text; /* borrowed from the source                         */
    const char *path; /* what an import made of it, or NULL               */
    uint32_t length, tags;
    uint32_t round; /* of which function; of objects: how many meanings   */
};

/* One script with its facts. All-zero bytes are none. */
struct tp_script {
    struct tp_py_tokens tokens;
    struct tp_py_tree tree;
    struct tp_arena arena;   /* of dotted paths                           */
    struct tp_names imports; /* by name: its dotted path                  */
    struct tp_names objects; /* by name, self.x too: tags                 */
    struct tp_call *calls;   /* judged, once the facts are known          */
    uint32_t *call_of;       /* by node: which of them                    */
    bool has_update, has_unscale; /* of a GradScaler                      */
    bool has_torch; /* it, transformer_engine or msprobe is imported      */
};

enum { TP_PATH_MAX = 160 }; /* bytes of a dotted path; longer: unknown    */

/* Releases everything. */
void tp_script_clear(struct tp_script *script);

/* The entry of a name; NULL when it has none. */
struct tp_name *tp_names_find(const struct tp_names *names, const char *text,
                              size_t length);

/* The entry, made if there is none; NULL when memory is out. */
struct tp_name *tp_names_add(struct tp_names *names, const char *text,
                             size_t length);

/* The text of a name or a chain of attributes, as in the source; NULL for
 * other expressions. */
const char *tp_script_text(const struct tp_script *script, uint32_t node,
                           size_t *length);

/* The dotted path that a name or a chain of attributes has by the imports;
 * "" when unknown. */
void tp_script_path(const struct tp_script *script, uint32_t node,
                    char path[TP_PATH_MAX]);

/* Tags of an object, by its name anywhere in the script. */
uint32_t tp_script_object(const struct tp_script *script, uint32_t node);

/* Argument `name` of a call, else number `place` (from 0), else 0. */
uint32_t tp_script_argument(const struct tp_script *script, uint32_t call,
                            const char *name, size_t place);

/* The width of a dtype's dotted path, as torch.float16; 0: it is none. */
uint32_t tp_script_dtype(const struct tp_script *script, uint32_t node);

#endif
