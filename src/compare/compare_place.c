/* SPDX-License-Identifier: MIT */
#include "compare/compare_place.h"

#include <stdlib.h>

#include "base/search.h"

/* Whether all places have the same step. */
static bool is_one_step(const struct tp_dump *dump)
{
    bool one = dump->place_count > 0;
    for (size_t i = 1; i < dump->place_count && one; i++)
        one = dump->places[i].step == dump->places[0].step;
    return one;
}

/* Places of one step. */
struct range {
    size_t first, end;
};

/* Places are sorted by step; `all`: whatever their steps. */
static struct range of_step(const struct tp_dump *dump, int64_t step, bool all)
{
    struct range range = {0, dump->place_count};
    if (all)
        return range;
    TP_PARTITION_POINT(range.first, dump->place_count,
                       dump->places[range.first].step < step);
    TP_PARTITION_POINT(range.end, dump->place_count,
                       dump->places[range.end].step <= step);
    return range;
}

/* The place of B that belongs to one of A; TP_NO_PLACE: none that is free. */
#define TP_NO_PLACE ((size_t)-1)
static size_t partner_of(const struct tp_dump *a, size_t of_a,
                         const struct tp_dump *b, bool any_step,
                         const bool *taken)
{
    const struct tp_dump_place *place = &a->places[of_a];
    const struct range in_a = of_step(a, place->step, any_step);
    const struct range in_b = of_step(b, place->step, any_step);
    const bool single =
        in_a.end - in_a.first == 1 && in_b.end - in_b.first == 1;
    for (size_t i = in_b.first; i < in_b.end; i++)
        if (!taken[i] && (single || b->places[i].rank == place->rank))
            return i;
    return TP_NO_PLACE;
}

/* Notes the places of a side that have no partner. */
static void note_alone(const struct tp_dump *dump, const char *side,
                       const bool *taken, struct tp_arena *arena,
                       struct tp_notes *notes)
{
    struct tp_text text = {0};
    size_t alone = 0;
    for (size_t i = 0; i < dump->place_count; i++) {
        if (taken[i])
            continue;
        if (alone++ < 4) {
            tp_text_add(&text, "%s", alone > 1 ? "; " : "");
            tp_dump_place_words(&dump->places[i], &text);
        }
    }
    if (alone > 4)
        tp_text_add(&text, "; and %zu more", alone - 4);
    arena->failed |= text.failed;
    if (alone)
        tp_notes_add(notes,
                     tp_arena_format(arena, "only in %s, and not compared: %s",
                                     side, tp_text_get(&text)));
    tp_text_clear(&text);
}

static enum tp_status fail_apart(const struct tp_dump *a,
                                 const struct tp_dump *b, struct tp_error *err)
{
    struct tp_text of_a = {0}, of_b = {0};
    tp_dump_place_words(&a->places[0], &of_a);
    tp_dump_place_words(&b->places[0], &of_b);
    tp_fail(err, TP_E_NOT_FOUND, -1,
            "no step and rank is in both: A has %s%s, B has %s%s; name the "
            "directories of the two ranks to compare them all the same",
            tp_text_get(&of_a), a->place_count > 1 ? " and others" : "",
            tp_text_get(&of_b), b->place_count > 1 ? " and others" : "");
    tp_text_clear(&of_a);
    tp_text_clear(&of_b);
    return TP_E_NOT_FOUND;
}

static enum tp_status pair_up(const struct tp_dump *a, const struct tp_dump *b,
                              bool *const taken[2],
                              struct tp_compare_places *places,
                              struct tp_error *err)
{
    const bool any_step = is_one_step(a) && is_one_step(b);
    enum tp_status status = TP_OK;
    places->steps_differ = any_step && a->places[0].step != b->places[0].step;
    for (size_t i = 0; i < a->place_count && status == TP_OK; i++) {
        const size_t k = partner_of(a, i, b, any_step, taken[1]);
        if (k == TP_NO_PLACE)
            continue;
        status = tp_grow(&places->pairs, &places->capacity, places->count + 1,
                         sizeof *places->pairs, err);
        if (status != TP_OK)
            return status;
        taken[0][i] = taken[1][k] = true;
        places->pairs[places->count].a = i;
        places->pairs[places->count++].b = k;
    }
    return status;
}

enum tp_status tp_compare_places(const struct tp_dump *a,
                                 const struct tp_dump *b,
                                 struct tp_arena *arena, struct tp_notes *notes,
                                 struct tp_compare_places *places,
                                 struct tp_error *err)
{
    bool *const taken[2] = {calloc(a->place_count + 1, sizeof(bool)),
                            calloc(b->place_count + 1, sizeof(bool))};
    enum tp_status status = taken[0] && taken[1]
                                ? pair_up(a, b, taken, places, err)
                                : tp_fail_memory(err);
    if (status == TP_OK) {
        note_alone(a, "A", taken[0], arena, notes);
        note_alone(b, "B", taken[1], arena, notes);
        if (places->count == 0)
            status = fail_apart(a, b, err);
    }
    free(taken[0]);
    free(taken[1]);
    return status;
}
