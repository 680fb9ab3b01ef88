/* SPDX-License-Identifier: MIT */
#include "dump/dump_reread.h"

#include "formats/reader.h"

enum tp_status tp_dump_reread_open(struct tp_dump_reread *reading,
                                   const struct tp_dump_item *item)
{
    struct tp_tensor_file *file = &reading->file;
    struct tp_error *why = &reading->why;
    reading->item = item;
    reading->tensor = NULL;
    reading->status = TP_OK;
    *why = (struct tp_error){.code = TP_OK};
    if (!item->file)
        return TP_OK;
    reading->status = tp_tensor_file_open_found(item->file, file, why);
    if (reading->status == TP_OK && item->tensor >= file->tensor_count)
        reading->status = tp_fail(why, TP_E_DAMAGED, -1, "it has no tensor %zu",
                                  item->tensor);
    if (reading->status == TP_OK)
        reading->tensor = &file->tensors[item->tensor];
    return reading->status;
}

enum tp_status tp_dump_reread_close(struct tp_dump_reread *reading)
{
    const struct tp_dump_item *item = reading->item;
    if (item && item->file)
        reading->status = tp_tensor_file_end_found(
            item->file, "", &reading->file, reading->status, &reading->why);
    reading->item = NULL;
    reading->tensor = NULL;
    return reading->status;
}

void tp_dump_reread_clear(struct tp_dump_reread *reading)
{
    tp_arena_clear(&reading->file.arena);
}
