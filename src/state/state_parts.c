/* SPDX-License-Identifier: MIT */
/* How parts lie in a file is state_image.c's. */
#include "state/state_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

const char *tp_state_part_name(int part)
{
    static const char *const names[TP_STATE_PARTS] = {
        [TP_STATE_WORDS] = "words",     [TP_STATE_NAMES] = "names",
        [TP_STATE_FILES] = "files",     [TP_STATE_TIES] = "ties",
        [TP_STATE_ROWS] = "rows",       [TP_STATE_SKIPPED] = "skipped",
        [TP_STATE_NUMBERS] = "numbers", [TP_STATE_AXES] = "axes",
        [TP_STATE_MEMO] = "memo",       [TP_STATE_PROBLEMS] = "problems",
        [TP_STATE_RESULTS] = "results", [TP_STATE_OPTIONS] = "options",
        [TP_STATE_ROOTS] = "roots"};
    return names[part];
}

size_t tp_state_part_unit(int part)
{
    enum { WORD = 8 };
    const struct tp_state_members *members = tp_state_members_of(part);
    if (members)
        return members->count * WORD;
    return part == TP_STATE_TIES || part == TP_STATE_PROBLEMS ? WORD : 1;
}

void tp_state_image_clear(struct tp_state_image *image)
{
    for (int i = 0; i < TP_STATE_PARTS; i++) {
        if (image->parts[i].capacity)
            free(image->parts[i].data);
    }
    free(image->deflated.data);
    memset(image, 0, sizeof *image);
}

void tp_state_image_reuse(struct tp_state_image *image)
{
    for (int i = 0; i < TP_STATE_PARTS; i++) {
        struct tp_state_bytes *part = &image->parts[i];
        part->size = 0;
        if (part->capacity == 0)
            part->data = NULL;
    }
    image->whole = image->traces = false;
}

size_t tp_state_room(size_t size)
{
    return (size + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
}

enum tp_status tp_state_bytes_add(struct tp_state_bytes *part,
                                  const void *bytes, size_t size, uint64_t *at,
                                  struct tp_error *err)
{
    const size_t room = tp_state_room(size);
    if (tp_grow(&part->data, &part->capacity, part->size + room, 1, err) !=
        TP_OK)
        return TP_E_MEMORY;
    if (size)
        memcpy(part->data + part->size, bytes, size);
    if (room > size)
        memset(part->data + part->size + size, 0, room - size);
    if (at)
        *at = part->size;
    part->size += room;
    return TP_OK;
}

enum tp_status tp_state_part_turn(struct tp_state_image *image, int part,
                                  struct tp_error *err)
{
    struct tp_state_bytes *bytes = &image->parts[part];
    const size_t members = tp_state_members_of(part)->count;
    const size_t count = bytes->size / sizeof(uint64_t) / members;
    struct tp_state_bytes turned = {.size = 0};
    if (count == 0)
        return TP_OK;
    if (tp_state_bytes_room(&turned, bytes->size, err) != TP_OK)
        return TP_E_MEMORY;
    const unsigned char *from = bytes->data;
    for (size_t i = 0; i < count; i++) {
        for (size_t m = 0; m < members; m++, from += sizeof(uint64_t))
            memcpy(turned.data + (m * count + i) * sizeof(uint64_t), from,
                   sizeof(uint64_t));
    }
    if (bytes->capacity)
        free(bytes->data);
    *bytes = turned;
    return TP_OK;
}

enum tp_status tp_state_bytes_room(struct tp_state_bytes *bytes, size_t size,
                                   struct tp_error *err)
{
    if (bytes->capacity < size + 1) {
        if (bytes->capacity)
            free(bytes->data);
        bytes->data = malloc(size + 1);
        bytes->capacity = bytes->data ? size + 1 : 0;
    }
    bytes->size = bytes->data ? size : 0;
    return bytes->data ? TP_OK : tp_fail_memory(err);
}

/* What rows point to stays where it is read. */
enum tp_status tp_state_part_make(struct tp_state_image *image, int part,
                                  size_t size, struct tp_arena *arena,
                                  struct tp_error *err)
{
    struct tp_state_bytes *bytes = &image->parts[part];
    if (part != TP_STATE_NUMBERS && part != TP_STATE_AXES &&
        part != TP_STATE_NAMES)
        return tp_state_bytes_room(bytes, size, err);
    *bytes = (struct tp_state_bytes){.data = tp_arena_alloc(arena, size),
                                     .size = size};
    return bytes->data ? TP_OK : tp_fail_memory(err);
}
