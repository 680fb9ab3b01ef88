/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_SCRIPT_H
#define TP_CHECK_CHECK_SCRIPT_H

#include "base/memory.h"
#include "check/python_tree.h"

/* One script, and what is known of its names. Unknown stays unknown: 0. */

/* What a value or an object is, as bits. */
enum {
    TP_TAG_HALF = 1,         /* a tensor of 16 bits                    */
    TP_TAG_FLOAT = 2,        /* one of 32 bits or more                 */
    TP_TAG_AUTOCAST_OUT = 4, /* made by a module under autocast        */
    TP_TAG_PROBS = 8,        /* a softmax                              */
    TP_TAG_SIGMOID = 16,
    TP_TAG_SCALED = 32, /* a loss times the scale                 */
    TP_TAG_SCALER = 64, /* a GradScaler                           */
    TP_TAG_OPTIMIZER = 128,
    TP_TAG_AUTOCAST = 256, /* a context of autocast                  */
    TP_TAG_MODULE = 512,
    TP_TAG_CROSS_ENTROPY = 1024, /* objects that compute these            */
    TP_TAG_BCE_LOGITS = 2048,
    TP_TAG_NLL = 4096,
    TP_TAG_LOSS = 8192,
    TP_TAG_CONFLICT = 1 << 30 /* given two meanings: unknown            */
};

/* Names and what they stand for; all-zero bytes are none. */
struct tp_names {
    struct tp_name *slots; /* open addressing, a power of two             */
    size_t count, capacity;
};

struct tp_name {
    const char *text; /* borrowed from the source                         */
    const char *path; /* what an import made of it, or NULL               */
    uint32_t length, tags, round; /* round: of which function             */
};

/* One script with its facts. All-zero bytes are none. */
struct tp_script {
    struct tp_py_tokens tokens;
    struct tp_py_tree tree;
    struct tp_arena arena;   /* of dotted paths                           */
    struct tp_names imports; /* by name: its dotted path                  */
    struct tp_names objects; /* by name, self.x too: tags                 */
    bool has_update, has_unscale; /* of a GradScaler                      */
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

/* Whether an expression is torch.float16 or torch.bfloat16; `wide`: whether
 * torch.float32 or torch.float64. */
bool tp_script_is_half(const struct tp_script *script, uint32_t node,
                       bool wide);

#endif
