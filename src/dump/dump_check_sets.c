/* SPDX-License-Identifier: MIT */
/*
 * Places of one dump against each other. A rank is compared with the lowest one
 * of its step, a step with the one before it of the same rank: each name of one
 * is looked for in the other. Neither needs to be alike (stages of a pipeline
 * have other modules, a first step sets up the optimizer), so that a difference
 * is a note, one for all ranks of a step and one for all steps of a rank. A
 * rank that is absent from a step, though others of that step are there, was
 * lost. Cost: a search for each name.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "dump/dump_checks.h"

/* How the calls of two places differ. */
struct difference {
    size_t more, less; /* names that only one of them has           */
    const char *first; /* of these, in the order of their bytes     */
};

/* How many names of `a` are not in `b`, each once; `*first` becomes the first
 * of them and itself in the order of their bytes. */
static size_t count_others(const struct tp_dump_place *a,
                           const struct tp_dump_place *b, const char **first)
{
    size_t count = 0;
    for (size_t i = 0; i < a->call_count; i++) {
        const struct tp_dump_call *call = &a->calls[i];
        if (tp_dump_call_of(b, call->key) ||
            tp_dump_call_of(a, call->key) != call)
            continue;
        count++;
        if (!*first || strcmp(call->key, *first) < 0)
            *first = call->key;
    }
    return count;
}

static struct difference compare_sets(const struct tp_dump_place *a,
                                      const struct tp_dump_place *b)
{
    struct difference difference = {0, 0, NULL};
    difference.less = count_others(a, b, &difference.first);
    difference.more = count_others(b, a, &difference.first);
    return difference;
}

/* Whether a place has what may be compared: its loss is told elsewhere. */
static bool is_comparable(const struct tp_dump_place *place)
{
    return place->call_count > 0 && place->recovered == 0 &&
           place->sources[TP_DUMP_JSON].status == TP_OK &&
           place->sources[TP_DUMP_DEBUG].status == TP_OK;
}

static bool are_alike(const struct tp_dump_place *a,
                      const struct tp_dump_place *b)
{
    return is_comparable(a) && is_comparable(b) &&
           !strcmp(a->heads[TP_MSPROBE_TASK], b->heads[TP_MSPROBE_TASK]) &&
           !strcmp(a->heads[TP_MSPROBE_LEVEL], b->heads[TP_MSPROBE_LEVEL]);
}

/* Places that differ from what they were compared with. */
struct others {
    const struct tp_dump_place *first, *base; /* the first of them, and what
                                                 it was compared with      */
    struct difference difference;             /* of the first              */
    size_t count, compared;
};

static void compare_places(struct others *others,
                           const struct tp_dump_place *base,
                           const struct tp_dump_place *place)
{
    if (!are_alike(base, place))
        return;
    const struct difference difference = compare_sets(base, place);
    others->compared++;
    if (!difference.first)
        return;
    if (others->count++ == 0) {
        others->first = place;
        others->base = base;
        others->difference = difference;
    }
}

static enum tp_status add_others(const struct tp_dump_checker *checker,
                                 const struct others *others, const char *kind,
                                 const char *suggestion, struct tp_error *err)
{
    struct tp_dump_findings *findings = checker->findings;
    struct tp_dump_finding *finding;
    struct tp_text base = {0}, first = {0};
    if (others->count == 0)
        return TP_OK;
    enum tp_status status =
        tp_dump_finding_add(findings, TP_CHECK_CALL_SET, TP_SEVERITY_LOW,
                            others->first, &finding, err);
    if (status != TP_OK)
        return status;
    tp_dump_place_words(others->base, &base);
    tp_dump_place_words(others->first, &first);
    finding->name =
        tp_dump_finding_text(findings, "%s", others->difference.first);
    finding->expected =
        tp_dump_finding_text(findings, "the calls of %s", tp_text_get(&base));
    finding->found =
        tp_dump_finding_text(findings, "%zu more, %zu less",
                             others->difference.more, others->difference.less);
    finding->evidence = tp_dump_finding_text(
        findings,
        "Differing %s: %zu of %zu. The first: %s has %zu call%s that %s has "
        "not, and lacks %zu; by name the first is %s.",
        kind, others->count, others->compared, tp_text_get(&first),
        others->difference.more, others->difference.more == 1 ? "" : "s",
        tp_text_get(&base), others->difference.less, others->difference.first);
    finding->suggestion = suggestion;
    findings->arena.failed |= base.failed || first.failed;
    tp_text_clear(&base);
    tp_text_clear(&first);
    return TP_OK;
}

/* The ranks of each step. */
static enum tp_status check_ranks(const struct tp_dump_checker *checker,
                                  struct tp_error *err)
{
    const struct tp_dump *dump = checker->dump;
    enum tp_status status = TP_OK;
    for (size_t i = 0, end; i < dump->place_count && status == TP_OK; i = end) {
        struct others others = {.count = 0};
        for (end = i + 1; end < dump->place_count &&
                          dump->places[end].step == dump->places[i].step;
             end++)
            if (dump->places[end].rank != dump->places[i].rank)
                compare_places(&others, &dump->places[i], &dump->places[end]);
        status = add_others(
            checker, &others, "ranks of this step",
            "Stages of a pipeline and experts have other calls each; copies "
            "of one model must not.",
            err);
    }
    return status;
}

/* The steps of one rank: places [begin, end) of those that are sorted by rank,
 * then step. */
static enum tp_status check_steps(const struct tp_dump_checker *checker,
                                  const struct tp_dump_place *const *places,
                                  size_t count, struct tp_error *err)
{
    struct others others = {.count = 0};
    for (size_t i = 1; i < count; i++)
        if (places[i]->step != places[i - 1]->step)
            compare_places(&others, places[i - 1], places[i]);
    return add_others(checker, &others, "steps of this rank",
                      "A first step may set up the optimizer, and a loss scale "
                      "may skip one; else the program took another way.",
                      err);
}

/* --- places that are not there -------------------------------------------- */

static enum tp_status add_absent(const struct tp_dump_checker *checker,
                                 const struct tp_dump_place *known,
                                 const struct tp_dump_place *step,
                                 struct tp_error *err)
{
    struct tp_dump_findings *findings = checker->findings;
    struct tp_dump_finding *finding;
    enum tp_status status = tp_dump_finding_add(
        findings, TP_CHECK_PLACE, TP_SEVERITY_MEDIUM, step, &finding, err);
    if (status != TP_OK)
        return status;
    finding->rank = known->rank;
    finding->directory = NULL;
    finding->name = tp_dump_finding_text(findings, "rank%" PRId64, known->rank);
    finding->expected = "a directory of this rank";
    finding->found = "none";
    finding->evidence = tp_dump_finding_text(
        findings,
        "Rank %" PRId64 " is in step %" PRId64 " and not in step %" PRId64
        ", where other ranks are.",
        known->rank, known->step, step->step);
    finding->suggestion = "Copy it, too; if it was never written, that rank "
                          "stopped or was not to be dumped.";
    return TP_OK;
}

/* The steps that one rank lacks: both are sorted by step. */
static enum tp_status check_rank(const struct tp_dump_checker *checker,
                                 const struct tp_dump_place *const *places,
                                 size_t count, struct tp_error *err)
{
    const struct tp_dump *dump = checker->dump;
    enum tp_status status = TP_OK;
    int64_t step = -1;
    for (size_t i = 0, at = 0; i < dump->place_count && status == TP_OK; i++) {
        const struct tp_dump_place *place = &dump->places[i];
        if (place->step == step || place->rank < 0)
            continue;
        step = place->step;
        while (at < count && places[at]->step < step)
            at++;
        if (at == count || places[at]->step != step)
            status = add_absent(checker, places[0], place, err);
    }
    return status;
}

/* --- the whole ------------------------------------------------------------ */

static int compare_ranks(const void *left, const void *right)
{
    const struct tp_dump_place *a = *(const struct tp_dump_place *const *)left;
    const struct tp_dump_place *b = *(const struct tp_dump_place *const *)right;
    int result = tp_order_int64(a->rank, b->rank);
    return result ? result : (a > b) - (a < b); /* by step */
}

static enum tp_status check_all_steps(const struct tp_dump_checker *checker,
                                      const struct tp_dump_place *const *places,
                                      size_t count, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0, end; i < count && status == TP_OK; i = end) {
        for (end = i + 1; end < count && places[end]->rank == places[i]->rank;)
            end++;
        status = check_steps(checker, places + i, end - i, err);
        if (status == TP_OK && places[i]->rank >= 0)
            status = check_rank(checker, places + i, end - i, err);
    }
    return status;
}

enum tp_status tp_dump_check_sets(const struct tp_dump_checker *checker,
                                  struct tp_error *err)
{
    const struct tp_dump *dump = checker->dump;
    const struct tp_dump_place **places =
        calloc(dump->place_count, sizeof *places);
    size_t count = 0;
    if (!places)
        return tp_fail_memory(err);
    for (size_t i = 0; i < dump->place_count; i++)
        if (dump->places[i].step >= 0)
            places[count++] = &dump->places[i];
    if (count)
        qsort(places, count, sizeof *places, compare_ranks);
    enum tp_status status = check_ranks(checker, err);
    if (status == TP_OK)
        status = check_all_steps(checker, places, count, err);
    free(places);
    return status;
}
