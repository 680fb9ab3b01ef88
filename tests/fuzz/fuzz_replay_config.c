/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "fuzz.h"
#include "replay/replay_config.h"

/*
 * A config.json. Whatever it is: what cannot be is refused with a sentence, and
 * what is not refused wants at least one mode, and of preheat all or nothing.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_guard guard = fuzz_guard_copy(data, size);
    struct tp_replay_config config = {.pert_mode = NULL};
    struct tp_error err = {0};
    struct tp_replay_asked asked = {.fix = false};
    bool any = false;
    enum tp_status status =
        tp_replay_config_parse((const char *)guard.data, size, &config, &err);
    if (status == TP_OK)
        status = tp_replay_config_check(&config, &asked, &err);
    fuzz_need(status == TP_OK || (status == TP_E_USAGE && *err.message),
              "what cannot be is told");
    for (int i = 0; i < TP_PERTURB_MODES && status == TP_OK; i++)
        any |= asked.wish.modes[i];
    fuzz_need(status != TP_OK || any, "a mode is wanted");
    fuzz_need(status != TP_OK ||
                  (asked.preheat_step > 0) == (asked.max_sample > 0),
              "preheat has steps and samples");
    tp_replay_config_clear(&config);
    fuzz_guard_free(&guard);
    return 0;
}
