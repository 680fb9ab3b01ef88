/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700

#include <criterion/criterion.h>
#include <dirent.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "replay/digest_set.h"
#include "replay/replay.h"
#include "replay/sum_terms.h"
#include "tests/unit/support/dump_maker.h"
#include "tests/unit/support/op_vectors.h"
#include "tests/unit/support/testdata.h"

/* Every operator against torch in float64, forward and backward: an element may
 * differ by what its bound says of float64, doubled as both sides may be off,
 * and by no more than TOLERANCE of the largest one of its tensor. */

#define TOLERANCE 1e-12

enum { MOST_ROWS = 512, CASES = 20 };

struct seen {
    const char *path;
    int calls[MOST_ROWS], backward[MOST_ROWS]; /* that are no repetition  */
    struct tp_digest_set calls_seen, names_seen;
    size_t moved, found; /* results that were changed, and noticed          */
    size_t skipped;      /* calls without one of their arguments            */
    size_t sums[TP_ADDENDS_WEIGHT + 1]; /* results whose addends are known  */
    struct maker maker; /* of files                                        */
};

/* Where calls of a row are counted: those of tensor_saver behind the others. */
static size_t number_of(const struct tp_operator *row)
{
    size_t count = 0;
    while (tp_operators[count].names && row != &tp_operators[count])
        count++;
    return tp_operators[count].names
               ? count
               : count + (size_t)(row - tp_saved_operators);
}

static bool is_saved(const struct op_vector *v)
{
    return v->calls[0].name.type.length == strlen("Layer") &&
           !memcmp(v->calls[0].name.type.at, "Layer", strlen("Layer"));
}

static const struct tp_operator *row_of(const struct op_vector *v)
{
    const struct tp_msprobe_part name = v->calls[0].name.path;
    return is_saved(v) ? tp_saved_operator_of(name) : tp_operator_of(name);
}

static double limit_of(const struct tp_array *computed, int64_t i)
{
    const double u = tp_dtype_rounding(computed->dtype);
    const double v = fabs(computed->value[i]);
    const double b = computed->bound ? computed->bound[i] : 0;
    return u > 0 ? 2 * (b + u * (v + b)) + DBL_MIN : 0;
}

static double largest(const struct tp_array *array)
{
    double most = 0;
    for (int64_t i = 0; i < array->count; i++)
        if (isfinite(array->value[i]))
            most = fmax(most, fabs(array->value[i]));
    return most;
}

static bool agrees(const struct tp_array *computed, int64_t i, double expected)
{
    const double v = computed->value[i];
    if (isnan(expected) || isnan(v))
        return isnan(expected) && isnan(v);
    return v == expected || fabs(v - expected) <= limit_of(computed, i);
}

/* What is not noticed would be a check that cannot fail. */
static void move_one(const struct tp_array *computed,
                     const struct tp_array *expected, struct seen *seen)
{
    const double scale = largest(expected);
    for (int64_t i = 0; i < expected->count; i++) {
        const double v = expected->value[i];
        if (!isfinite(v) || scale == 0 || fabs(v) < 1e-3 * scale)
            continue;
        seen->moved++;
        seen->found += !agrees(computed, i, v * (1 + 1e-9) + 1e-30);
        return;
    }
}

static void compare(const struct op_vector *v, int which, size_t k,
                    const struct tp_array *computed, struct seen *seen)
{
    const struct tp_array *expected = op_vector_result(v, which, k);
    cr_assert_not_null(expected, "%s:%d", seen->path, v->line);
    if (computed->loose)
        return;
    cr_assert_eq(computed->count, expected->count, "%s:%d", seen->path,
                 v->line);
    const double scale = largest(expected);
    for (int64_t i = 0; i < expected->count; i++) {
        const double x = computed->value[i], y = expected->value[i];
        const bool kink = limit_of(computed, i) > 1e-3 * fabs(x) && y != x;
        cr_expect(agrees(computed, i, y) &&
                      (kink || !(fabs(x - y) > TOLERANCE * scale + DBL_MIN)),
                  "%s:%d: %s %zu[%d] is %.17g, torch %.17g, bound %g",
                  seen->path, v->line, v->key[which], k, (int)i, x, y,
                  computed->bound ? computed->bound[i] : 0);
    }
    if (computed->dtype == TP_FLOAT64)
        move_one(computed, expected, seen);
}

/* What a result is said to be the sum of adds up to what torch has. */
static void add_up(const struct op_vector *v, int which, size_t k,
                   const struct tp_replay_call *replay,
                   const struct tp_operator *row, struct seen *seen)
{
    const struct tp_array *computed = &replay->outputs[k],
                          *expected = op_vector_result(v, which, k);
    for (int64_t i = 0; i < computed->count; i++) {
        const struct tp_addend_list list =
            tp_sum_terms(replay, row, computed, i);
        double sum = 0;
        for (int64_t at = 0; at < list.count; at++)
            sum += list.value[at] / list.divisor;
        const double limit = 8 * limit_of(computed, i);
        cr_expect(list.count == 0 || sum == expected->value[i] ||
                      !(fabs(sum - expected->value[i]) > limit),
                  "%s:%d: %s %zu[%d] is %.17g, its addends %.17g", seen->path,
                  v->line, v->key[which], k, (int)i, expected->value[i], sum);
        free(list.value);
    }
    if (computed->addends && computed->count > 0)
        seen->sums[computed->addends->kind]++;
}

static void run(struct op_vector *v, int which, const struct tp_operator *row,
                struct seen *seen)
{
    struct tp_replay_call replay;
    struct tp_error err = {0};
    cr_assert(op_vector_load(v, which, row->signature, &replay));
    enum tp_status status = tp_replay_run(&replay, row, &err);
    cr_expect_eq(status, TP_OK, "%s:%d: %s: %s", seen->path, v->line,
                 v->key[which], err.message);
    for (size_t k = 0; status == TP_OK && k < replay.output_count; k++)
        compare(v, which, k, &replay.outputs[k], seen);
    for (size_t k = 0; status == TP_OK && k < replay.output_count; k++)
        add_up(v, which, k, &replay, row, seen);
    if (status == TP_OK)
        cr_expect_null(op_vector_result(v, which, replay.output_count),
                       "%s:%d: a result is not made", seen->path, v->line);
    tp_replay_call_clear(&replay);
}

/* Whether no call before had this API and these arguments. */
static bool is_fresh(const struct op_vector *v, struct seen *seen)
{
    const struct tp_msprobe_part name = v->calls[0].name.path;
    const size_t before = seen->calls_seen.count;
    struct tp_error err;
    cr_assert_eq(tp_digest_set_add(&seen->names_seen,
                                   tp_hash_bytes(name.at, name.length), &err),
                 TP_OK);
    cr_assert_eq(tp_digest_set_add(&seen->calls_seen, v->digest, &err), TP_OK);
    return seen->calls_seen.count > before;
}

/* A tensor as numpy writes it. */
static void write_npy(const struct tp_array *array, const char *path)
{
    char shape[256] = "", head[512];
    size_t used = 0;
    for (int i = 0; i < array->dims; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%d,",
                                 (int)array->shape[i]);
    const int length = snprintf(
        head, sizeof head,
        "{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }", shape);
    const int padded = (10 + length + 1 + 63) / 64 * 64 - 10;
    const unsigned char magic[10] = {0x93,
                                     'N',
                                     'U',
                                     'M',
                                     'P',
                                     'Y',
                                     1,
                                     0,
                                     (unsigned char)padded,
                                     (unsigned char)(padded >> 8)};
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file, "%s", path);
    fwrite(magic, 1, sizeof magic, file);
    fprintf(file, "%s%*s", head, padded - length, "\n");
    fwrite(array->value, sizeof *array->value, (size_t)array->count, file);
    cr_assert_eq(fclose(file), 0);
}

/* Results of tensor_saver are files, which its operators look at. */
static void give_files(struct op_vector *v, const struct maker *maker)
{
    for (size_t i = 0; i < v->calls[0].count; i++) {
        char name[32], path[4096];
        struct tp_dump_item *item = &v->items[i];
        if (item->place != TP_MSPROBE_OUTPUT || item->kind != TP_DUMP_TENSOR)
            continue;
        snprintf(name, sizeof name, "%d_%zu.npy", v->line, i);
        maker_path(maker, name, path, sizeof path);
        write_npy(&v->arrays[i], path);
        item->file = tp_arena_alloc(&v->arena, sizeof *item->file);
        cr_assert_not_null(item->file);
        *item->file = (struct tp_found){
            .path = tp_arena_text(&v->arena, path, strlen(path))};
    }
}

static void see(struct op_vector *v, void *context)
{
    struct seen *seen = context;
    const struct tp_operator *row = row_of(v);
    cr_expect_not_null(row, "%s:%d: no operator %s", seen->path, v->line,
                       v->key[0]);
    if (!row)
        return;
    const bool fresh = is_fresh(v, seen);
    seen->calls[number_of(row)] += fresh;
    if (is_saved(v))
        give_files(v, &seen->maker);
    if (row->run)
        run(v, 0, row, seen);
    if (v->calls[1].count == 0)
        return;
    seen->backward[number_of(row)] += fresh;
    run(v, 1, row, seen);
}

static void see_files(op_vector_fn *each, struct seen *seen)
{
    char path[4096];
    testdata_path("op_vectors", path, sizeof path);
    DIR *folder = opendir(path);
    cr_assert_not_null(folder, "%s", path);
    for (struct dirent *entry; (entry = readdir(folder));) {
        const char *end = strrchr(entry->d_name, '.');
        if (!end || strcmp(end, ".txt") != 0)
            continue;
        char file[8192];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        seen->path = entry->d_name;
        cr_expect(op_vectors_each(file, each, seen));
    }
    closedir(folder);
}

/* Whether there was a call by a name: add, add_, __add__ or __iadd__. */
static bool has_call(const struct seen *seen, const char *name, size_t length)
{
    static const char *const forms[] = {"%.*s", "%.*s_", "__%.*s__",
                                        "__i%.*s__"};
    char text[128];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        snprintf(text, sizeof text, forms[i], (int)length, name);
        if (tp_digest_set_has(&seen->names_seen,
                              tp_hash_bytes(text, strlen(text))))
            return true;
    }
    return false;
}

static void expect_names(const struct seen *seen, const char *names)
{
    for (const char *at = names; *at;) {
        const size_t length = strcspn(at, " ");
        cr_expect(has_call(seen, at, length), "no call by the name %.*s",
                  (int)length, at);
        at += length + (at[length] == ' ');
    }
}

/* Whether all operators of a table had as many calls as they need. */
static void expect_calls(const struct seen *seen,
                         const struct tp_operator *rows)
{
    for (const struct tp_operator *row = rows; row->names; row++) {
        const size_t i = number_of(row);
        if (!row->run && !row->back)
            continue;
        expect_names(seen, row->names);
        cr_expect_geq(seen->calls[i], CASES, "%s: %d calls", row->names,
                      seen->calls[i]);
        cr_expect(!row->back || seen->backward[i] >= CASES,
                  "%s: %d backward calls", row->names, seen->backward[i]);
    }
}

Test(operators_vectors, are_what_torch_computes, .timeout = 600)
{
    static struct seen seen;
    seen.maker = maker_begin();
    see_files(see, &seen);
    maker_end(&seen.maker);
    expect_calls(&seen, tp_operators);
    expect_calls(&seen, tp_saved_operators);
    for (int kind = TP_ADDENDS_LIST; kind <= TP_ADDENDS_WEIGHT; kind++)
        cr_expect_gt(seen.sums[kind], CASES, "%d: %zu", kind, seen.sums[kind]);
    cr_expect_geq(seen.found * 100, seen.moved * 99, "%zu of %zu", seen.found,
                  seen.moved);
    tp_digest_set_clear(&seen.calls_seen);
    tp_digest_set_clear(&seen.names_seen);
}

/* --- arguments that msprobe does not record ------------------------------- */

/* Whether torch takes None for an argument of this name; then null says so. */
static bool may_be_none(const struct tp_operator *row, const char *argument)
{
    static const char names[] =
        " weight bias running_mean running_var stride "
        "min max value dim scale_factor attn_mask scale nan posinf neginf ";
    const char *at = row->signature;
    char name[64];
    for (long i = strtol(argument, NULL, 10); i > 0 && *at; i--)
        at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',');
    snprintf(name, sizeof name, " %.*s ", (int)strcspn(at, ",="), at);
    return strstr(names, name) != NULL;
}

/* What was made is what torch gave, or nothing was. */
static void expect_no_guess(const struct op_vector *v,
                            const struct tp_replay_call *replay,
                            const char *argument, const struct seen *seen)
{
    for (size_t k = 0; k < replay->output_count; k++) {
        const struct tp_array *expected = op_vector_result(v, 0, k);
        const struct tp_array *computed = &replay->outputs[k];
        for (int64_t i = 0; !computed->loose && i < computed->count; i++)
            cr_expect(agrees(computed, i, expected->value[i]),
                      "%s:%d: guessed without argument %s", seen->path, v->line,
                      argument);
    }
}

/* Runs a call whose item i is one that msprobe does not record. */
static void hide_one(struct op_vector *v, const struct tp_operator *row,
                     size_t i, struct seen *seen)
{
    struct tp_replay_call replay;
    struct tp_error err = {0};
    const enum tp_dump_kind kind = v->items[i].kind;
    const struct tp_array array = v->arrays[i];
    v->items[i].kind = TP_DUMP_NOTHING;
    v->arrays[i] = (struct tp_array){.dims = 0};
    cr_assert(op_vector_load(v, 0, row->signature, &replay));
    const enum tp_status status = tp_replay_run(&replay, row, &err);
    v->items[i].kind = kind;
    v->arrays[i] = array;
    seen->skipped += status != TP_OK;
    if (status != TP_OK)
        cr_expect(status == TP_E_UNSUPPORTED && err.message[0], "%s:%d: %s",
                  seen->path, v->line, err.message);
    else if (!may_be_none(row, v->items[i].argument))
        expect_no_guess(v, &replay, v->items[i].argument, seen);
    tp_replay_call_clear(&replay);
}

static void hide_each(struct op_vector *v, void *context)
{
    const struct tp_operator *row = tp_operator_of(v->calls[0].name.path);
    for (size_t i = 0; row && row->run && i < v->calls[0].count; i++)
        if (v->items[i].place == TP_MSPROBE_INPUT)
            hide_one(v, row, i, context);
}

Test(operators_vectors, what_is_not_recorded_is_not_guessed, .timeout = 600)
{
    static struct seen seen;
    see_files(hide_each, &seen);
    cr_expect_gt(seen.skipped, 1000, "%zu", seen.skipped);
}

/* --- arguments that contradict the result --------------------------------- */

/* Whether all that was made is what torch gave. */
static bool is_as_before(const struct op_vector *v,
                         const struct tp_replay_call *replay)
{
    for (size_t k = 0; k < replay->output_count; k++) {
        const struct tp_array *expected = op_vector_result(v, 0, k);
        const struct tp_array *computed = &replay->outputs[k];
        for (int64_t i = 0; i < computed->count && !computed->loose; i++)
            if (!agrees(computed, i, expected->value[i]))
                return false;
    }
    return true;
}

/* Whether an operator takes any number: of elements, an order, a shift, a
 * length that may be more than there is. */
static bool takes_any(const struct tp_operator *row)
{
    static const char names[] = " norm vector_norm _foreach_norm std tril triu "
                                "roll split cross_entropy nll_loss "
                                "npu_fusion_attention ";
    char name[64];
    snprintf(name, sizeof name, " %.*s ", (int)strcspn(row->names, " "),
             row->names);
    return row->point || strstr(names, name);
}

static void enlarge_each(struct op_vector *v, void *context)
{
    struct seen *seen = context;
    const struct tp_operator *row = tp_operator_of(v->calls[0].name.path);
    for (size_t i = 0; row && row->run && i < v->calls[0].count; i++) {
        struct tp_replay_call replay;
        struct tp_error err = {0};
        struct tp_json *value = (struct tp_json *)v->items[i].value;
        if (v->items[i].kind != TP_DUMP_VALUE || value->kind != TP_JSON_INTEGER)
            continue;
        const struct tp_json own = *value;
        value->integer = (int64_t)1 << 40;
        value->real = (double)value->integer;
        cr_assert(op_vector_load(v, 0, row->signature, &replay));
        const enum tp_status status = tp_replay_run(&replay, row, &err);
        seen->skipped += status != TP_OK;
        if (status == TP_OK && is_as_before(v, &replay))
            cr_expect(takes_any(row) || replay.outputs[0].count == 0,
                      "%s:%d: %s takes any argument %s", seen->path, v->line,
                      v->key[0], v->items[i].argument);
        *value = own;
        tp_replay_call_clear(&replay);
    }
}

Test(operators_vectors, what_is_said_is_not_ignored, .timeout = 600)
{
    static struct seen seen;
    see_files(enlarge_each, &seen);
    cr_expect_gt(seen.skipped, 1000, "%zu", seen.skipped);
}
