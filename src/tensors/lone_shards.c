/* SPDX-License-Identifier: MIT */
#include "tensors/lone_shards.h"

#include <string.h>
#include <unistd.h>

static bool is_shard(const char *path)
{
    static const char tail[] = ".distcp";
    const size_t length = strlen(path), end = strlen(tail);
    return length > end && strcmp(path + length - end, tail) == 0;
}

/* Whether a file of the folder in which `path` lies is there. */
static bool has_beside(const char *path, const char *name, size_t length)
{
    struct tp_text beside = {0};
    tp_text_bytes(&beside, path, (size_t)(tp_file_base_name(path) - path));
    tp_text_add(&beside, "%.*s.metadata", (int)length, name);
    const bool there =
        !beside.failed && access(tp_text_get(&beside), F_OK) == 0;
    tp_text_add(&beside, ".tmp"); /* of a save that says so itself */
    const bool begun =
        !beside.failed && access(tp_text_get(&beside), F_OK) == 0;
    tp_text_clear(&beside);
    return there || begun;
}

/* Of "__3_0.distcp" the rank's metadata is "__3.metadata". */
static bool is_described(const char *path)
{
    const char *name = tp_file_base_name(path);
    const size_t rank = strspn(name, "_");
    return has_beside(path, "", 0) ||
           has_beside(path, name, rank + strspn(name + rank, "0123456789"));
}

bool tp_lone_shards_has(const char *path)
{
    return is_shard(path) && !is_described(path);
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
