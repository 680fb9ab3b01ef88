/* SPDX-License-Identifier: MIT */
#include "base/reused.h"

#include <stdbool.h>

#include "base/file.h"

void tp_reused_miss(struct tp_reused *reused, const char *path)
{
    bool there;
    const enum tp_status status = tp_file_look(path, &there, NULL);
    const bool gone = status == TP_OK && !there;
    size_t *const count = gone ? &reused->gone : &reused->hidden;
    if ((*count)++ > 0)
        return;
    if (gone)
        reused->first_gone = path;
    else
        reused->first_hidden = path;
}
