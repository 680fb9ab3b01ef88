/* SPDX-License-Identifier: MIT */
#ifndef TP_FORMATS_SAVED_PLACE_H
#define TP_FORMATS_SAVED_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which step and rank a checkpoint is of, by the names of its file and its
 * directories: layouts of Megatron-LM, DeepSpeed, transformers, Lightning,
 * torch.distributed.checkpoint and others, one row each.
 */

/* The numbers that names give; -1: not said. */
enum tp_place_number {
    TP_PLACE_STEP,
    TP_PLACE_EPOCH,    /* stands for a step where nothing says that       */
    TP_PLACE_RANK,     /* of all processes                                */
    TP_PLACE_TENSOR,   /* rank among those that share a layer's tensors   */
    TP_PLACE_PIPELINE, /* among those that share the layers               */
    TP_PLACE_EXPERT,   /* among those that share the experts              */
    TP_PLACE_DATA,     /* among those that share the optimizer's state    */
    TP_PLACE_NUMBERS
};

struct tp_saved_place {
    int64_t number[TP_PLACE_NUMBERS];
};

/*
 * One row. `pattern` is all of a name without its extension: lower-case
 * letters and signs stand for themselves, in either case, '*' for any text and
 * a capital letter for digits: S step, E epoch, R rank, T P X D ranks of
 * tensors, pipeline, experts and data, N a number that is none of these. With a
 * slash it is of a file and the directory it is in.
 */
struct tp_place_pattern {
    const char *pattern;
    bool directory, file; /* where it is looked for                         */
    bool part;            /* it says a rank of tensors, pipeline, ...       */
    const char *help;
};

/* The rows; of each number, the first that matches a name holds. Ended by
 * pattern NULL. */
extern const struct tp_place_pattern tp_place_patterns[];

/* All that the name of a file and its last three directories say, the nearest
 * first; without `file`, the directories. *stem: the bytes of the file's name
 * before what matched, without its extension where nothing did. */
void tp_saved_place_of(const char *path, bool file,
                       struct tp_saved_place *place, size_t *stem);

/* The same in two parts: what the name of the file says, and what its last
 * three directories do, which files of one directory share; the second is added
 * to the first. */
void tp_saved_place_of_name(const char *path, struct tp_saved_place *place,
                            size_t *stem);
void tp_saved_place_of_folders(const char *path, struct tp_saved_place *place);

/* Adds what is not said yet. Ranks are one thing: who is told by those of
 * tensors and pipeline has no other. */
void tp_saved_place_add(struct tp_saved_place *place,
                        const struct tp_saved_place *found);

/* Whether a rank of tensors, pipeline, experts or data is said; and, without
 * going through a name, whether that of a file may say one: false, it does not.
 */
bool tp_saved_names_part(const struct tp_saved_place *place);
bool tp_saved_may_name_part(const char *path);

/* The bytes of the last component of a path without an extension of a file of
 * tensors. */
size_t tp_saved_stem(const char *name);

/* Rank, or of several ranks of parts the one there is; -1: none, or several
 * (tensors/rank_grid.h numbers those). */
int64_t tp_saved_rank(const struct tp_saved_place *place);

#endif
