/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_SETTINGS_H
#define TP_DATA_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

/* How a training run was set up, as far as somebody says so: a trace by what
 * is in it, its metadata, or a file of metrics beside it. */
enum tp_setting_id {
    TP_SETTING_BATCH_SIZE,
    TP_SETTING_NUM_WORKERS,
    TP_SETTING_PIN_MEMORY,
    TP_SETTING_AMP,
    TP_SETTING_COUNT
};

struct tp_setting_info {
    const char *name; /* of the setting, in the metrics of a run too       */
    bool flag;        /* true or false; else an integer                    */
    int64_t least;    /* of an integer                                     */
};

/* The rows, [enum tp_setting_id]. */
extern const struct tp_setting_info tp_setting_table[TP_SETTING_COUNT];

/* All-zero bytes: not known. */
struct tp_setting {
    bool known;
    int64_t value;
    const char *source; /* who says so; NULL: the file it stands in        */
};

#endif
