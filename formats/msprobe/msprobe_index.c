/* SPDX-License-Identifier: MIT */
/*
 * Tables of file names and calls, sorted, so that a name is found by bisection.
 * The parent of a call is followed upwards until a module names a layer; each
 * call's answer is found once, when construct.json was read. A hash would find
 * names faster, but reading the two files takes longest anyway. Cost: O(n log
 * n) for n names, 16 bytes and the text each.
 */
#include "formats/msprobe/msprobe_index.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/search.h"
#include "base/text.h"
#include "formats/msprobe/msprobe_dump.h"
#include "formats/msprobe/msprobe_tree.h"

/* Modules above a call; a file that makes a circle ends here. */
enum { PARENTS_MAX = 256 };

/* A call and its parent, while construct.json is read. */
struct link {
    const char *call, *parent;
};

struct links {
    struct tp_arena *arena;
    struct link *links;
    size_t count, capacity;
};

void tp_msprobe_index_clear(struct tp_msprobe_index *index)
{
    free(index->files.keys);
    free(index->layers.keys);
    tp_arena_clear(&index->arena);
    memset(index, 0, sizeof *index);
}

static int compare_keys(const void *left, const void *right)
{
    const struct tp_msprobe_key *a = left, *b = right;
    return strcmp(a->text, b->text);
}

static void sort_keys(struct tp_msprobe_keys *keys)
{
    if (keys->count)
        qsort(keys->keys, keys->count, sizeof *keys->keys, compare_keys);
}

static int64_t find_key(const struct tp_msprobe_keys *keys, const char *text)
{
    size_t i;
    TP_PARTITION_POINT(i, keys->count, strcmp(keys->keys[i].text, text) < 0);
    return i < keys->count && strcmp(keys->keys[i].text, text) == 0
               ? keys->keys[i].number
               : -1;
}

static enum tp_status add_key(struct tp_msprobe_keys *keys, const char *text,
                              int64_t number, struct tp_error *err)
{
    if (!text)
        return tp_fail_memory(err);
    enum tp_status status = tp_grow(&keys->keys, &keys->capacity,
                                    keys->count + 1, sizeof *keys->keys, err);
    if (status == TP_OK)
        keys->keys[keys->count++] = (struct tp_msprobe_key){text, number};
    return status;
}

/* --- dump.json ----------------------------------------------- */

static enum tp_status add_call(void *context,
                               const struct tp_msprobe_call *call,
                               struct tp_error *err)
{
    struct tp_msprobe_index *index = context;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < call->items.count && status == TP_OK; i++) {
        const struct tp_json *value = call->items.items[i].value;
        const char *name = tp_json_text(value, "data_name", NULL);
        if (name)
            status = add_key(&index->files,
                             tp_arena_text(&index->arena, name, strlen(name)),
                             (int64_t)index->files.count, err);
    }
    return status;
}

/* --- construct.json ----------------------------------------------- */

static int compare_links(const void *left, const void *right)
{
    const struct link *a = left, *b = right;
    return strcmp(a->call, b->call);
}

static enum tp_status add_link(void *context, const char *call,
                               const char *parent, int64_t micro_step,
                               struct tp_error *err)
{
    struct links *links = context;
    (void)micro_step;
    struct link link = {tp_arena_text(links->arena, call, strlen(call)),
                        tp_arena_text(links->arena, parent, strlen(parent))};
    if (!link.call || !link.parent)
        return tp_fail_memory(err);
    enum tp_status status =
        tp_grow(&links->links, &links->capacity, links->count + 1,
                sizeof *links->links, err);
    if (status == TP_OK)
        links->links[links->count++] = link;
    return status;
}

static const char *parent_of(const struct links *links, const char *call)
{
    size_t i;
    TP_PARTITION_POINT(i, links->count, strcmp(links->links[i].call, call) < 0);
    return i < links->count && strcmp(links->links[i].call, call) == 0
               ? links->links[i].parent
               : "";
}

static int64_t layer_of(const struct links *links, const char *call)
{
    struct tp_msprobe_name name;
    for (int i = 0; i < PARENTS_MAX && *call; i++) {
        if (tp_msprobe_name_parse(call, strlen(call), &name) &&
            tp_msprobe_layer(&name) >= 0)
            return tp_msprobe_layer(&name);
        call = parent_of(links, call);
    }
    return -1;
}

static enum tp_status list_layers(struct tp_msprobe_index *index,
                                  struct links *links, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    if (links->count)
        qsort(links->links, links->count, sizeof *links->links, compare_links);
    for (size_t i = 0; i < links->count && status == TP_OK; i++) {
        int64_t layer = layer_of(links, links->links[i].call);
        if (layer >= 0)
            status = add_key(&index->layers, links->links[i].call, layer, err);
    }
    return status;
}

/* The path of a file of the directory. */
static const char *path_of(struct tp_msprobe_index *index,
                           const char *directory, const char *name)
{
    struct tp_text text = {0};
    tp_text_add(&text, "%s/%s", directory, name);
    const char *path =
        text.failed ? NULL
                    : tp_arena_text(&index->arena, text.data, text.length);
    tp_text_clear(&text);
    return path;
}

static enum tp_status read_construct(const char *path,
                                     struct tp_msprobe_index *index,
                                     struct tp_error *err)
{
    struct links links = {.arena = &index->arena};
    const struct tp_msprobe_tree_sink sink = {&links, add_link};
    enum tp_status status = tp_msprobe_read_tree(path, &sink, err);
    if (status == TP_OK || status == TP_E_DAMAGED) {
        enum tp_status listed =
            list_layers(index, &links, status == TP_OK ? err : NULL);
        status = listed == TP_OK ? status : listed;
    }
    free(links.links);
    return status;
}

enum tp_status tp_msprobe_index_read(const char *directory,
                                     struct tp_msprobe_index *index,
                                     struct tp_error *err)
{
    const char *dump = path_of(index, directory, "dump.json");
    const char *construct = path_of(index, directory, "construct.json");
    if (!dump || !construct)
        return tp_fail_memory(err);
    const struct tp_msprobe_sink sink = {.context = index, .call = add_call};
    enum tp_status status = tp_msprobe_read(dump, &sink, err), other = TP_OK;
    if (access(construct, R_OK) == 0)
        other = read_construct(construct, index, status ? NULL : err);
    sort_keys(&index->files);
    sort_keys(&index->layers);
    return status == TP_OK ? other : status;
}

int64_t tp_msprobe_index_order(const struct tp_msprobe_index *index,
                               const char *file_name)
{
    return find_key(&index->files, file_name);
}

int64_t tp_msprobe_index_layer(const struct tp_msprobe_index *index,
                               const char *file_name)
{
    struct tp_msprobe_name name;
    struct tp_text call = {0};
    if (!tp_msprobe_name_parse(file_name, strlen(file_name), &name))
        return -1;
    tp_text_bytes(&call, name.call.at, name.call.length);
    int64_t layer = find_key(&index->layers, tp_text_get(&call));
    tp_text_clear(&call);
    return layer;
}
