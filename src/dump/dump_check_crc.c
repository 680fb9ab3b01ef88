/* SPDX-License-Identifier: MIT */
/*
 * CRC-32 ("md5") or xor of files against those that a json tells: its own, or
 * that of another dump of the same run. msprobe computes CRCs in threads of
 * its own; of a tensor on a CPU they see what the training has made of it by
 * then. So a CRC that differs is looked up among the tensors that were saved
 * later: if one has it, the tensor was changed in place before its CRC was
 * taken, and nothing is damaged. That is evidence, where a list of in-place
 * operators would excuse every damage of their inputs. Cost: n log n for the
 * n tensors of a place that has such a difference.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/search.h"
#include "dump/dump_checks.h"

/* The CRC of a tensor, to be found. */
struct known {
    uint32_t crc;
    size_t item;
};

/* Checks one place. */
struct search {
    const struct tp_dump_checker *checker;
    const struct tp_dump_place *place;
    const struct tp_dump_checked *items;
    struct known *known; /* sorted by CRC, then item; NULL: not made yet   */
    size_t count;
};

static int compare_known(const void *left, const void *right)
{
    const struct known *a = left, *b = right;
    int result = tp_order_int64(a->crc, b->crc);
    return result ? result : tp_order_size(a->item, b->item);
}

static enum tp_status make_known(struct search *search, struct tp_error *err)
{
    const size_t count = search->place->item_count;
    search->known = calloc(count, sizeof *search->known);
    if (!search->known)
        return tp_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        if (search->items[i].reading == TP_READING_DONE &&
            search->items[i].measure.has_crc)
            search->known[search->count++] =
                (struct known){search->items[i].measure.crc, i};
    qsort(search->known, search->count, sizeof *search->known, compare_known);
    return TP_OK;
}

/* Bytes of an item that was read. */
static uint64_t bytes_of(const struct tp_dump_checked *checked)
{
    return checked->measure.values * tp_dtype_info(checked->element)->size;
}

/* The first item after `item` that has this CRC and as many bytes; SIZE_MAX:
 * none has. */
static size_t find_later(const struct search *search, uint32_t crc, size_t item)
{
    const struct known wanted = {crc, item};
    size_t i;
    TP_PARTITION_POINT(i, search->count,
                       compare_known(&search->known[i], &wanted) <= 0);
    for (; i < search->count && search->known[i].crc == crc; i++) {
        const size_t at = search->known[i].item;
        if (bytes_of(&search->items[at]) == bytes_of(&search->items[item]))
            return at;
    }
    return SIZE_MAX;
}

/* --- what is told --------------------------------------------------------- */

enum told { TOLD_NOTHING, TOLD_CRC, TOLD_XOR, TOLD_VALUE };

/* 8 hex digits, 0x and 16 hex digits, or the value of a scalar. */
static enum told parse_told(const char *md5, uint64_t *number, double *value)
{
    char *end;
    const size_t length = strlen(md5);
    if (length == 0)
        return TOLD_NOTHING;
    if (length == 18 && !strncmp(md5, "0x", 2)) {
        *number = strtoull(md5 + 2, &end, 16);
        return *end ? TOLD_NOTHING : TOLD_XOR;
    }
    if (length == 8 && strspn(md5, "0123456789abcdef") == 8) {
        *number = strtoull(md5, &end, 16);
        return TOLD_CRC;
    }
    *value = !strcmp(md5, "True") ? 1 : strtod(md5, &end);
    return TOLD_VALUE;
}

/* Whether a checksum told of an item is that of its file. */
static bool is_equal(const struct tp_dump_checked *checked, enum told kind,
                     uint64_t number, double value)
{
    const struct tp_dump_measure *m = &checked->measure;
    if (kind == TOLD_XOR)
        return m->xor_words == number;
    if (kind == TOLD_VALUE && m->nan)
        return isnan(value);
    if (kind == TOLD_VALUE)
        return m->values != 1 || value == m->max;
    return m->crc == number ||
           (checked->element == TP_BFLOAT16 && m->wide_crc == number);
}

static const char *found_words(const struct tp_dump_checker *checker,
                               const struct tp_dump_checked *checked,
                               enum told kind)
{
    const struct tp_dump_measure *m = &checked->measure;
    if (kind == TOLD_XOR)
        return tp_dump_finding_text(checker->findings, "0x%016" PRIx64,
                                    m->xor_words);
    if (kind == TOLD_VALUE)
        return tp_dump_finding_text(checker->findings, "%.9g", m->max);
    return tp_dump_finding_text(checker->findings, "%08" PRIx32, m->crc);
}

/* --- findings ------------------------------------------------------------- */

/* Running statistics, which a normalisation changes while it runs, and which
 * no later call need show. */
static bool is_running(const struct tp_dump_at *at)
{
    const char *key = at->call->key, *argument = at->item->argument;
    return (strstr(key, ".batch_norm.") || strstr(key, ".instance_norm.")) &&
           at->item->place == TP_MSPROBE_INPUT &&
           (!strcmp(argument, "1") || !strcmp(argument, "2"));
}

static const char *item_name(const struct search *search, size_t item)
{
    const struct tp_dump_place *place = search->place;
    struct tp_text name = {0};
    size_t call; /* the first behind the item */
    TP_PARTITION_POINT(call, place->call_count,
                       place->calls[call].first <= item);
    while (call > 0 && place->calls[call - 1].count == 0)
        call--;
    if (call > 0)
        tp_dump_item_name(&place->calls[call - 1], &place->items[item],
                          "kwargs", &name);
    return tp_arena_words(&search->checker->findings->arena, &name);
}

static void explain(const struct search *search, const struct tp_dump_at *at,
                    size_t later, struct tp_dump_finding *finding)
{
    struct tp_dump_findings *findings = search->checker->findings;
    if (later != SIZE_MAX) {
        finding->evidence = tp_dump_finding_text(
            findings,
            "The json has the CRC-32 of %s, which was saved later: the tensor "
            "was changed in place before its CRC-32 was taken, as happens on "
            "CPUs.",
            item_name(search, later));
    } else if (is_running(at)) {
        finding->evidence = "The call changes this argument, and its CRC-32 "
                            "was taken after that, as happens on CPUs.";
    } else {
        finding->evidence = "No tensor that was saved later has the CRC-32 "
                            "of the json, so no change in place explains it.";
        finding->suggestion =
            "The file is not what was dumped: compare it with its original, "
            "or take the dump again.";
    }
}

static enum tp_status add_difference(struct search *search,
                                     const struct tp_dump_at *at,
                                     enum told kind, const char *md5,
                                     struct tp_dump_crc_counts *counts,
                                     struct tp_error *err)
{
    const struct tp_dump_checker *checker = search->checker;
    const size_t item = (size_t)(at->item - at->place->items);
    struct tp_dump_finding *finding;
    size_t later = SIZE_MAX;
    enum tp_status status = search->known ? TP_OK : make_known(search, err);
    if (status == TP_OK && kind == TOLD_CRC)
        later = find_later(search, (uint32_t)strtoul(md5, NULL, 16), item);
    const bool explained =
        later != SIZE_MAX || (kind == TOLD_CRC && is_running(at));
    if (status == TP_OK)
        status = tp_dump_check_add(
            checker, at, TP_CHECK_CRC,
            explained ? TP_SEVERITY_LOW : TP_SEVERITY_HIGH, &finding, err);
    if (status != TP_OK)
        return status;
    *(explained ? &counts->later : &counts->differ) += 1;
    finding->expected = tp_dump_finding_text(checker->findings, "%s", md5);
    finding->found = found_words(checker, at->checked, kind);
    explain(search, at, later, finding);
    return TP_OK;
}

static enum tp_status compare(struct search *search,
                              const struct tp_dump_at *at, const char *md5,
                              struct tp_dump_crc_counts *counts,
                              struct tp_error *err)
{
    uint64_t number = 0;
    double value = 0;
    const enum told kind = parse_told(md5, &number, &value);
    if (kind == TOLD_NOTHING || !at->checked->measure.has_crc ||
        *at->checked->shape) {
        counts->absent++;
        return TP_OK;
    }
    if (!is_equal(at->checked, kind, number, value))
        return add_difference(search, at, kind, md5, counts, err);
    counts->equal++;
    return TP_OK;
}

/* --- another dump --------------------------------------------------------- */

/* The place of the same step and rank; or the only one of that step, where
 * this one is alone, too: processes have other numbers in each run. */
static const struct tp_dump_place *partner_of(const struct search *search)
{
    const struct tp_dump *other = search->checker->options->crc_from;
    const struct tp_dump *own = search->checker->dump;
    const struct tp_dump_place *place = search->place, *only = NULL;
    size_t here = 0, there = 0;
    for (size_t i = 0; i < own->place_count; i++)
        here += own->places[i].step == place->step;
    for (size_t i = 0; i < other->place_count; i++) {
        const struct tp_dump_place *at = &other->places[i];
        if (at->step != place->step)
            continue;
        if (at->rank == place->rank && at->rank >= 0)
            return at;
        only = at;
        there++;
    }
    return here == 1 && there == 1 ? only : NULL;
}

/* The item of the same name; NULL: there is none. */
static const struct tp_dump_item *same_item(const struct tp_dump_place *other,
                                            const struct tp_dump_at *at)
{
    const struct tp_dump_call *call = tp_dump_call_of(other, at->call->key);
    for (size_t i = 0; call && i < call->count; i++) {
        const struct tp_dump_item *item = &other->items[call->first + i];
        if (item->place == at->item->place &&
            !strcmp(item->argument, at->item->argument))
            return item;
    }
    return NULL;
}

static enum tp_status check_other(struct search *search,
                                  const struct tp_dump_place *other,
                                  const struct tp_dump_at *at,
                                  struct tp_error *err)
{
    struct tp_dump_crc_counts *counts = &search->checker->integrity->other;
    const struct tp_dump_item *item = other ? same_item(other, at) : NULL;
    return compare(search, at, item ? item->md5 : "", counts, err);
}

/* --- the whole ------------------------------------------------------------ */

static enum tp_status check_item(struct search *search,
                                 const struct tp_dump_place *other,
                                 const struct tp_dump_at *at,
                                 struct tp_error *err)
{
    const struct tp_dump_check_options *options = search->checker->options;
    const bool own =
        options->verify == TP_VERIFY_ALL || options->verify == TP_VERIFY_CRC;
    enum tp_status status = TP_OK;
    if (at->checked->reading != TP_READING_DONE)
        return TP_OK;
    if (own && *at->item->md5)
        status = compare(search, at, at->item->md5,
                         &search->checker->integrity->own, err);
    if (status == TP_OK && options->crc_from)
        status = check_other(search, other, at, err);
    return status;
}

enum tp_status tp_dump_check_crc(const struct tp_dump_checker *checker,
                                 size_t index, struct tp_error *err)
{
    struct search search = {.checker = checker,
                            .place = &checker->dump->places[index],
                            .items = checker->integrity->items[index]};
    enum tp_status status = TP_OK;
    if (!search.items)
        return TP_OK;
    const struct tp_dump_place *place = search.place;
    const struct tp_dump_place *other =
        checker->options->crc_from ? partner_of(&search) : NULL;
    for (size_t i = 0; i < place->call_count && status == TP_OK; i++) {
        const struct tp_dump_call *call = &place->calls[i];
        for (size_t k = call->first;
             k < call->first + call->count && status == TP_OK; k++) {
            const struct tp_dump_at at = {place, call, &place->items[k],
                                          &search.items[k]};
            status = check_item(&search, other, &at, err);
        }
    }
    free(search.known);
    return status;
}
