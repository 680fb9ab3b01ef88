/* SPDX-License-Identifier: MIT */
/*
 * All calls of a dump are independent of each other, as each has its arguments
 * in the dump: they are handed to the threads one by one, each result goes into
 * a slot of its own, and what is told of them is put together in the order of
 * the calls. Cost: reading the tensors of each call twice (once judged, once
 * perturbed), which of small files the disk cache serves, and a run of the
 * kernel for each mode.
 */
#include "replay/replay_run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/notes.h"
#include "dump/dump_call.h"
#include "formats/json/json_python.h"
#include "replay/op_family.h"
#include "replay/replay_preheat.h"
#include "replay/replay_repeat.h"

/* What a call came to, before it is a row. */
struct slot {
    size_t place, call;
    struct tp_replay_verdict verdict;
    struct tp_perturbed perturbed;
    struct tp_dropout dropout;
    struct tp_explain explain;
    struct tp_replay_repair repair;
    struct tp_repeat repeat;
    enum tp_status status; /* of TP_E_MEMORY and TP_E_INTERRUPTED          */
    double limits[TP_PERTURB_MODES]; /* of ratios, with preheat            */
    uint64_t sample, sample_total;
};

struct work {
    const struct tp_dump *dump;
    const struct tp_replay_options *options;
    struct tp_perturb_wish wish; /* with what preheat needs               */
    struct slot *slots;
    size_t count, capacity;
    _Atomic uint64_t done;
    struct tp_replay_results *results;
};

static const struct tp_dump_call *call_of(const struct work *work,
                                          const struct slot *slot)
{
    return &work->dump->places[slot->place].calls[slot->call];
}

/* --- which calls ---------------------------------------------------------- */

/* Whether a call's name is one of `scope`, and has a part of `list`. */
static bool is_chosen(const struct tp_replay_options *options, const char *key)
{
    bool in_scope = options->scope_count == 0;
    bool in_list = options->list_count == 0;
    for (size_t i = 0; i < options->scope_count; i++)
        in_scope |= !strcmp(options->scope[i], key);
    for (size_t i = 0; i < options->list_count; i++)
        in_list |= strstr(key, options->list[i]) != NULL;
    return in_scope && in_list;
}

static bool is_forward(const struct tp_dump_call *call)
{
    return call->name.direction == TP_FORWARD;
}

static bool is_of(const struct tp_dump_call *call, enum tp_msprobe_kind kind)
{
    return call->known && call->name.kind == kind &&
           (is_forward(call) || call->name.direction == TP_BACKWARD);
}

static enum tp_status choose(struct work *work, struct tp_error *err)
{
    const struct tp_dump *dump = work->dump;
    const bool asks =
        work->options->scope_count + work->options->list_count > 0;
    for (size_t p = 0; p < dump->place_count; p++)
        for (size_t i = 0; i < dump->places[p].call_count; i++) {
            const struct tp_dump_call *call = &dump->places[p].calls[i];
            work->results->counts.modules +=
                is_of(call, TP_MSPROBE_MODULE) && is_forward(call);
            if (!is_of(call, TP_MSPROBE_API) ||
                !is_chosen(work->options, call->key))
                continue;
            enum tp_status status =
                tp_grow(&work->slots, &work->capacity, work->count + 1,
                        sizeof *work->slots, err);
            if (status != TP_OK)
                return status;
            work->slots[work->count++] = (struct slot){.place = p, .call = i};
        }
    if (work->count > 0 || !asks)
        return TP_OK;
    const struct tp_found *bad = tp_found_first_bad(&dump->found);
    return tp_fail(err, TP_E_NOT_FOUND, -1,
                   "no call has a name that scope and list choose%s%s%s%s",
                   bad ? "; not read: " : "", bad ? bad->path : "",
                   bad ? ": " : "", bad ? bad->problems->reason : "");
}

/* --- one call ------------------------------------------------------------- */

static void perturb(const struct work *work, struct slot *slot)
{
    struct tp_error err = {0};
    const struct tp_dump_place *place = &work->dump->places[slot->place];
    enum tp_status status = tp_perturbed_run(
        place, call_of(work, slot),
        slot->verdict.operator, & work->options->wish, &slot->perturbed, &err);
    if (status == TP_OK)
        return;
    tp_perturbed_clear(&slot->perturbed);
    if (status == TP_E_MEMORY) {
        slot->status = status;
        return;
    }
    slot->verdict.state = status == TP_E_UNSUPPORTED ? TP_REPLAY_UNSUPPORTED
                                                     : TP_REPLAY_UNREADABLE;
    snprintf(slot->verdict.reason, sizeof slot->verdict.reason, "%.399s",
             err.message);
}

/* Whether it is of the stage that is perturbed. */
static bool is_perturbed(const struct work *work, const struct slot *slot)
{
    return is_forward(call_of(work, slot)) != work->options->wish.backward;
}

/* Whether rounding as usual does not explain its results. */
static bool is_odd(const struct slot *slot)
{
    return slot->verdict.state == TP_REPLAY_JUDGED &&
           tp_replay_level_of(&slot->verdict) != TP_REPLAY_EXPLAINED;
}

/* What keeps the digits of a call that loses them. */
static enum tp_status repair(const struct work *work, struct slot *slot,
                             struct tp_error *err)
{
    const struct tp_dump_place *place = &work->dump->places[slot->place];
    const struct tp_dump_call *call = call_of(work, slot);
    if (tp_replay_is_wrong(&slot->verdict, &slot->explain))
        return TP_OK;
    if (is_odd(slot) && !slot->explain.id)
        return tp_repair_steps(place, call, &slot->verdict, &slot->repair, err);
    return slot->verdict.state == TP_REPLAY_JUDGED &&
                   slot->perturbed.amplification >
                       tp_perturbed_limit(slot->perturbed.rounding)
               ? tp_repair_condition(
                     place, call, slot->verdict.operator, & slot->repair, err)
               : TP_OK;
}

static void replay_one(void *context, size_t index, unsigned worker)
{
    struct work *work = context;
    struct slot *slot = &work->slots[index];
    struct tp_error err = {0};
    if (work->options->stop && *work->options->stop) {
        slot->status = TP_E_INTERRUPTED;
        return;
    }
    if (worker == 0 && work->options->progress)
        work->options->progress(work->options->progress_context, work->done,
                                work->count, 0, 0);
    work->done++;
    slot->status = tp_replay_judge(&work->dump->places[slot->place],
                                   call_of(work, slot), &slot->verdict, &err);
    if (slot->status == TP_OK && is_odd(slot))
        slot->status = tp_replay_explain(work->dump, slot->place, slot->call,
                                         &slot->verdict, &slot->explain, &err);
    if (slot->status == TP_OK && slot->verdict.state == TP_REPLAY_JUDGED &&
        is_perturbed(work, slot))
        perturb(work, slot);
    if (slot->status == TP_OK)
        slot->status = repair(work, slot, &err);
    if (!is_forward(call_of(work, slot)))
        return;
    if (slot->status == TP_OK && slot->verdict.state == TP_REPLAY_RANDOM)
        slot->status =
            tp_dropout_judge(&work->dump->places[slot->place],
                             call_of(work, slot), &slot->dropout, &err);
}

static const struct tp_dump_item *result_of(const struct work *work,
                                            const struct slot *slot,
                                            size_t number)
{
    const struct tp_replay_call replay = {
        .place = &work->dump->places[slot->place], .call = call_of(work, slot)};
    return tp_replay_result(&replay, number);
}

/* --- preheat -------------------------------------------------------------- */

/* Which one of the steps that its rank dumped a place is, from 0. */
static int64_t step_number(const struct tp_dump *dump, size_t place)
{
    int64_t number = 0;
    for (size_t i = 0; i < place; i++)
        number += dump->places[i].rank == dump->places[place].rank;
    return number;
}

static bool is_consistent(const struct slot *slot, enum tp_perturb_mode mode)
{
    for (size_t i = 0; i < slot->perturbed.flag_count; i++)
        if (slot->perturbed.flags[i].mode == mode)
            return false;
    return true;
}

static struct tp_preheat_call preheat_call(const struct work *work,
                                           const struct slot *slot,
                                           enum tp_perturb_mode mode)
{
    const struct tp_dump_call *call = call_of(work, slot);
    const struct tp_dump_item *item = result_of(work, slot, 0);
    const struct tp_msprobe_name *name = &call->name;
    const double worst = slot->perturbed.worst[mode];
    return (struct tp_preheat_call){
        .api = name->type.at,
        .api_length =
            (size_t)(name->path.at + name->path.length - name->type.at),
        .dtype = item ? item->dtype : "",
        .rank = work->dump->places[slot->place].rank,
        .step = step_number(work->dump, slot->place),
        .compared = slot->perturbed.ran[mode] && !isnan(worst),
        .ratio = worst + 1,
        .cpu_consistent = is_consistent(slot, TP_PERTURB_TO_CPU),
        .least = mode == TP_PERTURB_NO_CHANGE ? 1
                 : item ? tp_benchmark_limit(item->element)
                        : 1};
}

static enum tp_status preheat_mode(struct work *work, enum tp_perturb_mode mode,
                                   struct tp_error *err)
{
    struct tp_preheat_call *calls = calloc(work->count + 1, sizeof *calls);
    if (!calls)
        return tp_fail_memory(err);
    for (size_t i = 0; i < work->count; i++)
        calls[i] = preheat_call(work, &work->slots[i], mode);
    enum tp_status status =
        tp_preheat(calls, work->count, work->options->preheat_step,
                   work->options->max_sample, err);
    for (size_t i = 0; i < work->count; i++) {
        struct slot *slot = &work->slots[i];
        slot->limits[mode] = calls[i].limit;
        if (slot->sample == 0 && calls[i].sample) {
            slot->sample = calls[i].sample;
            slot->sample_total = calls[i].total;
        }
    }
    free(calls);
    return status;
}

/* Limits for every mode that has a ratio. */
static enum tp_status preheat(struct work *work, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (int mode = 0; mode < TP_PERTURB_MODES && status == TP_OK; mode++)
        if (work->wish.modes[mode] && mode != TP_PERTURB_TO_CPU)
            status = preheat_mode(work, (enum tp_perturb_mode)mode, err);
    return status;
}

/* Whether preheat lets a result pass. */
static bool lets_pass(const struct work *work, const struct slot *slot,
                      const struct tp_perturbed_flag *flag)
{
    const double limit = slot->limits[flag->mode];
    if (!work->options->wish.modes[flag->mode])
        return true; /* it only tells preheat about the processor           */
    return work->options->preheat_step && flag->mode != TP_PERTURB_TO_CPU &&
           (isinf(limit) ||
            (flag->kind == TP_PERTURBED_RATIO && flag->max_rel + 1 <= limit));
}

/* --- repeats -------------------------------------------------------------- */

/* How far the results of two calls are apart, relative, by L2 norms; NaN: not
 * known. */
static double distance(const struct work *work, const struct slot *a,
                       const struct slot *b)
{
    double change = 0, size = 0;
    const struct tp_dump_item *item;
    for (size_t i = 0; (item = result_of(work, a, i)); i++) {
        struct tp_array x = {.dims = 0}, y = {.dims = 0};
        struct tp_error err = {0};
        const struct tp_dump_item *other = result_of(work, b, i);
        if (!other || tp_array_read(item, &x, &err) != TP_OK ||
            tp_array_read(other, &y, &err) != TP_OK)
            size = NAN;
        for (int64_t k = 0; k < x.count && k < y.count; k++) {
            const double d = x.value[k] - y.value[k];
            change += isfinite(d) ? d * d : 0;
            size += isfinite(x.value[k]) ? x.value[k] * x.value[k] : 0;
        }
        tp_array_clear(&x);
        tp_array_clear(&y);
    }
    return sqrt(change / size);
}

static enum tp_status flag_repeat(struct work *work, struct slot *slot,
                                  struct tp_error *err)
{
    struct tp_perturbed *to = &slot->perturbed;
    const struct slot *first = &work->slots[slot->repeat.first];
    const double off = distance(work, first, slot);
    enum tp_status status = tp_grow(&to->flags, &to->flag_capacity,
                                    to->flag_count + 1, sizeof *to->flags, err);
    if (status != TP_OK)
        return status;
    to->flags[to->flag_count++] = (struct tp_perturbed_flag){
        .mode = TP_PERTURB_NO_CHANGE,
        .kind = isnan(off) ? TP_PERTURBED_UNKNOWN : TP_PERTURBED_RATIO,
        .max_rel = off};
    to->worst[TP_PERTURB_NO_CHANGE] = off;
    return TP_OK;
}

/* By our own rules no_change is what the run itself did again. */
static enum tp_status find_repeats(struct work *work, struct tp_error *err)
{
    struct tp_repeat *repeats = calloc(work->count + 1, sizeof *repeats);
    if (!repeats)
        return tp_fail_memory(err);
    for (size_t i = 0; i < work->count; i++) {
        const struct tp_replay_verdict *verdict = &work->slots[i].verdict;
        if (verdict->state == TP_REPLAY_JUDGED)
            repeats[i] = (struct tp_repeat){.given = verdict->given,
                                            .made = verdict->made};
    }
    enum tp_status status = tp_repeats_find(repeats, work->count, err);
    for (size_t i = 0; i < work->count && status == TP_OK; i++) {
        struct slot *slot = &work->slots[i];
        slot->repeat = repeats[i];
        if (repeats[i].differs && work->wish.modes[TP_PERTURB_NO_CHANGE] &&
            work->wish.compat == TP_COMPAT_NONE && is_perturbed(work, slot))
            status = flag_repeat(work, slot, err);
    }
    free(repeats);
    return status;
}

/* --- rows ----------------------------------------------------------------- */

/* "torch.Size([2, 8])"; "": not known. */
static const char *shape_of(const struct tp_dump_item *item,
                            struct tp_arena *arena)
{
    struct tp_text text = {0};
    if (!item || !item->has_shape)
        return "";
    tp_text_add(&text, "torch.Size([");
    for (int i = 0; i < item->dims; i++)
        tp_text_add(&text, "%s%" PRId64, i ? ", " : "", item->shape[i]);
    tp_text_add(&text, "])");
    const char *shape = tp_arena_take(arena, &text);
    return shape ? shape : "";
}

/* The limit of preheat in the first mode that is wanted; NaN: there is none. */
static double first_limit(const struct work *work, const struct slot *slot)
{
    for (int i = 0; work->options->preheat_step && i < TP_PERTURB_MODES; i++)
        if (work->wish.modes[i] && i != TP_PERTURB_TO_CPU)
            return isinf(slot->limits[i]) ? NAN : slot->limits[i];
    return NAN;
}

static uint64_t count_flags(const struct work *work, const struct slot *slot)
{
    uint64_t count = 0;
    for (size_t i = 0; i < slot->perturbed.flag_count; i++)
        count += !lets_pass(work, slot, &slot->perturbed.flags[i]);
    return count;
}

static void make_row(const struct work *work, const struct slot *slot,
                     struct tp_replay_row *row)
{
    struct tp_arena *arena = &work->results->arena;
    const struct tp_dump_place *place = &work->dump->places[slot->place];
    const struct tp_replay_verdict *verdict = &slot->verdict;
    const struct tp_perturbed *perturbed = &slot->perturbed;
    const struct tp_dump_item *item = result_of(work, slot, 0);
    const bool judged = verdict->state == TP_REPLAY_JUDGED;
    const double nothing[TP_PERTURBED_ERRORS] = {NAN, NAN, NAN};
    const struct tp_msprobe_part path =
        tp_dump_call_module(place, call_of(work, slot));
    const char *module = tp_arena_text(arena, path.at, path.length);
    const double *errors =
        judged && is_perturbed(work, slot) ? perturbed->errors : nothing;
    *row = (struct tp_replay_row){
        .step = place->step,
        .rank = place->rank,
        .order = (int64_t)slot->call,
        .api_name = call_of(work, slot)->key,
        .module = module ? module : "",
        .stage = is_forward(call_of(work, slot)) ? "forward" : "backward",
        .status = judged ? "replayed" : tp_replay_state_words[verdict->state],
        .reason = tp_arena_format(arena, "%s", verdict->reason),
        .dtype = item ? item->dtype : "",
        .shape = shape_of(item, arena),
        .error = judged ? verdict->relative : NAN,
        .bound = judged ? verdict->bound : NAN,
        .excess = judged ? verdict->excess : NAN,
        .ulp = judged ? verdict->ulp : NAN,
        .ulp_rounded = judged ? verdict->ulp_rounded : NAN,
        .family = judged
                      ? tp_op_family_words[tp_op_family_of(verdict->operator)]
                      : "",
        .amplification =
            judged && is_perturbed(work, slot) ? perturbed->amplification : NAN,
        .overflows = perturbed->overflows,
        .largest = perturbed->overflows ? perturbed->largest : NAN,
        .limit = first_limit(work, slot),
        .flags = count_flags(work, slot),
        .sample = slot->sample,
        .sample_total = slot->sample_total,
        .verdict = *verdict,
        .explain = slot->explain,
        .repair = slot->repair,
        .rounding = perturbed->rounding,
        .repeats =
            slot->repeat.first == SIZE_MAX ? -1 : (int64_t)slot->repeat.first,
        .differs = slot->repeat.differs,
        .nonfinite = judged ? verdict->nonfinite : 0,
        .error_fp32 = errors[0],
        .error_bf16 = errors[1],
        .error_fp8 = errors[2],
        .judgement = judged ? tp_replay_judgement(verdict, &slot->explain) : "",
        .cause = slot->explain.id     ? tp_explain_words[slot->explain.id]
                 : slot->repair.cause ? tp_repair_words[slot->repair.cause]
                                      : "",
        .dropout = slot->dropout,
        .place = slot->place,
        .call = slot->call};
    double *const worst[TP_PERTURB_MODES] = {
        [TP_PERTURB_IMPROVE] = &row->improve_precision,
        [TP_PERTURB_ADD] = &row->add_noise,
        [TP_PERTURB_BIT] = &row->bit_noise,
        [TP_PERTURB_NO_CHANGE] = &row->no_change,
        [TP_PERTURB_CHANGE] = &row->change_value};
    for (int i = 0; i < TP_PERTURB_MODES; i++) {
        if (worst[i])
            *worst[i] =
                judged && is_perturbed(work, slot) ? perturbed->worst[i] : NAN;
        row->outcomes[i] = perturbed->outcomes[i];
        row->reasons[i] =
            judged && is_perturbed(work, slot) ? perturbed->reasons[i] : NULL;
    }
}

static enum tp_status make_rows(struct work *work, struct tp_error *err)
{
    struct tp_replay_results *results = work->results;
    results->rows = calloc(work->count + 1, sizeof *results->rows);
    if (!results->rows)
        return tp_fail_memory(err);
    for (size_t i = 0; i < work->count; i++) {
        const struct slot *slot = &work->slots[i];
        struct tp_replay_counts *counts = is_forward(call_of(work, slot))
                                              ? &results->counts
                                              : &results->backward;
        make_row(work, slot, &results->rows[results->count++]);
        counts->calls++;
        counts->states[slot->verdict.state]++;
        for (int mode = 0; mode < TP_PERTURB_MODES; mode++)
            counts->runs[mode] +=
                work->options->wish.modes[mode] && slot->perturbed.ran[mode];
    }
    return TP_OK;
}

/* --- flags ---------------------------------------------------------------- */

static const char *max_rel_of(const struct tp_perturbed_flag *flag,
                              struct tp_arena *arena)
{
    static const char *const words[] = {[TP_PERTURBED_FLIPPED] =
                                            "symbol_flipping",
                                        [TP_PERTURBED_NAN] = "nan",
                                        [TP_PERTURBED_UNKNOWN] = ""};
    struct tp_text text = {0};
    if (flag->kind != TP_PERTURBED_RATIO)
        return words[flag->kind];
    tp_python_float(flag->max_rel, &text);
    return tp_arena_words(arena, &text);
}

static enum tp_status add_flag(struct work *work, const struct slot *slot,
                               const struct tp_perturbed_flag *flag,
                               struct tp_error *err)
{
    struct tp_replay_results *results = work->results;
    const struct tp_dump_place *place = &work->dump->places[slot->place];
    const struct tp_dump_item *item = result_of(work, slot, flag->result);
    enum tp_status status =
        tp_grow(&results->flags, &results->flag_capacity,
                results->flag_count + 1, sizeof *results->flags, err);
    if (status != TP_OK)
        return status;
    results->flags[results->flag_count++] = (struct tp_replay_flag){
        .rank = place->rank < 0 ? 0 : place->rank,
        .pert_mode = tp_perturb_words[flag->mode],
        .stage = is_forward(call_of(work, slot)) ? "forward" : "backward",
        .step = place->step,
        .api_name = call_of(work, slot)->key,
        .max_rel = max_rel_of(flag, &results->arena),
        .dtype = item ? item->dtype : "",
        .shape = shape_of(item, &results->arena),
        .output_index = slot->perturbed.lists ? (int64_t)flag->result : -1};
    return TP_OK;
}

/* Mode by mode, as msprobe would be run. */
static enum tp_status make_flags(struct work *work, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (int mode = 0; mode < TP_PERTURB_MODES; mode++)
        for (size_t i = 0; i < work->count && status == TP_OK; i++) {
            const struct slot *slot = &work->slots[i];
            bool any = false;
            for (size_t k = 0;
                 k < slot->perturbed.flag_count && status == TP_OK; k++) {
                const struct tp_perturbed_flag *flag =
                    &slot->perturbed.flags[k];
                if ((int)flag->mode != mode || lets_pass(work, slot, flag))
                    continue;
                any = true;
                status = add_flag(work, slot, flag, err);
            }
            (work->wish.backward ? &work->results->backward
                                 : &work->results->counts)
                ->flagged[mode] += any;
        }
    return status;
}

/* --- the whole ------------------------------------------------------------ */

/* The first that failed; memory is worth more words than stopping. */
static enum tp_status status_of(const struct work *work, struct tp_error *err)
{
    for (size_t i = 0; i < work->count; i++) {
        if (work->slots[i].status == TP_E_INTERRUPTED)
            return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
        if (work->slots[i].status != TP_OK)
            return tp_fail_memory(err);
    }
    return TP_OK;
}

/* Dumps of statistics or checksums have nothing to compute with. */
static enum tp_status check_files(const struct tp_dump *dump,
                                  struct tp_error *err)
{
    size_t files = 0;
    for (size_t i = 0; i < dump->place_count; i++)
        files += dump->places[i].file_count;
    return files ? TP_OK
                 : tp_fail(err, TP_E_UNSUPPORTED, -1,
                           "the dump has no tensors, only what its json says; "
                           "a replay needs the task tensor");
}

enum tp_status tp_replay_dump(const struct tp_dump *dump,
                              const struct tp_replay_options *options,
                              struct tp_replay_results *results,
                              struct tp_error *err)
{
    struct work work = {.dump = dump,
                        .options = options,
                        .wish = options->wish,
                        .results = results};
    /* a sample asks whether the processor agrees */
    work.wish.modes[TP_PERTURB_TO_CPU] |= options->preheat_step > 0;
    enum tp_status status = check_files(dump, err);
    if (status == TP_OK)
        status = choose(&work, err);
    if (status == TP_OK) {
        tp_pool_for(options->pool, work.count, replay_one, &work);
        status = status_of(&work, err);
    }
    if (status == TP_OK)
        status = find_repeats(&work, err);
    if (status == TP_OK && options->preheat_step)
        status = preheat(&work, err);
    if (status == TP_OK)
        status = make_rows(&work, err);
    if (status == TP_OK)
        status = make_flags(&work, err);
    for (size_t i = 0; i < work.count; i++)
        tp_perturbed_clear(&work.slots[i].perturbed);
    free(work.slots);
    return status;
}

void tp_replay_results_clear(struct tp_replay_results *results)
{
    free(results->rows);
    free(results->flags);
    tp_arena_clear(&results->arena);
    memset(results, 0, sizeof *results);
}
