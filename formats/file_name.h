/* SPDX-License-Identifier: MIT */
#ifndef TP_FORMATS_FILE_NAME_H
#define TP_FORMATS_FILE_NAME_H

#include "base/memory.h"
#include "data/label.h"

/*
 * What a path says about a tensor, by weight. The name of a file, words
 * joined by '_' (every part in brackets may be missing):
 *
 *     [YYYYmmdd_HHMMSS][_COUNTER][_iterN]_LAYERTYPE[_LN]_OPERATION
 *         [_PHASE_COMPONENT][_QUANT][_rankN][_sampleN][_groupN][_NAME].pt
 *
 * LN may come before LAYERTYPE; LAYERTYPE, COMPONENT, QUANT and NAME may hold
 * underscores of their own. Two relatives name their files otherwise:
 *
 *     rank_N/MODULE_TENSOR_iter_N.pt      debug dumps of an FP8 library
 *     MODULE.TENSOR.stepN.rankN.pt        tensor inspectors
 *
 * There MODULE becomes the layer type, without its first number, which
 * becomes the layer. So does the path of a module in the names of msprobe
 * (formats/msprobe/msprobe_name.h); there an API is a layer type, its TYPE or
 * the module's class the component, the number of the call the group, and
 * input and output are the phases pre and post.
 */
struct tp_file_name {
    struct tp_label claims; /* what follows from one of these conventions   */
    struct tp_label hints;  /* what directories, single words of a free name
                               or its stem suggest                          */
    int64_t epoch;          /* a step where nothing says one; -1: not said  */
};

/*
 * Parses the last component of `path`, and its last three directories, the
 * nearest first: steps and ranks as in formats/saved_place.h, "rank" alone (0),
 * or a quantisation type. A file that follows no convention gets its stem as
 * tensor_name, without its step and rank, among the hints. Texts are owned by
 * `arena`. Fails only with TP_E_MEMORY. Any thread.
 */
enum tp_status tp_file_name_parse(const char *path, struct tp_arena *arena,
                                  struct tp_file_name *file_name,
                                  struct tp_error *err);

#endif
