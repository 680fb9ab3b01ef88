/* SPDX-License-Identifier: MIT */
/*
 * Tables of file names and calls, sorted, so that a name is found by bisection.
 * The parent of a call is followed upwards until a module names a layer, or one
 * whose layer is known, when construct.json was read. A hash would find
 * names faster, but reading the two files takes longest anyway. Cost: O(n log
 * n) for n names, 16 bytes and the text each.
 */
#include "formats/msprobe/msprobe_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/order.h"
#include "base/search.h"
#include "base/text.h"
#include "formats/msprobe/msprobe_dump.h"
#include "formats/msprobe/msprobe_tree.h"

/* What is known of the layer of a call: nothing yet; it is being looked for,
 * which met again is a circle; all. */
enum known { UNKNOWN, ASKED, KNOWN };

/* A call and its parent, while construct.json is read. */
struct link {
    const char *call, *parent;
    enum known known;
    int64_t layer; /* -1: none */
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
    int result = strcmp(a->text, b->text);
    return result ? result : tp_order_int64(a->number, b->number);
}

static void sort_keys(struct tp_msprobe_keys *keys)
{
    if (keys->count)
        qsort(keys->keys, keys->count, sizeof *keys->keys, compare_keys);
}

/* Compares a key with `length` bytes that have no NUL. */
static int compare_key(const char *key, const char *text, size_t length)
{
    const int result = strncmp(key, text, length);
    return result ? result : key[length] != '\0';
}

static int64_t find_key(const struct tp_msprobe_keys *keys, const char *text,
                        size_t length)
{
    size_t i;
    TP_PARTITION_POINT(i, keys->count,
                       compare_key(keys->keys[i].text, text, length) < 0);
    return i < keys->count &&
                   compare_key(keys->keys[i].text, text, length) == 0
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
                               const char *parent, struct tp_error *err)
{
    struct links *links = context;
    struct link link = {tp_arena_text(links->arena, call, strlen(call)),
                        tp_arena_text(links->arena, parent, strlen(parent)),
                        UNKNOWN, -1};
    if (!link.call || !link.parent)
        return tp_fail_memory(err);
    enum tp_status status =
        tp_grow(&links->links, &links->capacity, links->count + 1,
                sizeof *links->links, err);
    if (status == TP_OK)
        links->links[links->count++] = link;
    return status;
}

static struct link *find_link(const struct links *links, const char *call)
{
    size_t i;
    TP_PARTITION_POINT(i, links->count, strcmp(links->links[i].call, call) < 0);
    return i < links->count && strcmp(links->links[i].call, call) == 0
               ? &links->links[i]
               : NULL;
}

static int64_t own_layer(const char *call)
{
    struct tp_msprobe_name name;
    return tp_msprobe_name_parse(call, strlen(call), &name)
               ? tp_msprobe_layer(&name)
               : -1;
}

/* The layer of a call, and of all calls on the way to it that have none of
 * their own. */
static int64_t layer_of(const struct links *links, struct link *link)
{
    struct link *at = link;
    int64_t layer = own_layer(link->call);
    while (layer < 0 && at && at->known == UNKNOWN) {
        at->known = ASKED;
        layer = own_layer(at->parent);
        if (layer < 0)
            at = find_link(links, at->parent);
    }
    if (layer < 0 && at && at->known == KNOWN)
        layer = at->layer;
    for (at = link; at && at->known == ASKED;
         at = find_link(links, at->parent)) {
        at->known = KNOWN;
        at->layer = layer;
    }
    return layer;
}

static enum tp_status list_layers(struct tp_msprobe_index *index,
                                  struct links *links, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    if (links->count)
        qsort(links->links, links->count, sizeof *links->links, compare_links);
    for (size_t i = 0; i < links->count && status == TP_OK; i++) {
        int64_t layer = layer_of(links, &links->links[i]);
        if (layer >= 0)
            status = add_key(&index->layers, links->links[i].call, layer, err);
    }
    return status;
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
    char *dump = tp_file_join(directory, "dump.json");
    char *construct = tp_file_join(directory, "construct.json");
    const struct tp_msprobe_sink sink = {.context = index, .call = add_call};
    enum tp_status status = dump && construct
                                ? tp_msprobe_read(dump, &sink, err)
                                : tp_fail_memory(err);
    enum tp_status other = TP_OK;
    bool there = true; /* or not known */
    if (construct &&
        (tp_file_look(construct, &there, NULL) != TP_OK || there))
        other = read_construct(construct, index, status ? NULL : err);
    free(dump);
    free(construct);
    sort_keys(&index->files);
    sort_keys(&index->layers);
    return status == TP_OK ? other : status;
}

int64_t tp_msprobe_index_order(const struct tp_msprobe_index *index,
                               const char *file_name)
{
    return find_key(&index->files, file_name, strlen(file_name));
}

int64_t tp_msprobe_index_layer(const struct tp_msprobe_index *index,
                               const char *file_name)
{
    struct tp_msprobe_name name;
    return tp_msprobe_name_parse(file_name, strlen(file_name), &name)
               ? find_key(&index->layers, name.call.at, name.call.length)
               : -1;
}
