/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_H
#define TP_DUMP_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/intern.h"
#include "base/memory.h"
#include "base/notes.h"
#include "base/text.h"
#include "base/text_index.h"
#include "data/dtype.h"
#include "formats/json/json_value.h"
#include "formats/msprobe/msprobe_dump.h"

/*
 * A dump of msprobe, as its json files tell it: places (a step of a rank), each
 * with its calls in the order in which they ended, each with its items
 * (arguments, keywords, parameters, results). No tensor is read for it. Texts
 * are the dump's and never NULL unless it is said.
 */

/* A number as the json has it. */
struct tp_dump_number {
    enum tp_json_kind kind; /* NULL: not there; BOOL, INTEGER, REAL        */
    int64_t integer;        /* of a bool, too: 0 or 1                      */
    double real;            /* of all; NaN where there is none             */
};

/* The statistics that msprobe keeps of a tensor. */
enum tp_dump_stat {
    TP_DUMP_MAX,
    TP_DUMP_MIN,
    TP_DUMP_MEAN,
    TP_DUMP_NORM, /* L2; of a 0-d tensor its value, with its sign          */
    TP_DUMP_STATS
};

enum tp_dump_kind {
    TP_DUMP_NOTHING, /* null, or {}: something msprobe does not record      */
    TP_DUMP_TENSOR,
    TP_DUMP_VALUE /* int, float, bool, str, slice, torch.Size, ...         */
};

/* An argument, keyword, parameter or result of a call. */
struct tp_dump_item {
    enum tp_dump_kind kind;
    enum tp_msprobe_place place;
    const char *argument; /* "0", "0.1", "mask", "weight"; "" a variable   */
    const char *type;     /* "torch.Tensor", "int"; "": null, {}           */
    bool empty;           /* {}: msprobe's comparison has no row for it    */
    /* of tensors; in this order, as a dump has millions of them */
    bool has_shape;
    bool has_crc;    /* by dump_print.h: of its elements in the file */
    bool unfinished; /* placeholders stand where statistics should   */
    uint32_t crc;
    const char *dtype;     /* as written, "torch.float32"; "" not said     */
    enum tp_dtype element; /* TP_DTYPE_COUNT: none of ours                 */
    int dims;
    const int64_t *shape; /* [dims]                                       */
    struct tp_dump_number stats[TP_DUMP_STATS];
    int requires_grad;     /* 0, 1; -1: not said                           */
    const char *md5;       /* CRC32 as 8 hex digits, or "0x" xor; "": none.
                              Of a 0-d tensor, where others have an xor, its
                              value as Python writes it                    */
    const char *data_name; /* file in dump_tensor_data; "": none           */
    struct tp_found *file; /* that has it, the dump's; NULL: none is there */
    size_t tensor;         /* which of the file's tensors                  */
    const char *p2p;  /* of a torch.distributed.P2POp: "isend"; "": of none */
    int64_t peer;     /* its rank; -1: not said                             */
    /* of values; NULL: not said */
    const struct tp_json *value; /* its member "value"; of a group of
                                    processes "group_ranks"                */
};

/* Where a call was made: lines, innermost first. */
struct tp_dump_stack {
    const char *const *lines;
    size_t count;
};

struct tp_dump_call {
    const char *key;
    bool known;                  /* the name follows the grammar           */
    struct tp_msprobe_name name; /* points into key                        */
    int64_t offset;      /* of the entry in its file; -1: found by its files */
    bool variable_file;  /* that file is debug.json                         */
    bool recompute;      /* said to be run again for the backward pass      */
    bool incomplete;     /* more was given to it than its items             */
    size_t first, count; /* its items                        */
    const struct tp_dump_stack *stack; /* NULL: not known                  */
};

/* A node of construct.json. */
struct tp_dump_node {
    const char *name;
    const char *parent; /* "" at the top                                   */
};

/* The files that a place may have. */
enum tp_dump_json {
    TP_DUMP_JSON, /* dump.json */
    TP_DUMP_DEBUG,
    TP_DUMP_STACK,
    TP_DUMP_CONSTRUCT,
    TP_DUMP_JSONS
};

/* "dump.json", ... */
extern const char *const tp_dump_json_names[TP_DUMP_JSONS];

struct tp_dump_place;

/* The name of a place's file: that, or of its log. */
const char *tp_dump_source_name(const struct tp_dump_place *place,
                                enum tp_dump_json json);

/* How reading one of them went. */
struct tp_dump_source {
    struct tp_found *file; /* the dump's; NULL: it is not there            */
    enum tp_status status; /* TP_E_DAMAGED: what came before it was read   */
    int64_t offset;        /* of what was wrong; -1                        */
    const char *problem;   /* a sentence; "": read                         */
};

/* A file of dump_tensor_data. */
struct tp_dump_file {
    const char *name;
    struct tp_found *found; /* the dump's                                  */
    bool used;              /* an item names it                            */
};

/* What a rank saved in a step. */
struct tp_dump_place {
    const char *directory;
    const char *log;    /* of torchtitan, in the directory, which is read in
                           place of dump.json; NULL: a dump of msprobe     */
    int64_t step, rank; /* -1: not known                                   */
    int64_t process;    /* of procPID; -1: another name                    */
    struct tp_dump_source sources[TP_DUMP_JSONS];
    const char *heads[TP_MSPROBE_HEADS]; /* what dump.json says of itself  */
    struct tp_dump_call *calls;
    size_t call_count, call_capacity;
    struct tp_text_index by_key; /* of calls, of several the last          */
    struct tp_dump_item *items;
    size_t item_count, item_capacity;
    struct tp_dump_node *nodes; /* sorted by name                          */
    size_t node_count, node_capacity;
    struct tp_dump_file *files; /* sorted by name                          */
    size_t file_count;
    size_t recovered; /* calls, the last ones, that only files tell of     */
    struct tp_arena arena; /* owns its texts                               */
};

struct tp_dump {
    struct tp_arena arena;        /* owns texts                              */
    struct tp_found_list found;   /* owns paths, and what is wrong with files */
    struct tp_dump_place *places; /* by step, rank, directory              */
    size_t place_count, place_capacity;
    size_t unwanted; /* places of steps and ranks that were not asked for  */
    struct tp_notes notes;
};

/* Releases everything; it is empty afterwards. */
void tp_dump_clear(struct tp_dump *dump);

/* Whether a text of it was lost for want of memory. */
bool tp_dump_lost(const struct tp_dump *dump);

/* Makes a place of which nothing is known. */
void tp_dump_place_init(struct tp_dump_place *place);

/* An item of which nothing is known. */
extern const struct tp_dump_item tp_dump_item_none;

/* Appends an item of which nothing is known. */
enum tp_status tp_dump_item_add(struct tp_dump_place *place,
                                struct tp_dump_item **item,
                                struct tp_error *err);

/* Appends a call without items; its key is copied. */
enum tp_status tp_dump_call_add(struct tp_dump_place *place, const char *key,
                                struct tp_dump_call **call,
                                struct tp_error *err);

/* Indexes the calls for tp_dump_call_of; after the last was added. */
enum tp_status tp_dump_calls_index(struct tp_dump_place *place,
                                   struct tp_error *err);

/* The call of this name, the last of several; NULL: there is none. */
struct tp_dump_call *tp_dump_call_of(const struct tp_dump_place *place,
                                     const char *key);

/* The file of this name; NULL: it is not there. */
struct tp_dump_file *tp_dump_file_of(const struct tp_dump_place *place,
                                     const char *name);

/* The node of this name; NULL: construct.json has none. */
const struct tp_dump_node *tp_dump_node_of(const struct tp_dump_place *place,
                                           const char *name);

/*
 * Adds the name of an item as msprobe's tables have it: CALL.input.0,
 * CALL.parameters.weight; `keywords` is the word for those: "kwargs" as in
 * names of files, "input" as in comparisons.
 */
void tp_dump_item_name(const struct tp_dump_call *call,
                       const struct tp_dump_item *item, const char *keywords,
                       struct tp_text *text);

/* Adds "step 0, rank 1" as far as it is known; else the directory. */
void tp_dump_place_words(const struct tp_dump_place *place,
                         struct tp_text *text);

#endif
