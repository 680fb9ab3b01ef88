/* SPDX-License-Identifier: MIT */
/*
 * dtype, shape and statistics of a file against its entry. Max and Min are
 * values of the tensor and must be equal; Mean and Norm were computed in the
 * tensor's own dtype, by a device in an order that nobody knows, and get the
 * room that its rounding needs. What is not said (null) is not judged. Cost:
 * some comparisons an item.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dump/dump_checks.h"
#include "formats/json/json_python.h"

static const char *const stat_names[TP_DUMP_STATS] = {"Max", "Min", "Mean",
                                                      "Norm"};

/* What a statistic was computed in. */
struct room {
    double mean; /* of mean |x|: some hundred units of the last place      */
    double norm; /* of itself: bf16 squares and sums keep 8 bits           */
    double max;  /* a larger Norm has become infinite                      */
    double step; /* the smallest positive number                           */
};

/* Measured on CPUs over 8013 tensors: 1.3e-7, 2.1e-4, 4.8e-3 of the mean and
 * 2.7e-7, 2.5e-4, 3.1e-2 of the norm; devices sum in lower precision. */
static struct room room_of(enum tp_dtype dtype)
{
    switch (dtype) {
    case TP_FLOAT16:
        return (struct room){1e-3, 1e-3, 65504, 0x1p-24};
    case TP_BFLOAT16:
        return (struct room){2e-2, 1e-1, 0x1p127, 0x1p-133};
    default: /* squares of float32 overflow from here on */
        return (struct room){1e-6, 1e-6, 0x1p64, 0x1p-149};
    }
}

/* Sums of up to so many terms are within the measured room. */
enum { SHORT_SUM = 1 << 16 };

/* A mean is summed as a tree: errors grow with its depth at best, with the root
 * of the number of terms where they point either way. */
static double room_of_mean(const struct room *room, uint64_t terms)
{
    return terms > SHORT_SUM ? room->mean * sqrt((double)terms / SHORT_SUM)
                             : room->mean;
}

/*
 * A norm is not, on a CPU: torch adds squares one after the other in float32,
 * in four lanes or more where memory is contiguous, in a single one where it
 * is not (chunk, transpose). Each sum is off by up to 2^-24 of itself; the root
 * halves that. So 2^-25 for each term at worst, from the first one on. Seen
 * with torch 2.15, one lane of random terms: 1.1e-6 for 2^11, 4.5e-6 for 2^15;
 * four: 1e-5 for 2^20, 6e-4 for 2^24, and 0.29 for 2^26 equal terms.
 */
static double room_of_norm(const struct room *room, uint64_t terms)
{
    return room->norm + (double)terms * 0x1p-25;
}

/* A statistic as it should be. */
struct wanted {
    double value;    /* NaN, infinite: exactly that                           */
    double slack;    /* how far off it may be                                 */
    bool may_be_inf; /* what it was summed from may have overflowed        */
};

static double signed_mean(const struct tp_dump_measure *m)
{
    if (m->pos_inf && m->neg_inf)
        return NAN;
    if (m->pos_inf || m->neg_inf)
        return m->pos_inf ? INFINITY : -INFINITY;
    return m->mean;
}

static struct wanted want_mean(const struct tp_dump_measure *m,
                               const struct room *room)
{
    const double n = (double)m->values;
    return (struct wanted){
        .value = signed_mean(m),
        .slack = room_of_mean(room, m->values) * m->mean_abs + room->step,
        .may_be_inf = n * m->mean_abs > 0x1p127}; /* in float32 */
}

/* Of values below 2^-63 the squares are no normal float32. */
static struct wanted want_norm(const struct tp_dump_measure *m,
                               const struct room *room)
{
    const double tiny = sqrt((double)m->values) * 0x1p-63;
    return (struct wanted){
        .value = m->pos_inf || m->neg_inf ? INFINITY : m->norm,
        .slack = room_of_norm(room, m->values) * m->norm + room->step + tiny,
        .may_be_inf = m->norm > room->max * (1 - room->norm)};
}

/* Statistics of a tensor that is no scalar. */
static struct wanted want(const struct tp_dump_checked *checked,
                          enum tp_dump_stat stat)
{
    const struct tp_dump_measure *m = &checked->measure;
    const struct room room = room_of(checked->element);
    const bool complex =
        tp_dtype_info(checked->element)->kind == TP_CLASS_COMPLEX;
    if (m->nan)
        return (struct wanted){.value = NAN};
    if (stat == TP_DUMP_MEAN)
        return want_mean(m, &room);
    if (stat == TP_DUMP_NORM)
        return want_norm(m, &room);
    const double value = stat == TP_DUMP_MAX ? m->max : m->min;
    /* magnitudes are rounded by whoever takes them */
    return (struct wanted){.value = value,
                           .slack = complex ? 1e-6 * fabs(value) : 0};
}

/* A scalar stands for all its statistics, with its sign. */
static struct wanted want_scalar(const struct tp_dump_checked *checked)
{
    const struct tp_dump_measure *m = &checked->measure;
    return (struct wanted){.value = m->nan ? NAN : m->max};
}

/* float64 went through float32 in some versions. */
static bool agrees(double told, const struct wanted *wanted,
                   enum tp_dtype element)
{
    if (wanted->may_be_inf && !isfinite(told))
        return true;
    if (isnan(wanted->value) || isnan(told))
        return isnan(wanted->value) && isnan(told);
    if (told == wanted->value || fabs(told - wanted->value) <= wanted->slack)
        return true;
    return element == TP_FLOAT64 && told == (double)(float)wanted->value;
}

/* msprobe says nothing of these, or of what they were made from. */
static bool is_judged(const struct tp_dump_at *at, enum tp_dump_stat stat)
{
    const struct tp_dump_checked *checked = at->checked;
    const enum tp_dtype element = checked->element;
    if (at->item->stats[stat].kind == TP_JSON_NULL || *checked->shape ||
        checked->measure.values == 0)
        return false;
    /* squares of such float64 values fit neither float32 nor a sum of ours */
    if (element == TP_FLOAT64 && stat == TP_DUMP_NORM)
        return checked->measure.norm < FLT_MAX;
    return true;
}

/* Adds "Max 1.5", after a comma where it is not the first. */
static void add_number(const char *name, double value, struct tp_text *text)
{
    tp_text_add(text, "%s%s ", text->length ? ", " : "", name);
    tp_python_float(value, text);
}

static bool is_scalar(const struct tp_dump_at *at)
{
    return at->item->has_shape && at->item->dims == 0 &&
           tp_dtype_info(at->checked->element)->kind != TP_CLASS_COMPLEX;
}

/* Lists the statistics that differ, as told and as found. */
static void compare_statistics(const struct tp_dump_checker *checker,
                               const struct tp_dump_at *at,
                               struct tp_text *told, struct tp_text *found)
{
    for (int i = 0; i < TP_DUMP_STATS; i++) {
        const enum tp_dump_stat stat = (enum tp_dump_stat)i;
        if (!is_judged(at, stat))
            continue;
        const struct wanted wanted =
            is_scalar(at) ? want_scalar(at->checked) : want(at->checked, stat);
        const double value = at->item->stats[stat].real;
        checker->integrity->statistics++;
        if (agrees(value, &wanted, at->checked->element))
            continue;
        add_number(stat_names[stat], value, told);
        add_number(stat_names[stat], wanted.value, found);
    }
}

static enum tp_status check_statistics(const struct tp_dump_checker *checker,
                                       const struct tp_dump_at *at,
                                       struct tp_error *err)
{
    struct tp_dump_findings *findings = checker->findings;
    struct tp_dump_finding *finding;
    struct tp_text told = {0}, found = {0};
    enum tp_status status = TP_OK;
    compare_statistics(checker, at, &told, &found);
    findings->arena.failed |= told.failed || found.failed;
    if (told.length)
        status = tp_dump_check_add(checker, at, TP_CHECK_STATISTICS,
                                   TP_SEVERITY_HIGH, &finding, err);
    if (told.length && status == TP_OK) {
        finding->expected =
            tp_dump_finding_text(findings, "%s", tp_text_get(&told));
        finding->found =
            tp_dump_finding_text(findings, "%s", tp_text_get(&found));
        finding->evidence = tp_dump_finding_text(
            findings, "The entry says %s; %s holds %s.", tp_text_get(&told),
            at->item->data_name, tp_text_get(&found));
        finding->suggestion =
            "Do not compare with this tensor: the file belongs to another "
            "step, rank or call, or dump.json does. Copy both again from one "
            "and the same dump.";
    }
    tp_text_clear(&told);
    tp_text_clear(&found);
    return status;
}

/* --- dtype and shape ------------------------------------------------------ */

static bool is_float8(const char *dtype)
{
    return strstr(dtype, "float8") || strstr(dtype, "HiFloat8");
}

/* Older versions save what has 8 bits as float. */
static bool dtype_agrees(const struct tp_dump_at *at)
{
    const struct tp_dump_item *item = at->item;
    const enum tp_dtype element = at->checked->element;
    if (item->element == TP_DTYPE_COUNT || item->element == element)
        return true;
    return is_float8(item->dtype) &&
           tp_dtype_info(element)->kind == TP_CLASS_FLOAT;
}

static enum tp_status add_difference(const struct tp_dump_checker *checker,
                                     const struct tp_dump_at *at,
                                     enum tp_dump_check_id check,
                                     const char *expected, const char *found,
                                     struct tp_error *err)
{
    struct tp_dump_findings *findings = checker->findings;
    struct tp_dump_finding *finding;
    enum tp_status status =
        tp_dump_check_add(checker, at, check, TP_SEVERITY_HIGH, &finding, err);
    if (status != TP_OK)
        return status;
    finding->expected = tp_dump_finding_text(findings, "%s", expected);
    finding->found = tp_dump_finding_text(findings, "%s", found);
    finding->evidence =
        tp_dump_finding_text(findings, "The entry says %s; %s holds %s.",
                             expected, at->item->data_name, found);
    finding->suggestion = "The file is that of another call: copy both again "
                          "from one and the same dump.";
    return TP_OK;
}

static enum tp_status check_dtype(const struct tp_dump_checker *checker,
                                  const struct tp_dump_at *at,
                                  struct tp_error *err)
{
    struct tp_text found = {0};
    tp_text_add(&found, "torch.%s", tp_dtype_info(at->checked->element)->name);
    enum tp_status status = add_difference(
        checker, at, TP_CHECK_DTYPE, at->item->dtype, tp_text_get(&found), err);
    checker->findings->arena.failed |= found.failed;
    tp_text_clear(&found);
    return status;
}

static enum tp_status check_shape(const struct tp_dump_checker *checker,
                                  const struct tp_dump_at *at,
                                  struct tp_error *err)
{
    struct tp_text told = {0};
    tp_text_add(&told, "[");
    for (int i = 0; i < at->item->dims; i++)
        tp_text_add(&told, "%s%lld", i ? ", " : "",
                    (long long)at->item->shape[i]);
    tp_text_add(&told, "]");
    enum tp_status status =
        add_difference(checker, at, TP_CHECK_SHAPE, tp_text_get(&told),
                       at->checked->shape, err);
    checker->findings->arena.failed |= told.failed;
    tp_text_clear(&told);
    return status;
}

enum tp_status tp_dump_check_values(const struct tp_dump_checker *checker,
                                    const struct tp_dump_at *at,
                                    struct tp_error *err)
{
    const enum tp_dump_verify verify = checker->options->verify;
    enum tp_status status = TP_OK;
    if (verify == TP_VERIFY_NONE)
        return TP_OK;
    if (*at->checked->shape)
        status = check_shape(checker, at, err);
    if (status == TP_OK && !dtype_agrees(at))
        return check_dtype(checker, at, err); /* its numbers are others, too */
    if (status == TP_OK && verify != TP_VERIFY_CRC)
        status = check_statistics(checker, at, err);
    return status;
}
