/* SPDX-License-Identifier: MIT */
/*
 * The rows of a run (tensors/collect.h) become places, calls and items of a
 * dump, so that all else knows only these. Rows are sorted by iteration, rank,
 * and the order in which they were saved; neighbours with the same call are its
 * items, and a call that comes again is another one. The run is released: what
 * is kept of a tensor is some 300 bytes and where it lies. Cost: one reading of
 * all tensors, since statistics are compared, too.
 */
#include "compare/compare_side.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/intern.h"
#include "base/limits.h"
#include "base/order.h"
#include "tensors/collect.h"

/* Makes a dump of a run. */
struct maker {
    const struct tp_run *run;
    struct tp_dump *dump;
    struct tp_dump_place *place; /* the last one                            */
    struct tp_intern words;      /* of that place                           */
    bool samples, groups;        /* it has several                          */
    struct tp_text text;
};

/* --- in which order ------------------------------------------------------- */

static int compare_rows(const void *left, const void *right)
{
    const struct tp_row *a = *(const struct tp_row *const *)left;
    const struct tp_row *b = *(const struct tp_row *const *)right;
    int result = tp_order_int64(a->label.iteration, b->label.iteration);
    if (result == 0)
        result = tp_order_int64(a->label.rank, b->label.rank);
    if (result == 0)
        result = tp_order_uint64((uint64_t)a->label.counter,
                                 (uint64_t)b->label.counter); /* -1 is last */
    return result ? result : tp_order_place(a, b);
}

/* --- items ---------------------------------------------------------------- */

static const char *word(struct maker *m, const char *text)
{
    return tp_intern(&m->words, &m->place->arena, text);
}

static const char *take(struct maker *m)
{
    const char *kept = m->text.failed ? NULL : word(m, tp_text_get(&m->text));
    m->text.length = 0;
    if (m->text.data)
        m->text.data[0] = '\0';
    return kept;
}

static struct tp_dump_number real(double value)
{
    return (struct tp_dump_number){isnan(value) ? TP_JSON_NULL : TP_JSON_REAL,
                                   0, value};
}

/* As msprobe has them: of all elements, not of the finite ones. */
static void set_stats(const struct tp_row *row, struct tp_dump_item *item)
{
    const struct tp_counts *counts = &row->counts;
    double values[TP_DUMP_STATS] = {
        [TP_DUMP_MAX] = counts->pos_inf ? INFINITY : row->numbers.max,
        [TP_DUMP_MIN] = counts->neg_inf ? -INFINITY : row->numbers.min,
        [TP_DUMP_MEAN] = counts->pos_inf && counts->neg_inf ? NAN
                         : counts->pos_inf                  ? INFINITY
                         : counts->neg_inf                  ? -INFINITY
                                                            : row->numbers.mean,
        [TP_DUMP_NORM] = counts->pos_inf || counts->neg_inf
                             ? INFINITY
                             : row->numbers.l2_norm};
    for (int i = 0; i < TP_DUMP_STATS; i++) {
        item->stats[i] = real(counts->nan ? NAN : values[i]);
        if (counts->numel) /* a NaN is a value, too */
            item->stats[i].kind = TP_JSON_REAL;
    }
}

/* Fills in the shape from "[16,1,64]". */
static bool set_shape(struct maker *m, const char *text,
                      struct tp_dump_item *item)
{
    int64_t shape[TP_LIMIT_DIMS];
    for (const char *at = text + 1;
         *at && *at != ']' && item->dims < TP_LIMIT_DIMS;) {
        char *end;
        shape[item->dims++] = strtoll(at, &end, 10);
        at = *end == ',' ? end + 1 : end;
    }
    int64_t *kept =
        tp_arena_alloc(&m->place->arena, (size_t)item->dims * sizeof *kept);
    if (kept && item->dims)
        memcpy(kept, shape, (size_t)item->dims * sizeof *kept);
    item->shape = kept;
    item->has_shape = true;
    return kept != NULL;
}

static enum tp_msprobe_place place_of(const struct tp_row *row)
{
    return !strcmp(row->label.phase, "pre")    ? TP_MSPROBE_INPUT
           : !strcmp(row->label.phase, "post") ? TP_MSPROBE_OUTPUT
                                               : TP_MSPROBE_CALL;
}

static enum tp_status add_item(struct maker *m, const struct tp_row *row,
                               const char *argument, struct tp_error *err)
{
    struct tp_dump_item *item;
    enum tp_status status = tp_dump_item_add(m->place, &item, err);
    if (status != TP_OK)
        return status;
    item->kind = TP_DUMP_TENSOR;
    item->place = place_of(row);
    item->argument = word(m, argument);
    item->type = "torch.Tensor";
    tp_text_add(&m->text, "torch.%s", tp_dtype_info(row->dtype)->name);
    item->dtype = take(m);
    item->element = row->dtype;
    item->file = &m->dump->found.files[row->source];
    item->tensor = row->place;
    set_stats(row, item);
    return item->argument && item->dtype &&
                   set_shape(m, row->shape, item)
               ? TP_OK
               : tp_fail_memory(err);
}

/* --- calls ---------------------------------------------------------------- */

/* Whether the file of a row has several tensors. */
static bool is_one_of_many(const struct tp_run *run, const struct tp_row *row)
{
    const struct tp_row *end = run->rows + run->row_count;
    return (row > run->rows && row[-1].source == row->source) ||
           (row + 1 < end && row[1].source == row->source);
}

/* Whether labels say more than the key, which they may be made of. */
static bool has_labels(const struct tp_label *label)
{
    return !*label->module && (*label->layer_type || *label->operation);
}

/* Samples and groups are named where a place has several: which one a step is
 * of may differ between runs. */
static void add_call_name(const struct maker *m, const struct tp_row *row,
                          struct tp_text *text)
{
    const struct tp_label *label = &row->label;
    tp_text_add(text, "%s", *label->layer_type ? label->layer_type : "tensor");
    if (label->layer_idx >= 0)
        tp_text_add(text, ".L%" PRId64, label->layer_idx);
    if (*label->component)
        tp_text_add(text, ".%s", label->component);
    if (label->sample_idx >= 0 && m->samples)
        tp_text_add(text, ".sample%" PRId64, label->sample_idx);
    if (label->group_idx >= 0 && m->groups)
        tp_text_add(text, ".group%" PRId64, label->group_idx);
    tp_text_add(text, ".%" PRId64 "%s%s", row->ordinal,
                *label->operation ? "." : "", label->operation);
}

/* The name of the call a row is of, and in *argument what it is to it. */
static const char *call_name(struct maker *m, const struct tp_row *row,
                             const char **argument)
{
    const struct tp_label *label = &row->label;
    const bool many = is_one_of_many(m->run, row);
    *argument = "";
    if (!many && has_labels(label)) {
        *argument = label->tensor_name;
        add_call_name(m, row, &m->text);
    } else if (many || !*label->tensor_name) {
        tp_text_add(&m->text, "%s", *row->path ? row->path : "tensor");
    } else {
        tp_text_add(&m->text, "%s", label->tensor_name);
    }
    return take(m);
}

/* Adds a row to the call that is at hand, or to a new one. */
static enum tp_status add_row(struct maker *m, const struct tp_row *row,
                              struct tp_error *err)
{
    const char *argument;
    const char *name = call_name(m, row, &argument);
    struct tp_dump_place *place = m->place;
    struct tp_dump_call *call =
        place->call_count ? &place->calls[place->call_count - 1] : NULL;
    enum tp_status status = name ? TP_OK : tp_fail_memory(err);
    if (status == TP_OK && (!call || strcmp(call->key, name)))
        status = tp_dump_call_add(place, name, &call, err);
    if (status == TP_OK)
        status = add_item(m, row, argument, err);
    if (status == TP_OK)
        call->count++;
    return status;
}

/* --- places --------------------------------------------------------------- */

/* Notes what the rows of a place tell, which begin here, before `end`. */
static void look_ahead(struct maker *m, const struct tp_row *const *at,
                       const struct tp_row *const *end)
{
    const struct tp_label *first = &(*at)->label;
    int64_t sample = -1, group = -1;
    m->samples = m->groups = false;
    for (; at < end && (*at)->label.iteration == first->iteration &&
           (*at)->label.rank == first->rank;
         at++) {
        const struct tp_label *label = &(*at)->label;
        m->samples |= sample >= 0 && label->sample_idx >= 0 &&
                      label->sample_idx != sample;
        m->groups |=
            group >= 0 && label->group_idx >= 0 && label->group_idx != group;
        sample = label->sample_idx >= 0 ? label->sample_idx : sample;
        group = label->group_idx >= 0 ? label->group_idx : group;
    }
}

static enum tp_status add_place(struct maker *m, const struct tp_row *row,
                                const char *directory, struct tp_error *err)
{
    struct tp_dump *dump = m->dump;
    enum tp_status status =
        tp_grow(&dump->places, &dump->place_capacity, dump->place_count + 1,
                sizeof *dump->places, err);
    if (status != TP_OK)
        return status;
    tp_intern_clear(&m->words);
    memset(&m->words, 0, sizeof m->words);
    m->place = &dump->places[dump->place_count++];
    *m->place = (struct tp_dump_place){.directory = directory,
                                       .step = row->label.iteration,
                                       .rank = row->label.rank,
                                       .process = -1};
    for (int i = 0; i < TP_MSPROBE_HEADS; i++)
        m->place->heads[i] = "";
    for (int i = 0; i < TP_DUMP_JSONS; i++)
        m->place->sources[i] =
            (struct tp_dump_source){.offset = -1, .problem = ""};
    return TP_OK;
}

static enum tp_status make_places(struct maker *m,
                                  const struct tp_dump_wish *wish,
                                  struct tp_error *err)
{
    const struct tp_run *run = m->run;
    const struct tp_row **sorted = calloc(run->row_count + 1, sizeof *sorted);
    const char *root =
        tp_arena_text(&m->dump->arena, wish->roots[0], strlen(wish->roots[0]));
    enum tp_status status = sorted && root ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < run->row_count && status == TP_OK; i++)
        sorted[i] = &run->rows[i];
    if (status == TP_OK && run->row_count)
        qsort(sorted, run->row_count, sizeof *sorted, compare_rows);
    for (size_t i = 0; i < run->row_count && status == TP_OK; i++) {
        const struct tp_label *label = &sorted[i]->label;
        if (!tp_number_set_has(&wish->steps, label->iteration) ||
            !tp_number_set_has(&wish->ranks, label->rank))
            continue;
        if (!m->place || m->place->step != label->iteration ||
            m->place->rank != label->rank) {
            status = add_place(m, sorted[i], root, err);
            look_ahead(m, sorted + i, sorted + run->row_count);
        }
        if (status == TP_OK)
            status = add_row(m, sorted[i], err);
    }
    free(sorted);
    return status;
}

/* --- directories of tensors ----------------------------------------------- */

/* What of a file could not be read. A name that is not UTF-8 is another in
 * rows. */
static enum tp_status keep_problem(struct tp_dump *dump,
                                   const struct tp_skipped *skipped,
                                   struct tp_error *err)
{
    struct tp_error why = {.code = TP_OK};
    const size_t at = tp_found_index(&dump->found, skipped->file);
    tp_fail(&why, TP_E_DAMAGED, skipped->offset, "%s", skipped->reason);
    if (at < dump->found.count)
        return tp_found_fail(&dump->found.files[at], skipped->path, &why, err);
    tp_notes_add(&dump->notes,
                 tp_arena_format(&dump->arena, "not read: %s: %s",
                                 skipped->file, skipped->reason));
    return TP_OK;
}

static enum tp_status keep_problems(const struct tp_run *run,
                                    struct tp_compare_side *side,
                                    struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < run->skipped_count && status == TP_OK; i++) {
        const struct tp_skipped *skipped = &run->skipped[i];
        if (!skipped->damage)
            continue;
        side->damaged++;
        if (*skipped->file) /* else it is one of `found` */
            status = keep_problem(&side->dump, skipped, err);
    }
    return status;
}

static enum tp_status read_tensors(const struct tp_dump_read_options *options,
                                   struct tp_compare_side *side,
                                   struct tp_error *err)
{
    const struct tp_collect_options how = {.roots = options->wish.roots,
                                           .root_count =
                                               options->wish.root_count,
                                           .dims = TP_DIMS_NONE,
                                           .stop = options->stop};
    struct tp_run run = {0};
    struct maker maker = {.run = &run, .dump = &side->dump};
    enum tp_status status = tp_collect(options->pool, &how, &run, err);
    side->dump.found = run.files;
    run.files = (struct tp_found_list){.count = 0};
    if (status == TP_OK)
        status = make_places(&maker, &options->wish, err);
    if (status == TP_OK)
        status = keep_problems(&run, side, err);
    for (size_t i = 0; i < side->dump.place_count && status == TP_OK; i++)
        status = tp_dump_calls_index(&side->dump.places[i], err);
    tp_intern_clear(&maker.words);
    tp_text_clear(&maker.text);
    tp_run_clear(&run);
    return status;
}

/* --- all ------------------------------------------------------------------ */

static bool is_json(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && !strcmp(dot, ".json");
}

/* Whether a root is a file with tensors. */
static bool is_tensor_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && !is_json(path) &&
           !tp_dump_names(path);
}

/* Counts the json files that could not be read whole; old versions of msprobe
 * leave those empty that have nothing to tell. */
static void count_sources(struct tp_compare_side *side)
{
    const struct tp_dump *dump = &side->dump;
    for (size_t i = 0; i < dump->place_count; i++)
        for (int k = 0; k < TP_DUMP_JSONS; k++) {
            const struct tp_dump_source *source = &dump->places[i].sources[k];
            const struct tp_found_problem *problem =
                source->file ? source->file->problems : NULL;
            side->damaged += problem && problem->damage;
        }
}

static enum tp_status check_kind(const struct tp_dump *dump,
                                 struct tp_error *err)
{
    for (size_t i = 0; i < dump->place_count; i++) {
        const struct tp_dump_place *place = &dump->places[i];
        const char *framework = place->heads[TP_MSPROBE_FRAMEWORK];
        const char *level = place->heads[TP_MSPROBE_LEVEL];
        enum tp_status status = TP_OK;
        if (*framework && strcmp(framework, "pytorch") != 0)
            status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                             "a dump of framework %s: only those of pytorch "
                             "can be compared",
                             framework);
        else if (!strcmp(level, "L2"))
            status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                             "a dump of level L2 (kernels) has no calls to "
                             "compare; dump with level L0, L1 or mix");
        if (status != TP_OK) {
            tp_error_in_file(err, place->directory);
            return status;
        }
    }
    return TP_OK;
}

enum tp_status tp_compare_side_open(const struct tp_dump_read_options *options,
                                    struct tp_compare_side *side,
                                    struct tp_error *err)
{
    struct tp_error first = {0};
    enum tp_status status = TP_E_NOT_FOUND;
    if (!is_tensor_file(options->wish.roots[0]))
        status = tp_dump_read(options, &side->dump, &first);
    side->msprobe = status == TP_OK;
    if (side->msprobe) {
        count_sources(side);
        return check_kind(&side->dump, err);
    }
    if (status == TP_E_NOT_FOUND) {
        tp_dump_clear(&side->dump);
        status = read_tensors(options, side, err);
        if (status != TP_OK || side->dump.place_count)
            return status;
        return tp_fail(err, TP_E_NOT_FOUND, -1,
                       "%s has no dump of msprobe and no tensors%s",
                       options->wish.roots[0],
                       options->wish.steps.count || options->wish.ranks.count
                           ? " of a step and rank that was asked for"
                           : "");
    }
    *err = first;
    return status;
}

void tp_compare_side_clear(struct tp_compare_side *side)
{
    tp_dump_clear(&side->dump);
    memset(side, 0, sizeof *side);
}
