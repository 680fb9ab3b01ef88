/* SPDX-License-Identifier: MIT */
/*
 * The order of a comparison: read both sides, pair their steps and ranks, list
 * and match the rows of each, compare what the json says or what the files
 * hold, judge. All rows of all ranks stay in memory, some 1 kB each: what is
 * told in the end, the first difference and the worst, needs them all.
 */
#include "compare/compare.h"

#include <stdlib.h>
#include <string.h>

#include "compare/compare_place.h"
#include "compare/compare_shift.h"

/* --- by what -------------------------------------------------------------- */

/* What the tensors of a side have: one of them is enough. */
struct means {
    bool files, stats, md5, xor;
};

static struct means means_of(const struct tp_dump *dump)
{
    struct means means = {0};
    for (size_t i = 0; i < dump->place_count; i++)
        for (size_t k = 0; k < dump->places[i].item_count; k++) {
            const struct tp_dump_item *item = &dump->places[i].items[k];
            if (item->kind != TP_DUMP_TENSOR)
                continue;
            means.files |= item->file != NULL;
            means.stats |= item->stats[TP_DUMP_MAX].kind != TP_JSON_NULL;
            means.md5 |= *item->md5 != '\0';
            means.xor |= !strncmp(item->md5, "0x", 2);
        }
    return means;
}

static bool has_mode(const struct means *means, enum tp_compare_mode mode)
{
    return mode == TP_COMPARE_TENSOR       ? means->files
           : mode == TP_COMPARE_STATISTICS ? means->stats
                                           : means->md5;
}

/* Whether two sides can be compared so. */
static bool can_do(const struct means *a, const struct means *b,
                   enum tp_compare_mode mode)
{
    return has_mode(a, mode) && has_mode(b, mode) &&
           (mode != TP_COMPARE_MD5 || a->xor == b->xor);
}

static const char *means_words(const struct means *means)
{
    static const char *const words[2][2][3] = {
        {{"no values", "CRC-32 checksums", "XOR checksums"},
         {"statistics", "statistics and CRC-32 checksums",
          "statistics and XOR checksums"}},
        {{"tensors", "tensors and CRC-32 checksums",
          "tensors and XOR checksums"},
         {"tensors", "tensors and CRC-32 checksums",
          "tensors and XOR checksums"}}};
    return words[means->files][means->stats][means->md5 + means->xor ];
}

static enum tp_status fail_means(const struct means *a, const struct means *b,
                                 enum tp_compare_mode mode,
                                 struct tp_error *err)
{
    if (mode == TP_COMPARE_MD5 && a->md5 && b->md5)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "the checksums of A and B are of two kinds and cannot "
                       "be compared: A has %s, B has %s",
                       means_words(a), means_words(b));
    return tp_fail(err, TP_E_UNSUPPORTED, -1,
                   "they cannot be compared%s%s: A has %s, B has %s",
                   mode == TP_COMPARE_AUTO ? "" : " by ",
                   mode == TP_COMPARE_AUTO ? "" : tp_compare_mode_words[mode],
                   means_words(a), means_words(b));
}

/* What was asked for, or the first of these that both have. A dump has
 * checksums where its owner wanted them rather than statistics. */
static enum tp_status choose_mode(const struct tp_compare_options *options,
                                  struct tp_comparison *comparison,
                                  struct tp_error *err)
{
    const struct means a = means_of(&comparison->a.dump);
    const struct means b = means_of(&comparison->b.dump);
    static const enum tp_compare_mode order[] = {
        TP_COMPARE_TENSOR, TP_COMPARE_MD5, TP_COMPARE_STATISTICS};
    enum tp_compare_mode mode = options->mode;
    for (int i = 0; i < 3 && mode == TP_COMPARE_AUTO; i++)
        if (can_do(&a, &b, order[i]))
            mode = order[i];
    comparison->mode = mode;
    return mode != TP_COMPARE_AUTO && can_do(&a, &b, mode)
               ? TP_OK
               : fail_means(&a, &b, mode, err);
}

/* --- matching ------------------------------------------------------------- */

static enum tp_status match(struct tp_compare_pair *pair,
                            const struct tp_compare_match_options *how,
                            struct tp_error *err)
{
    const size_t count = pair->a.count;
    struct tp_compare_partner *partners = calloc(count + 1, sizeof *partners);
    pair->rows = calloc(count + 1, sizeof *pair->rows);
    pair->matched_b = calloc(pair->b.count + 1, sizeof *pair->matched_b);
    enum tp_status status =
        partners && pair->rows && pair->matched_b
            ? tp_compare_match(&pair->a, &pair->b, how, partners, err)
            : tp_fail_memory(err);
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        struct tp_compare_line *row = &pair->rows[pair->row_count++];
        *row = (struct tp_compare_line){.a = i,
                                        .b = partners[i].b,
                                        .dtypes = partners[i].dtypes,
                                        .elements = tp_compare_elements_none,
                                        .problem = ""};
        if (row->b != TP_COMPARE_NONE)
            pair->matched_b[row->b] = true;
    }
    free(partners);
    return status;
}

static enum tp_status shift_rows(struct tp_compare_pair *pair,
                                 struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < pair->row_count; i++) {
        struct tp_compare_line *row = &pair->rows[i];
        const struct tp_compare_entry *a = tp_compare_row_a(pair, row);
        const struct tp_compare_entry *b = tp_compare_row_b(pair, row);
        for (int k = 0; k < TP_DUMP_STATS && status == TP_OK; k++)
            status =
                tp_compare_shift_make(&a->stats[k], b ? &b->stats[k] : NULL,
                                      &pair->arena, &row->shifts[k], err);
    }
    return status;
}

/* Lists, matches and, but for tensors, compares one pair of places. */
static enum tp_status make_pair(struct tp_comparison *comparison,
                                struct tp_compare_pair *pair,
                                const struct tp_compare_match_options *how,
                                struct tp_error *err)
{
    const struct tp_dump_place *a = pair->a.place, *b = pair->b.place;
    const bool stats = comparison->mode != TP_COMPARE_MD5;
    enum tp_status status = tp_compare_entries_make(a, stats, &pair->a, err);
    if (status == TP_OK)
        status = tp_compare_entries_make(b, stats, &pair->b, err);
    if (status == TP_OK)
        status = match(pair, how, err);
    if (status == TP_OK && comparison->mode == TP_COMPARE_STATISTICS)
        status = shift_rows(pair, err);
    return status;
}

struct pairing {
    struct tp_comparison *comparison;
    const struct tp_compare_match_options *how;
    struct tp_error *errors; /* [pair_count] */
};

static void pair_task(void *context, size_t index, unsigned worker)
{
    struct pairing *pairing = context;
    (void)worker;
    make_pair(pairing->comparison, &pairing->comparison->pairs[index],
              pairing->how, &pairing->errors[index]);
}

/* Makes all pairs, each a task of the pool. */
static enum tp_status run_pairs(struct tp_comparison *comparison,
                                const struct tp_compare_match_options *how,
                                struct tp_pool *pool, struct tp_error *err)
{
    const size_t count = comparison->pair_count;
    struct pairing pairing = {comparison, how,
                              calloc(count, sizeof *pairing.errors)};
    enum tp_status status = pairing.errors ? TP_OK : tp_fail_memory(err);
    if (status == TP_OK)
        tp_pool_for(pool, count, pair_task, &pairing);
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        status = pairing.errors[i].code;
        if (status != TP_OK)
            *err = pairing.errors[i];
    }
    free(pairing.errors);
    return status;
}

static enum tp_status pair_places(struct tp_comparison *comparison,
                                  struct tp_error *err)
{
    struct tp_compare_places places = {0};
    enum tp_status status =
        tp_compare_places(&comparison->a.dump, &comparison->b.dump,
                          &comparison->arena, &comparison->notes, &places, err);
    if (status == TP_OK) {
        comparison->pairs = calloc(places.count, sizeof *comparison->pairs);
        if (!comparison->pairs)
            status = tp_fail_memory(err);
    }
    for (size_t i = 0; i < places.count && status == TP_OK; i++) {
        struct tp_compare_pair *pair =
            &comparison->pairs[comparison->pair_count++];
        pair->a.place = &comparison->a.dump.places[places.pairs[i].a];
        pair->b.place = &comparison->b.dump.places[places.pairs[i].b];
    }
    comparison->steps_differ = places.steps_differ;
    free(places.pairs);
    return status;
}

/* --- counts --------------------------------------------------------------- */

static void count_row(struct tp_comparison *comparison,
                      const struct tp_compare_pair *pair,
                      const struct tp_compare_line *row)
{
    struct tp_compare_counts *counts = &comparison->counts;
    counts->rows++;
    counts->results[row->result]++;
    counts->matched += row->b != TP_COMPARE_NONE;
    counts->only_a += row->b == TP_COMPARE_NONE;
    counts->dtypes += row->dtypes;
    counts->equal += tp_compare_is_equal(pair, row, comparison->mode);
    counts->problems += *row->problem != '\0';
    counts->damaged += row->damaged;
}

static void count_rows(struct tp_comparison *comparison)
{
    for (size_t i = 0; i < comparison->pair_count; i++) {
        const struct tp_compare_pair *pair = &comparison->pairs[i];
        for (size_t k = 0; k < pair->row_count; k++)
            count_row(comparison, pair, &pair->rows[k]);
        for (size_t k = 0; k < pair->b.count; k++)
            comparison->counts.only_b += !pair->matched_b[k];
    }
}

/* --- failures ------------------------------------------------------------- */

static size_t calls_of(const struct tp_dump *dump)
{
    size_t calls = 0;
    for (size_t i = 0; i < dump->place_count; i++)
        calls += dump->places[i].call_count;
    return calls;
}

static enum tp_status check_calls(const struct tp_comparison *comparison,
                                  const struct tp_compare_options *options,
                                  struct tp_error *err)
{
    const size_t a = calls_of(&comparison->a.dump);
    const size_t b = calls_of(&comparison->b.dump);
    if (a && b)
        return TP_OK;
    const struct tp_found *bad = tp_found_first_bad(
        a ? &comparison->b.dump.found : &comparison->a.dump.found);
    return tp_fail(err, TP_E_NOT_FOUND, -1,
                   "%s%s%s has no calls%s%s%s%s%s: is its dump.json whole? "
                   "--recover takes them from the names of files",
                   a ? "" : options->a, a || b ? "" : ", and so ",
                   b ? "" : options->b, bad ? " (" : "", bad ? bad->path : "",
                   bad ? ": " : "", bad ? bad->problems->reason : "",
                   bad ? ")" : "");
}

static enum tp_status check_names(const struct tp_comparison *comparison,
                                  struct tp_error *err)
{
    if (comparison->counts.matched)
        return TP_OK;
    const struct tp_compare_pair *pair = &comparison->pairs[0];
    return tp_fail(err, TP_E_NOT_FOUND, -1,
                   "no name is in both: A has %s and others, B has %s and "
                   "others; --map FILE tells what the names of A are in B, "
                   "--fuzzy_match leaves the numbers of calls out",
                   pair->a.count ? pair->a.rows[0].name : "none",
                   pair->b.count ? pair->b.rows[0].name : "none");
}

/* --- all ------------------------------------------------------------------ */

static enum tp_status open_side(const struct tp_compare_options *options,
                                const char *path, struct tp_compare_side *side,
                                struct tp_error *err)
{
    struct tp_dump_read_options how = options->read;
    how.wish.roots = &path;
    how.wish.root_count = 1;
    return tp_compare_side_open(&how, side, err);
}

static enum tp_status compare_pairs(const struct tp_compare_options *options,
                                    const struct tp_compare_map *map,
                                    struct tp_comparison *comparison,
                                    struct tp_error *err)
{
    const struct tp_compare_match_options how = {options->map ? map : NULL,
                                                 options->fuzzy};
    const struct tp_compare_tensor_options reading = {
        .pool = options->read.pool,
        .stop = options->read.stop,
        .progress = options->progress,
        .progress_context = options->progress_context};
    enum tp_status status = pair_places(comparison, err);
    if (status == TP_OK)
        status = choose_mode(options, comparison, err);
    if (status == TP_OK)
        status = run_pairs(comparison, &how, options->read.pool, err);
    if (status == TP_OK && comparison->mode == TP_COMPARE_TENSOR)
        status = tp_compare_measure(comparison->pairs, comparison->pair_count,
                                    &reading, err);
    if (status != TP_OK)
        return status;
    for (size_t i = 0; i < comparison->pair_count; i++)
        tp_compare_judge(&comparison->pairs[i], comparison->mode);
    count_rows(comparison);
    return check_names(comparison, err);
}

enum tp_status tp_compare(const struct tp_compare_options *options,
                          struct tp_comparison *comparison,
                          struct tp_error *err)
{
    struct tp_compare_map map = {0};
    enum tp_status status =
        options->map ? tp_compare_map_read(options->map, &map, err) : TP_OK;
    if (status == TP_OK)
        status = open_side(options, options->a, &comparison->a, err);
    if (status == TP_OK)
        status = open_side(options, options->b, &comparison->b, err);
    if (status == TP_OK)
        status = check_calls(comparison, options, err);
    if (status == TP_OK)
        status = compare_pairs(options, &map, comparison, err);
    tp_compare_map_clear(&map);
    return status;
}

void tp_comparison_clear(struct tp_comparison *comparison)
{
    for (size_t i = 0; i < comparison->pair_count; i++)
        tp_compare_pair_clear(&comparison->pairs[i]);
    free(comparison->pairs);
    tp_compare_side_clear(&comparison->a);
    tp_compare_side_clear(&comparison->b);
    tp_notes_clear(&comparison->notes);
    tp_arena_clear(&comparison->arena);
    memset(comparison, 0, sizeof *comparison);
}

bool tp_comparison_lost(const struct tp_comparison *comparison)
{
    bool lost = comparison->arena.failed || comparison->notes.failed ||
                tp_dump_lost(&comparison->a.dump) ||
                tp_dump_lost(&comparison->b.dump);
    for (size_t i = 0; i < comparison->pair_count; i++) {
        const struct tp_compare_pair *pair = &comparison->pairs[i];
        lost |= pair->a.arena.failed || pair->b.arena.failed ||
                pair->arena.failed;
    }
    return lost;
}
