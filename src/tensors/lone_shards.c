/* SPDX-License-Identifier: MIT */
#include "tensors/lone_shards.h"

#include <string.h>

static bool is_shard(const char *path)
{
    static const char tail[] = ".distcp";
    const size_t length = strlen(path), end = strlen(tail);
    return length > end && strcmp(path + length - end, tail) == 0;
}

/* Whether a file is there whose path a text has, which is to be whole. One that
 * the system does not look for is not missed. */
static bool is_there(const struct tp_text *path)
{
    bool there = false;
    return !path->failed &&
           (tp_file_look(tp_text_get(path), &there, NULL) != TP_OK || there);
}

/* Sets *there: whether the metadata of a name, or what a save that is not done
 * calls so, are in the folder of a path. */
static enum tp_status find_beside(const char *path, const char *name,
                                  int length, bool *there)
{
    struct tp_text beside = {0};
    tp_text_bytes(&beside, path, (size_t)(tp_file_base_name(path) - path));
    tp_text_add(&beside, "%.*s.metadata", length, name);
    *there = is_there(&beside);
    tp_text_add(&beside, ".tmp"); /* of a save that says so itself */
    *there |= is_there(&beside);
    const bool failed = beside.failed;
    tp_text_clear(&beside);
    return failed ? TP_E_MEMORY : TP_OK;
}

enum tp_status tp_lone_shards_has(const char *path, bool *lone)
{
    bool there = true;
    enum tp_status status = TP_OK;
    if (is_shard(path)) {
        /* of "__3_0.distcp" the rank's metadata is "__3.metadata" */
        const char *name = tp_file_base_name(path);
        size_t rank = strspn(name, "_");
        rank += strspn(name + rank, "0123456789");
        status = find_beside(path, "", 0, &there);
        if (status == TP_OK && !there)
            status = find_beside(path, name, (int)rank, &there);
    }
    *lone = !there;
    return status;
}

size_t tp_lone_shards_next(const struct tp_found_list *files, const bool *lone,
                           size_t *next, struct tp_text *missing)
{
    size_t first = *next;
    while (first < files->count && !is_shard(files->files[first].path))
        first++;
    *next = first;
    if (first == files->count)
        return first;
    const char *path = files->files[first].path;
    const size_t folder = (size_t)(tp_file_base_name(path) - path);
    while (*next < files->count &&
           strncmp(files->files[*next].path, path, folder) == 0 &&
           !strchr(files->files[*next].path + folder, '/'))
        ++*next;
    if (lone[first])
        tp_text_add(missing,
                    "no .metadata beside it, which names the tensors and is "
                    "written last: the save or a copy was not finished; the "
                    "parts in .distcp files stand each for itself, by its "
                    "place in its file");
    return first;
}
