/* SPDX-License-Identifier: MIT */
/*
 * What number formats cost, as text: a table of SQNR by name and format with
 * the format recommended, and one line for each place. The first column is as
 * wide as the longest name that is shown, measured beforehand; a fixed width
 * would cut names or push the columns of most lines. Columns are the plain
 * casts that every tensor has, up to twelve, and lines say how many are left
 * out. Groups of a place lie next to each other, so a cell is found by going
 * through the place's groups; each line goes through all recommendations.
 */
#include "report/report_quant.h"

#include <math.h>
#include <string.h>

#include "base/text_wrap.h"

enum {
    COLUMNS_MAX = 12,
    NAME_LEAST = 18, /* the table's heading fits above */
    NAME_MOST = 60   /* longer names push their line   */
};

/* The layout of a table. */
struct layout {
    size_t columns[COLUMNS_MAX]; /* casts                            */
    size_t count;
    size_t left_out;             /* casts that would be columns, too */
    size_t name_width;
};

/* The columns are plain casts that every tensor has. */
static void choose_columns(const struct tp_quant_plan *plan,
                           struct layout *layout)
{
    for (size_t i = 0; i < plan->scaled; i++) {
        if (!plan->casts[i].listed)
            continue;
        if (layout->count < COLUMNS_MAX)
            layout->columns[layout->count++] = i;
        else
            layout->left_out++;
    }
}

/* Makes room for the names of the first `most` places, 0: all, in a table of
 * `text`. */
static void measure_names(const struct tp_quant *quant,
                          enum tp_quant_grouping grouping, size_t most,
                          struct layout *layout, struct tp_text *text)
{
    struct tp_text words = {0};
    size_t lines = 0;
    layout->name_width = NAME_LEAST;
    for (size_t i = 0; i < quant->recommendation_count; i++) {
        const struct tp_quant_place *place = &quant->recommendations[i].place;
        if (place->grouping != grouping || (most && lines++ >= most))
            continue;
        tp_text_clear(&words);
        tp_quant_place_words(place, &words);
        size_t width = words.length < NAME_MOST ? words.length : NAME_MOST;
        if (width > layout->name_width)
            layout->name_width = width;
        text->failed |= words.failed;
    }
    tp_text_clear(&words);
}

static void add_sqnr(const struct tp_cast_group *group, struct tp_text *text)
{
    double sqnr = group ? group->metrics.sqnr_db : NAN;
    const char *lost = group && group->nonfinite_out ? "*" : " ";
    if (isnan(sqnr))
        tp_text_add(text, " %11s", "- ");
    else if (isinf(sqnr))
        tp_text_add(text, " %10s%s", "exact", lost);
    else
        tp_text_add(text, " %10.1f%s", sqnr, lost);
}

static const struct tp_cast_group *find_group(const struct tp_quant *quant,
                                               size_t first, size_t cast)
{
    const struct tp_quant_place *place = &quant->groups[first].place;
    for (size_t i = first; i < quant->group_count; i++) {
        const struct tp_cast_group *group = &quant->groups[i];
        if (!tp_quant_same_place(&group->place, place))
            return NULL;
        if (group->cast == cast)
            return group;
    }
    return NULL;
}

static void add_place(const struct tp_quant_place *place,
                      const struct layout *layout, struct tp_text *text)
{
    struct tp_text words = {0};
    tp_quant_place_words(place, &words);
    tp_text_add(text, "  %-*s", (int)layout->name_width, tp_text_get(&words));
    text->failed |= words.failed;
    tp_text_clear(&words);
}

/* One name: its first group is groups[first]. */
static void add_line(const struct tp_quant *quant, size_t first,
                     const struct layout *layout, struct tp_text *text)
{
    const struct tp_quant_place *place = &quant->groups[first].place;
    add_place(place, layout, text);
    for (size_t i = 0; i < layout->count; i++)
        add_sqnr(find_group(quant, first, layout->columns[i]), text);
    for (size_t i = 0; i < quant->recommendation_count; i++) {
        const struct tp_recommendation *its = &quant->recommendations[i];
        if (tp_quant_same_place(&its->place, place))
            tp_text_add(text, "  %s", its->advice);
    }
    tp_text_add(text, "\n");
}

static void add_names(const struct tp_quant *quant, size_t most,
                      struct tp_text *text)
{
    struct layout layout = {.count = 0};
    size_t lines = 0;
    const struct tp_quant_place *last = NULL;
    choose_columns(&quant->run->plan, &layout);
    if (layout.count == 0)
        return;
    measure_names(quant, TP_QUANT_BY_NAME, most, &layout, text);
    tp_text_add(text, "\n%-*s", (int)layout.name_width + 2,
                "SQNR by format [dB]");
    for (size_t i = 0; i < layout.count; i++)
        tp_text_add(text, " %10s ",
                    quant->run->plan.casts[layout.columns[i]].format);
    tp_text_add(text, " recommended\n");
    for (size_t i = 0; i < quant->group_count; i++) {
        const struct tp_quant_place *place = &quant->groups[i].place;
        if (place->grouping != TP_QUANT_BY_NAME ||
            (last && tp_quant_same_place(last, place)))
            continue;
        last = place;
        if (!most || lines < most)
            add_line(quant, i, &layout, text);
        lines++;
    }
    if (most && lines > most)
        tp_text_add(text, "  ... and %zu more in /quantization_groups\n",
                    lines - most);
    if (layout.left_out)
        tp_text_add(text,
                    "  ... and %zu more format%s in /quantization_groups\n",
                    layout.left_out, layout.left_out == 1 ? "" : "s");
    size_t from = text->length;
    tp_text_add(text,
                "  * some finite elements become infinite or NaN, and are "
                "left out\n  recommended: the narrowest format with at least "
                "%g dB in each tensor and at most %g %% underflow; "
                "scaled: with a power "
                "of two per tensor\n",
                quant->run->plan.min_sqnr,
                100 * quant->run->plan.max_underflow);
    tp_text_wrap(text, from, 4, NULL);
}

static void add_places(const struct tp_quant *quant, size_t most,
                       struct tp_text *text)
{
    struct layout layout = {.count = 0};
    size_t lines = 0;
    measure_names(quant, TP_QUANT_BY_PLACE, most, &layout, text);
    tp_text_add(text, "\nRecommended for each place\n");
    for (size_t i = 0; i < quant->recommendation_count; i++) {
        const struct tp_recommendation *its = &quant->recommendations[i];
        if (its->place.grouping != TP_QUANT_BY_PLACE ||
            (lines++ >= most && most))
            continue;
        add_place(&its->place, &layout, text);
        tp_text_add(text, " %-18s %s\n", its->advice, its->reason);
    }
    if (most && lines > most)
        tp_text_add(text, "  ... and %zu more in /recommendations\n",
                    lines - most);
}

void tp_report_quant(const struct tp_quant *quant, size_t most, bool places,
                     struct tp_text *text)
{
    if (quant->group_count == 0)
        return;
    add_names(quant, most, text);
    if (places)
        add_places(quant, most, text);
}
