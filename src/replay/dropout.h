/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_DROPOUT_H
#define TP_REPLAY_DROPOUT_H

#include "replay/replay_call.h"

/* What can be known of a random mask: its elements and its share. */
struct tp_dropout {
    bool judged;    /* false: not a dropout, or its tensors are not there */
    double p;       /* share that is to be zero; 0 outside of training    */
    uint64_t count; /* elements that are not zero before                  */
    uint64_t zeros; /* zero afterwards                                    */
    uint64_t wrong; /* neither zero nor x / (1 - p)                       */
    int64_t at;     /* the first of these, row-major; -1: none            */
    double dumped, computed; /* there                                       */
    double chance; /* at most: of a share as far from p, or farther      */
};

/* Judges a call of dropout(input, p, training). What cannot be read is not
 * judged. TP_E_MEMORY only. */
enum tp_status tp_dropout_judge(const struct tp_dump_place *place,
                                const struct tp_dump_call *call,
                                struct tp_dropout *dropout,
                                struct tp_error *err);

#endif
