/* SPDX-License-Identifier: MIT */
#include "data/settings.h"

const struct tp_setting_info tp_setting_table[TP_SETTING_COUNT] = {
    [TP_SETTING_BATCH_SIZE] = {"batch_size", false, 1},
    [TP_SETTING_NUM_WORKERS] = {"num_workers", false, 0},
    [TP_SETTING_PIN_MEMORY] = {"pin_memory", true, 0},
    [TP_SETTING_AMP] = {"amp", true, 0},
};
