/* SPDX-License-Identifier: MIT */
/*
 * Damage planted in tensors is named for what it is, with its numbers: each
 * pattern at several places, in five dtypes, as other values and as NaN, also
 * with exceptions up to the limits, and its twin beyond them, which is not.
 */
#include "damage/damage_shape.h"

#include "tests/unit/support/damaged.h"

/* --- labels --------------------------------------------------------------- */

static const struct tp_label activation = {.layer_type = "linear",
                                           .operation = "forward",
                                           .phase = "post",
                                           .component = "linear",
                                           .quant_type = "",
                                           .tensor_name = "output",
                                           .timestamp = "",
                                           .batch_size = -1,
                                           .roles = TP_ROLE_ACTIVATION};
static const struct tp_label attention = {.layer_type = "attention",
                                          .operation = "forward",
                                          .phase = "pre",
                                          .component = "FA",
                                          .quant_type = "",
                                          .tensor_name = "query",
                                          .timestamp = "",
                                          .batch_size = -1,
                                          .roles = TP_ROLE_ACTIVATION};
static const struct tp_label probabilities = {
    .layer_type = "attention",
    .operation = "forward",
    .phase = "post",
    .component = "FA",
    .quant_type = "",
    .tensor_name = "attention_weights",
    .timestamp = "",
    .batch_size = -1,
    .roles = TP_ROLE_ATTENTION | TP_ROLE_WEIGHT};
static const struct tp_label weight = {.layer_type = "moe",
                                       .operation = "forward",
                                       .phase = "pre",
                                       .component = "linear",
                                       .quant_type = "",
                                       .tensor_name = "weight",
                                       .timestamp = "",
                                       .batch_size = -1,
                                       .roles = TP_ROLE_WEIGHT};

/* --- plants --------------------------------------------------------------- */

/* Indices first, first + step, ... below end, so many of each; all zero: all.
 */
struct indices {
    int64_t first, end, step, width;
};

struct plant {
    int64_t shape[4];
    const struct tp_label *label; /* or NULL */
    struct indices axes[4];
    struct indices memory, more; /* of all elements, in order: either */
    bool checkerboard;
    enum tp_damage_name name;
    const char *words; /* where; bytes of pages apart, as of a float32 */
};

#define IN(first, end)   \
    {                    \
        first, end, 0, 0 \
    }

static const struct plant plants[] = {
    /* all, one */
    {{64, 128}, .name = TP_DAMAGE_EVERYTHING, .words = "all elements"},
    {{4096}, .name = TP_DAMAGE_EVERYTHING, .words = "all elements"},
    {{1}, .name = TP_DAMAGE_EVERYTHING, .words = "all elements"},
    {{4, 8, 16},
     .memory = IN(133, 134),
     .name = TP_DAMAGE_ELEMENT,
     .words = "element [1,0,5]"},
    {{4096},
     .memory = IN(4095, 4096),
     .name = TP_DAMAGE_ELEMENT,
     .words = "element [4095]"},
    /* rows and columns */
    {{128, 64},
     .axes = {IN(5, 6)},
     .name = TP_DAMAGE_ROWS,
     .words = "row 5 of 128 along axis 0"},
    {{128, 64},
     .axes = {IN(0, 3)},
     .name = TP_DAMAGE_ROWS,
     .words = "rows 0 to 2 of 128 along axis 0"},
    {{4096, 1024},
     .axes = {IN(77, 79)},
     .name = TP_DAMAGE_ROWS,
     .words = "rows 77 and 78 of 4096 along axis 0"},
    {{128, 64},
     .axes = {{0}, IN(4, 6)},
     .name = TP_DAMAGE_COLUMNS,
     .words = "columns 4 and 5 of 64 along axis 1"},
    {{128, 64},
     .axes = {{0}, IN(63, 64)},
     .name = TP_DAMAGE_COLUMNS,
     .words = "column 63 of 64 along axis 1"},
    {{4096, 1024},
     .axes = {{0}, IN(1, 5)},
     .name = TP_DAMAGE_COLUMNS,
     .words = "columns 1 to 4 of 1024 along axis 1"},
    {{16, 32, 64},
     .axes = {{0}, IN(3, 5)},
     .name = TP_DAMAGE_ROWS,
     .words = "indices 3 and 4 of 32 along axis 1"},
    {{16, 32, 64},
     .axes = {{0}, {0}, IN(7, 8)},
     .name = TP_DAMAGE_COLUMNS,
     .words = "column 7 of 64 along axis 2"},
    {{16, 32, 64},
     .axes = {IN(3, 4), IN(5, 6)},
     .name = TP_DAMAGE_ROWS,
     .words = "the line along axis 2 at [3,5,0] on"},
    {{16, 32, 64},
     .axes = {IN(15, 16), IN(28, 32)},
     .name = TP_DAMAGE_ROWS,
     .words = "4 lines along axis 2 from [15,28,0] on"},
    {{8, 4, 16, 32},
     .axes = {{0}, {0}, IN(9, 10)},
     .name = TP_DAMAGE_ROWS,
     .words = "index 9 of 16 along axis 2"},
    /* tails */
    {{1000, 64},
     .axes = {IN(992, 1000)},
     .name = TP_DAMAGE_TAIL,
     .words = "rows 992 to 999 of 1000 along axis 0, its end from a multiple "
              "of 32 on"},
    {{64, 1000},
     .axes = {{0}, IN(896, 1000)},
     .name = TP_DAMAGE_TAIL,
     .words = "columns 896 to 999 of 1000 along axis 1, its end from a "
              "multiple of 128 on"},
    {{64, 300},
     .axes = {{0}, IN(256, 300)},
     .name = TP_DAMAGE_TAIL,
     .words = "columns 256 to 299 of 300 along axis 1, its end from a "
              "multiple of 256 on"},
    {{12, 50, 20},
     .axes = {{0}, IN(48, 50)},
     .name = TP_DAMAGE_TAIL,
     .words = "indices 48 and 49 of 50 along axis 1, its end from a multiple "
              "of 16 on"},
    {{64, 1024},
     .axes = {{0}, IN(960, 1024)},
     .name = TP_DAMAGE_TAIL,
     .words = "columns 960 to 1023 of 1024 along axis 1, its end from a "
              "multiple of 64 on"},
    {{5000},
     .memory = IN(4864, 5000),
     .name = TP_DAMAGE_TAIL,
     .words = "elements 4864 to 4999 of 5000 in memory, its end from a "
              "multiple of 256 on"},
    {{100, 7},
     .memory = IN(640, 700),
     .name = TP_DAMAGE_TAIL,
     .words = "elements 640 to 699 of 700 in memory, its end from a multiple "
              "of 128 on"},
    /* heads */
    {{32, 2, 1024},
     &attention,
     {{0}, {0}, IN(128, 192)},
     .name = TP_DAMAGE_HEAD,
     .words = "head 2 of 16, if a head has 64 columns: columns 128 to 191 of "
              "1024 along axis 2"},
    {{32, 2, 1024},
     &attention,
     {{0}, {0}, IN(256, 512)},
     .name = TP_DAMAGE_HEAD,
     .words = "head 1 of 4, if a head has 256 columns: columns 256 to 511 of "
              "1024 along axis 2"},
    {{64, 960},
     &attention,
     {{0}, IN(96, 288)},
     .name = TP_DAMAGE_HEAD,
     .words = "heads 1 and 2 of 10, if a head has 96 columns: columns 96 to "
              "287 of 960 along axis 1"},
    {{2, 8, 32, 64},
     &attention,
     {{0}, IN(3, 4)},
     .name = TP_DAMAGE_HEAD,
     .words = "head 3 of 8 along axis 1"},
    {{2, 32, 8, 64},
     &attention,
     {{0}, {0}, IN(1, 2)},
     .name = TP_DAMAGE_HEAD,
     .words = "head 1 of 8 along axis 2"},
    {{2, 16, 32, 32},
     &probabilities,
     {{0}, IN(15, 16)},
     .name = TP_DAMAGE_HEAD,
     .words = "head 15 of 16 along axis 1"},
    /* the same without a label that says so */
    {{32, 2, 1024},
     &activation,
     {{0}, {0}, IN(128, 192)},
     .name = TP_DAMAGE_COLUMNS,
     .words = "columns 128 to 191 of 1024 along axis 2"},
    {{2, 8, 32, 64},
     NULL,
     {{0}, IN(3, 4)},
     .name = TP_DAMAGE_ROWS,
     .words = "index 3 of 8 along axis 1"},
    {{32, 2, 1024},
     &attention,
     {{0}, {0}, IN(130, 194)},
     .name = TP_DAMAGE_COLUMNS,
     .words = "columns 130 to 193 of 1024 along axis 2"},
    /* experts */
    {{8, 64, 32},
     &weight,
     {IN(5, 6)},
     .name = TP_DAMAGE_EXPERT,
     .words = "expert 5 of 8 along axis 0"},
    {{8, 64, 32},
     &weight,
     {IN(0, 2)},
     .name = TP_DAMAGE_EXPERT,
     .words = "experts 0 and 1 of 8 along axis 0"},
    {{8, 64, 32},
     NULL,
     {IN(5, 6)},
     .name = TP_DAMAGE_ROWS,
     .words = "index 5 of 8 along axis 0"},
    {{64, 32},
     &weight,
     {IN(5, 6)},
     .name = TP_DAMAGE_ROWS,
     .words = "row 5 of 64 along axis 0"},
    /* tokens */
    {{512, 2, 32},
     &activation,
     {IN(100, 203)},
     .name = TP_DAMAGE_TOKENS,
     .words = "positions 100 to 202 of 512 along axis 0"},
    {{2, 512, 32},
     &activation,
     {{0}, IN(0, 9)},
     .name = TP_DAMAGE_TOKENS,
     .words = "positions 0 to 8 of 512 along axis 1"},
    {{512, 32},
     &activation,
     {IN(511, 512)},
     .name = TP_DAMAGE_TOKENS,
     .words = "position 511 of 512 along axis 0"},
    {{32, 32, 32},
     &activation,
     {IN(9, 13)},
     .name = TP_DAMAGE_ROWS,
     .words = "indices 9 to 12 of 32 along axis 0"},
    /* channels */
    {{512, 2, 32},
     &activation,
     {{0}, {0}, IN(17, 18)},
     .name = TP_DAMAGE_CHANNEL,
     .words = "channel 17 of 32 along axis 2"},
    {{512, 1024},
     &activation,
     {{0}, IN(0, 1)},
     .name = TP_DAMAGE_CHANNEL,
     .words = "channel 0 of 1024 along axis 1"},
    {{512, 1024},
     &weight,
     {{0}, IN(3, 4)},
     .name = TP_DAMAGE_COLUMNS,
     .words = "column 3 of 1024 along axis 1"},
    /* bands */
    {{65536},
     .memory = IN(4096, 6144),
     .name = TP_DAMAGE_BAND,
     .words = "elements 4096 to 6143 of 65536 in memory"},
    {{4096, 1024},
     .memory = IN(1000000, 1002048),
     .name = TP_DAMAGE_BAND,
     .words = "elements 1000000 to 1002047 of 4194304 in memory"},
    {{512, 100},
     .memory = IN(0, 1024),
     .name = TP_DAMAGE_BAND,
     .words = "elements 0 to 1023 of 51200 in memory"},
    {{64, 64, 16},
     .memory = IN(4100, 4164),
     .name = TP_DAMAGE_BAND,
     .words = "elements 4100 to 4163 of 65536 in memory"},
    {{65536},
     .memory = IN(100, 140),
     .more = IN(10000, 10064),
     .name = TP_DAMAGE_BAND,
     .words = "2 stretches in memory: elements 100 to 139 and 10000 to 10063 "
              "of 65536"},
    /* strides */
    {{128, 64},
     .axes = {{0}, {1, 64, 2, 1}},
     .name = TP_DAMAGE_STRIDE,
     .words = "one column in 2, from 1 on, of 64 along axis 1"},
    {{128, 64},
     .axes = {{2, 128, 8, 4}},
     .name = TP_DAMAGE_STRIDE,
     .words = "4 rows in 8, from 2 on, of 128 along axis 0"},
    {{8192},
     .memory = {3, 8192, 4, 1},
     .name = TP_DAMAGE_STRIDE,
     .words = "one element in 4, from 3 on, of 8192 along axis 0"},
    {{128, 64},
     .memory = {2, 8192, 5, 2},
     .name = TP_DAMAGE_STRIDE,
     .words = "2 elements in 5 in memory, from [0,2]"},
    /* checkerboards */
    {{64, 32},
     .checkerboard = true,
     .name = TP_DAMAGE_CHECKERBOARD,
     .words = "every second element, as on a checkerboard, of axes 0 and 1"},
    {{4, 33, 31},
     .checkerboard = true,
     .name = TP_DAMAGE_CHECKERBOARD,
     .words = "every second element, as on a checkerboard, of axes 1 and 2"},
    /* blocks */
    {{512, 512},
     .axes = {IN(128, 256), IN(64, 192)},
     .name = TP_DAMAGE_BLOCK,
     .words = "a block: rows 128 to 255 of 512 along axis 0, columns 64 to "
              "191 of 512 along axis 1"},
    {{4, 16, 64},
     .axes = {{0}, IN(3, 4), IN(10, 30)},
     .name = TP_DAMAGE_BLOCK,
     .words = "a block: index 3 of 16 along axis 1, columns 10 to 29 of 64 "
              "along axis 2"},
    /* a few indices that are no range */
    {{128, 64},
     .axes = {{0}, {7, 64, 23, 1}},
     .name = TP_DAMAGE_STRIDE,
     .words = "one column in 23, from 7 on, of 64 along axis 1"},
};

enum { PLANTS = sizeof plants / sizeof *plants };

static bool is_in(const struct indices *indices, int64_t i)
{
    if (indices->end == 0)
        return true;
    if (i < indices->first || i >= indices->end)
        return false;
    return !indices->step ||
           (i - indices->first) % indices->step < indices->width;
}

static bool is_planted(const struct plant *plant, const struct damaged *d,
                       int64_t element)
{
    int64_t left = element, sum = 0;
    bool inside = is_in(&plant->memory, element) ||
                  (plant->more.end && is_in(&plant->more, element));
    for (int axis = d->ndim - 1; axis >= 0; axis--) {
        const int64_t index = left % d->shape[axis];
        left /= d->shape[axis];
        inside = inside && is_in(&plant->axes[axis], index);
        sum += axis >= d->ndim - 2 ? index : 0;
    }
    return inside && (!plant->checkerboard || sum % 2);
}

static void expect(const struct plant *plant, enum tp_dtype dtype,
                   unsigned kinds)
{
    struct damaged d = damaged_new(dtype, plant->shape);
    const uint64_t bad = kinds ? damaged_kind(&d, kinds) : 0;
    struct damaged_found found;
    uint64_t count = 0;
    for (int64_t i = 0; i < d.numel; i++) {
        if (!is_planted(plant, &d, i))
            continue;
        count++;
        if (kinds)
            damaged_set(&d, i, bad);
        else
            damaged_spoil(&d, i);
    }
    damaged_find(&d, kinds, plant->label, &found);
    struct tp_text text = {0}, whole = {0};
    tp_damage_tell_where(&found.plan, &found.shape, &text);
    tp_damage_tell(&found.plan, &found.damage, &found.shape, &whole);
    const char *words = tp_text_get(&text);
    cr_expect_eq(found.shape.where, plant->name, "%s, \"%s\": is \"%s\"",
                 tp_dtype_info(dtype)->name, plant->words, words);
    /* pages depend on the size of the dtype */
    cr_expect_eq(strncmp(words, plant->words, strlen(plant->words)), 0,
                 "%s, \"%s\": is \"%s\"", tp_dtype_info(dtype)->name,
                 plant->words, words);
    cr_expect_eq(found.damage.damaged, count);
    cr_expect_eq(found.shape.inside, count);
    if (kinds)
        cr_expect(strstr(tp_text_get(&whole),
                         count > 1 ? ", all of them NaN" : ", NaN"),
                  "%s", tp_text_get(&whole));
    tp_text_clear(&text);
    tp_text_clear(&whole);
    damaged_free(&d);
}

/* Of an axis with more indices than cells, which are four indices each, ends
 * are told to the cell, and are no tile's. */
Test(damage_shape, long_axis)
{
    static const struct plant tail = {
        {3, 1 << 20},
        .axes = {{0}, IN(1000000, 1 << 20)},
        .name = TP_DAMAGE_COLUMNS,
        .words = "about columns 1000000 to 1048575 of 1048576 along axis 1"};
    static const struct plant rows = {
        {1 << 20, 3},
        .axes = {IN(1001, 1101)},
        .name = TP_DAMAGE_ROWS,
        .words = "100 lines along axis 1 from [1001,0] on"};
    expect(&tail, TP_INT8, 0);
    expect(&rows, TP_INT8, 0);
}

static const enum tp_dtype dtypes[] = {TP_FLOAT32, TP_BFLOAT16, TP_FLOAT16,
                                       TP_FLOAT8_E4M3FN, TP_INT8};

Test(damage_shape, plants)
{
    for (int i = 0; i < PLANTS; i++) {
        const bool large = plants[i].shape[0] == 4096 && plants[i].shape[1];
        for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
            expect(&plants[i], dtypes[k], 0);
            if (dtypes[k] != TP_INT8 && (!large || k == 1))
                expect(&plants[i], dtypes[k], TP_DAMAGE_NAN);
        }
    }
}

/* --- up to the limits, and beyond ----------------------------------------- */

/* Plants, then makes so many of what is inside intact and damages so many
 * elsewhere, in thousandths of what was planted. */
static enum tp_damage_name find_worn(const struct plant *plant, int intact,
                                     int stray, struct tp_text *text)
{
    struct damaged d = damaged_new(TP_BFLOAT16, plant->shape);
    struct damaged_found found;
    int64_t count = 0, seen[2] = {0, 0};
    for (int64_t i = 0; i < d.numel; i++)
        count += is_planted(plant, &d, i);
    const int64_t strays = count * stray / 1000;
    const int64_t rest = d.numel - count;
    for (int64_t i = 0; i < d.numel; i++) {
        const bool inside = is_planted(plant, &d, i);
        const int64_t k = seen[inside]++;
        const bool steps = k * 7919 % (inside ? count : rest) <
                           (inside ? count * intact / 1000 : strays);
        if (inside != steps)
            damaged_spoil(&d, i);
    }
    damaged_find(&d, 0, plant->label, &found);
    tp_damage_tell(&found.plan, &found.damage, &found.shape, text);
    damaged_free(&d);
    return found.shape.where;
}

Test(damage_shape, exceptions)
{
    static const int limits[][3] = {/* intact, stray, named */
                                    {0, 9, 1},
                                    {90, 0, 1},
                                    {80, 8, 1},
                                    {0, 15, 0},
                                    {150, 0, 0}};
    int named[2] = {0, 0};
    for (int i = 0; i < PLANTS; i++) {
        int64_t numel = 1, planted = 0;
        struct damaged d = damaged_new(TP_INT8, plants[i].shape);
        for (int64_t k = 0; k < d.numel; k++)
            planted += is_planted(&plants[i], &d, k);
        numel = d.numel;
        damaged_free(&d);
        /* strays in a block may count twice; what repeats in memory is counted
         * by its runs, which a hole breaks; few elements tell no thousandths,
         * nor do strays where nothing else is */
        if (plants[i].name == TP_DAMAGE_BLOCK || planted < 1000 ||
            numel > 1 << 20 || plants[i].memory.step || planted == numel)
            continue;
        for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
            struct tp_text text = {0};
            const enum tp_damage_name name =
                find_worn(&plants[i], limits[k][0], limits[k][1], &text);
            cr_expect_eq(name,
                         limits[k][2] ? plants[i].name : TP_DAMAGE_SCATTERED,
                         "\"%s\", %d intact, %d stray: \"%s\"", plants[i].words,
                         limits[k][0], limits[k][1], tp_text_get(&text));
            named[limits[k][2]]++;
            tp_text_clear(&text);
        }
    }
    cr_expect_geq(named[0], 20);
    cr_expect_geq(named[1], 30);
}

Test(damage_shape, exceptions_are_told)
{
    static const struct plant columns = {{128, 64}, .axes = {{0}, IN(4, 14)}};
    struct tp_text text = {0};
    find_worn(&columns, 50, 8, &text);
    cr_expect_str_eq(tp_text_get(&text),
                     "columns 4 to 13 of 64 along axis 1: 1226 elements, other "
                     "values; 10 of them lie elsewhere; 64 in between are "
                     "intact");
    tp_text_clear(&text);
}

/* --- words ---------------------------------------------------------------- */

Test(damage_shape, pages)
{
    static const struct plant band = {{64, 1024}, .memory = IN(4096, 6144)};
    static const char *const words[] = {
        "rows 4 and 5 of 64 along axis 0: 2048 elements, other values", NULL};
    struct tp_text text = {0};
    find_worn(&band, 0, 0, &text);
    cr_expect_str_eq(tp_text_get(&text), words[0]); /* whole rows: told so */
    tp_text_clear(&text);
    static const struct plant page = {{65536}, .memory = IN(6144, 8192)};
    find_worn(&page, 0, 0, &text);
    cr_expect_str_eq(tp_text_get(&text),
                     "elements 6144 to 8191 of 65536 in memory, 4096 bytes or "
                     "1 page of 4096 from a multiple of 4096 on: 2048 "
                     "elements, other values");
    tp_text_clear(&text);
    static const struct plant shifted = {{65536}, .memory = IN(100, 8292)};
    find_worn(&shifted, 0, 0, &text);
    cr_expect_str_eq(tp_text_get(&text),
                     "elements 100 to 8291 of 65536 in memory, 16384 bytes or "
                     "4 pages of 4096: 8192 elements, other values");
    tp_text_clear(&text);
}
