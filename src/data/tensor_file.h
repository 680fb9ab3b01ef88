/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_TENSOR_FILE_H
#define TP_DATA_TENSOR_FILE_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "data/label.h"
#include "data/tensor.h"

/*
 * A file with tensors, as every format fills it in. A format is one row of
 * the table in formats/reader.c: it bids for a file by its first bytes, and
 * the highest bidder opens it. Reading is inert: nothing a file contains is
 * ever called, imported or executed.
 */

/* One thing that was in a file and is not among its tensors. */
struct tp_skip {
    const char *path;       /* place in the payload, "" for the whole file */
    enum tp_status code;    /* TP_E_UNSUPPORTED, TP_E_DAMAGED, ...; TP_OK:
                               left out on purpose, nothing is wrong       */
    const char *reason;     /* one sentence                                */
    int64_t offset;         /* byte in the file, -1 if none                */
    struct tp_skip *next;   /* in payload order                            */
};

/*
 * One thing a payload may say of itself, asked for by name: whoever opens the
 * file sets the names, the format answers those it finds. "NAME" stands in the
 * dict "metadata" of the payload, "meta.NAME" in the dict "meta" that stands
 * beside a "value".
 */
struct tp_metadata {
    const char *name;
    bool top;               /* of the payload itself, not its "metadata"   */
    const char *text;       /* NULL: not there, no text, or longer than
                               TP_LIMIT_LABEL_BYTES                        */
    size_t length;          /* of text, which also ends in NUL             */
    int64_t number;         /* -1: not there, negative or no integer       */
};

enum { TP_METADATA_MAX = 24 };

/* Layers that a file numbers by themselves: keys that begin with the prefix,
 * which ends before the number, are of layers that many later. */
struct tp_layer_shift {
    const char *prefix;
    int64_t by;
};

/* What a unit tells of a file that is read by itself, too. */
struct tp_rank_file {
    const char *name;            /* from the folder of the unit             */
    const struct tp_layer_shift *shifts;
    size_t shift_count;
    const size_t *joined;        /* numbers of tensors, ascending, which the
                                    unit has as parts of its own            */
    size_t joined_count;
};

/*
 * An optimizer in a payload: a dict with "param_groups", which numbers the
 * parameters that its "state" is of.
 */
struct tp_optimizer {
    const char *path;         /* of the dict: "optimizer", "" of the root  */
    size_t count;             /* of the parameters of all groups           */
    int64_t *number;          /* [count] in the order of the groups        */
    uint32_t *group;          /* [count]                                   */
    const char **name;        /* [count] as param_names says; "": nothing  */
    struct tp_optimizer *next;
};

/* An open file: its tensors in payload order, its labels, what was skipped. */
struct tp_tensor_file {
    struct tp_bytes bytes;
    const char *path;            /* as it was opened                       */
    bool parts;                  /* set by who opens it: of tensors that lie
                                    in parts, these are wanted, too        */
    bool bare;                   /* set by who opens it: for its tensors only,
                                    which are named already                */
    struct tp_arena arena;       /* owns everything below                  */
    const struct tp_format *format;
    struct tp_tensor *tensors;   /* [tensor_count]                         */
    size_t tensor_count;
    struct tp_metadata metadata[TP_METADATA_MAX];
    size_t metadata_count;       /* a format that holds several payloads
                                    sets it to 0                           */
    struct tp_optimizer *optimizers; /* in payload order                   */
    const char **parameters;     /* [tensor_count] the name of the parameter
                                    that a state's number is of, or NULL;
                                    NULL: of none                          */
    struct tp_label label;       /* from metadata and file name            */
    bool labelled;               /* these say what a tensor is; else keys do */
    bool flat;                   /* no path has a '.'                      */
    const char *label_conflict;  /* one sentence: where metadata and name
                                    disagree; "" if they do not            */
    const char *saved_as;        /* the stem of the name that the file had
                                    when it was written; "": not known     */
    const char *assumption;      /* one sentence: what the reader had to
                                    assume of all of it or some; ""        */
    struct tp_skip *skips;
    struct tp_skip *last_skip;   /* of tp_tensor_file_skip                 */
    const char *const *members;  /* names of files of the same folder whose
                                    tensors are among these                */
    size_t member_count;
    const struct tp_rank_file *rank_files;
    size_t rank_file_count;
    const struct tp_layer_shift *shifts; /* set by who opened it, for labels */
    size_t shift_count;
    void *state;                 /* the format's own                       */
};

/* Adds a skip, behind those there are, about `path`, which is borrowed. Fails
 * only with TP_E_MEMORY. */
enum tp_status tp_tensor_file_skip(struct tp_tensor_file *file,
                                   const char *path,
                                   const struct tp_error *why,
                                   struct tp_error *err);

/* Whether a format claims a file by its name, whatever its content is. */
enum tp_name_claim {
    TP_NAME_OTHER,  /* no                                                  */
    TP_NAME_FILE,   /* yes                                                 */
    TP_NAME_PATTERN /* yes: "shard-*.safetensors" stands for all files of
                       the folder with such names; there is none of it     */
};

/* A file format: all that is known of it outside its own file. */
struct tp_format {
    const char *name;     /* "torch_zip", ...                              */
    const char *help;     /* one line for `list formats`                   */
    const char *suffixes; /* of names that promise it, joined by ' '       */
    const char *word;     /* what a file that is no such thing is said not
                             to be: "zip"; NULL: not mentioned             */
    bool any_content;     /* its first bytes are no proof of tensors: only
                             a name or the user makes a file count         */
    bool only_tensors;    /* it holds nothing else: one without any is whole */
    bool falls_back;      /* opens files with its suffix for which no format
                             bids, to say what is wrong with them          */
    /* What it makes of the last component of a path; NULL: nothing. */
    enum tp_name_claim (*claims)(const char *name);
    /* How sure the format is that `head` (the file's first `length` bytes,
     * at most TP_FORMAT_HEAD, all of a shorter file) is its own, as bits of
     * evidence; 0: not at all. */
    int (*bid)(const unsigned char *head, size_t length);
    /* Fills in tensors, skips and the metadata asked for. Whatever is
     * allocated lives in file->arena, or in file->state and is released by
     * close. TP_E_NOT_FOUND: it is no such file after all, and the next
     * highest bidder is asked. */
    enum tp_status (*open)(struct tp_tensor_file *file, struct tp_error *err);
    void (*close)(struct tp_tensor_file *file); /* NULL: nothing to do     */
    /* Whether the other files it reads are as they were when opened, as of
     * tp_bytes_unchanged; NULL: it reads none. */
    enum tp_status (*unchanged)(const struct tp_tensor_file *file,
                                struct tp_error *err);
};

enum { TP_FORMAT_HEAD = 64 };

/* Adds a skip behind those there are, with code, message and offset of `why`.
 * `path` lives as long as the file. Fails only with TP_E_MEMORY. */
enum tp_status tp_tensor_file_skip(struct tp_tensor_file *file,
                                   const char *path, const struct tp_error *why,
                                   struct tp_error *err);

#endif
