/* SPDX-License-Identifier: MIT */
/*
 * First divergence. Of each pair of calls the arguments are compared, then the
 * results, two tensors at a time; where they are not all equal, both calls are
 * replayed from their own arguments (replay.h). So each file is read at most
 * twice, and a difference is either inherited (arguments differ, results are
 * what these give), added (a result is off by more than the bound of its dtype,
 * of the length of its reductions and of what they cancel), or from outside.
 *
 * A tensor that differs is from outside if no call made it: none had a result
 * of these bits, in either run, and it is a parameter by the operator's
 * signature, or nothing differed before. Calls that are not replayed are only
 * accused when their arguments are equal; backward calls and modules, which
 * have arguments that no dump shows, only when nothing differed before.
 *
 * The alternative, one tolerance for all tensors, is what others do: it finds
 * the first place where errors have grown, not where they came from.
 */
#include "replay/divergence.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/notes.h"
#include "base/text.h"
#include "replay/digest_set.h"
#include "replay/divergence_words.h"
#include "replay/item_diff.h"
#include "replay/replay.h"

/* Arguments that say where or how, not what is computed. */
static const char *const idle_arguments[] = {"device", "_stacklevel",
                                             "non_blocking", "generator"};

struct search {
    const struct tp_dump_place *a, *b;
    const struct tp_divergence_options *options;
    struct tp_divergence *found;
    struct tp_digest_set made_a, made_b; /* results so far                  */
    bool differed; /* something did, before the pair at hand                */
    uint64_t floats, recast; /* floating tensors; of another dtype in B     */
    uint64_t off, right; /* digests of the first result that one run adds error
                            to, there and in the other run; 0: none         */
    bool given_off, given_right; /* to a later call of one run; of both     */
};

/* What is known of a pair before it is judged. */
struct state {
    const struct tp_dump_call *a, *b;
    const struct tp_operator *operator;
    enum tp_replay_state kind;
    struct tp_divergence_row *row;
    bool in_differs, out_differs; /* in some bit                            */
    bool sharded, unknown;
    bool argument, data; /* other numbers; other data from outside          */
    double in_error, in_size, out_error, out_size;
    uint64_t out_a, out_b; /* digests of the first result that differs      */
};

/* --- items ---------------------------------------------------------------- */

static const struct tp_dump_item *item_of(const struct tp_dump_place *place,
                                          const struct tp_dump_call *call,
                                          size_t i)
{
    return &place->items[call->first + i];
}

/* The item of the other run in the same place; NULL: it has none. */
static const struct tp_dump_item *partner_of(const struct search *search,
                                             const struct state *state,
                                             const struct tp_dump_item *item)
{
    for (size_t i = 0; i < state->b->count; i++) {
        const struct tp_dump_item *other = item_of(search->b, state->b, i);
        if (other->place == item->place &&
            !strcmp(other->argument, item->argument))
            return other;
    }
    return NULL;
}

static bool is_idle(const struct tp_dump_item *item)
{
    for (size_t i = 0; i < sizeof idle_arguments / sizeof *idle_arguments; i++)
        if (!strcmp(item->argument, idle_arguments[i]))
            return true;
    return false;
}

/* Whether a difference of this argument came from no earlier call. */
static bool is_from_outside(const struct search *search,
                            const struct state *state,
                            const struct tp_dump_item *item,
                            const struct tp_item_diff *diff)
{
    if (tp_digest_set_has(&search->made_a, diff->digest_a) ||
        tp_digest_set_has(&search->made_b, diff->digest_b))
        return false;
    return !search->differed ||
           (!state->a->name.gradient && /* backward calls made these */
            tp_divergence_is_parameter(state->operator, item));
}

static void see_input(struct search *search, struct state *state,
                      const struct tp_dump_item *item,
                      const struct tp_item_diff *diff)
{
    state->in_error += diff->error;
    state->in_size += diff->size;
    state->in_differs |= diff->relation != TP_ITEM_EQUAL;
    if (search->off) {
        search->given_off |=
            (diff->digest_a == search->off) != (diff->digest_b == search->off);
        search->given_right |=
            diff->digest_a == search->right && diff->digest_b == search->right;
    }
    if (diff->relation != TP_ITEM_DIFFERS ||
        !is_from_outside(search, state, item, diff))
        return;
    if (!state->data)
        tp_divergence_say_data(state->row, item, diff, &search->found->arena);
    state->data = true;
}

static enum tp_status see_output(struct search *search, struct state *state,
                                 const struct tp_item_diff *diff,
                                 struct tp_error *err)
{
    state->out_error += diff->error;
    state->out_size += diff->size;
    if (diff->relation != TP_ITEM_EQUAL && !state->out_differs) {
        state->out_a = diff->digest_a;
        state->out_b = diff->digest_b;
    }
    state->out_differs |= diff->relation != TP_ITEM_EQUAL;
    if (state->kind == TP_REPLAY_UNSET)
        return TP_OK; /* nobody made it */
    enum tp_status status =
        tp_digest_set_add(&search->made_a, diff->digest_a, err);
    return status == TP_OK
               ? tp_digest_set_add(&search->made_b, diff->digest_b, err)
               : status;
}

/* Counts floating tensors, and those of another dtype in the other run. */
static void count_dtypes(struct search *search, const struct tp_dump_item *a,
                         const struct tp_dump_item *b)
{
    if (a->element >= TP_DTYPE_COUNT || b->element >= TP_DTYPE_COUNT ||
        tp_dtype_rounding(a->element) == 0 ||
        tp_dtype_rounding(b->element) == 0)
        return;
    search->floats++;
    search->recast += a->element != b->element;
}

/* Whether a tensor has another shape that no earlier difference gave it, as it
 * does where shapes are a matter of values: which rows a router selects. */
static bool is_reshaped(const struct search *search, const struct state *state,
                        const struct tp_dump_item *item,
                        const struct tp_item_diff *diff)
{
    if (diff->relation != TP_ITEM_RESHAPED)
        return false;
    return item->place == TP_MSPROBE_OUTPUT
               ? !state->in_differs
               : is_from_outside(search, state, item, diff);
}

/* Counts a call whose files were not read, and keeps the first one and why. */
static void count_unread(struct tp_divergence *found, const char *call,
                         const char *reason)
{
    if (found->unread++ == 0)
        found->first_unread =
            tp_arena_format(&found->arena, "%s: %s", call, reason);
}

/* Two tensors in the same place. */
static enum tp_status see_tensors(struct search *search, struct state *state,
                                  const struct tp_dump_item *item,
                                  const struct tp_dump_item *other,
                                  struct tp_error *err)
{
    struct tp_item_diff diff;
    enum tp_status status = tp_item_diff_tensors(item, other, &diff, err);
    if (status != TP_OK)
        return status;
    count_dtypes(search, item, other);
    state->sharded |= diff.relation == TP_ITEM_SHARDED;
    state->unknown |= diff.relation == TP_ITEM_UNKNOWN;
    if (diff.relation == TP_ITEM_UNKNOWN && item->file && other->file)
        count_unread(search->found, item->file->path,
                     "it, or the file of the other run, cannot be compared");
    if (is_reshaped(search, state, item, &diff)) {
        state->argument = true;
        tp_divergence_say_shape(state->row, item, other, &search->found->arena);
    }
    if (item->place == TP_MSPROBE_OUTPUT)
        return see_output(search, state, &diff, err);
    see_input(search, state, item, &diff);
    return TP_OK;
}

static void see_values(const struct search *search, struct state *state,
                       const struct tp_dump_item *item,
                       const struct tp_dump_item *other)
{
    if (is_idle(item) || item->place == TP_MSPROBE_OUTPUT ||
        (other && tp_item_same_value(item, other)))
        return;
    if (!state->argument)
        tp_divergence_say_argument(state->row, item, other,
                                   &search->found->arena);
    state->argument = true;
}

/* The items of run A, and those that only B has. */
static enum tp_status see_items(struct search *search, struct state *state,
                                struct tp_error *err)
{
    enum tp_status status = TP_OK;
    size_t paired = 0;
    for (size_t i = 0; i < state->a->count && status == TP_OK; i++) {
        const struct tp_dump_item *item = item_of(search->a, state->a, i);
        const struct tp_dump_item *other = partner_of(search, state, item);
        paired += other != NULL;
        if (other && item->kind == TP_DUMP_TENSOR &&
            other->kind == TP_DUMP_TENSOR)
            status = see_tensors(search, state, item, other, err);
        else
            see_values(search, state, item, other);
    }
    if (paired < state->b->count && !state->argument) {
        state->argument = true;
        tp_divergence_say(state->row, &search->found->arena,
                          "run B has %zu arguments and results, run A %zu",
                          state->b->count, state->a->count);
    }
    return status;
}

/* --- judging -------------------------------------------------------------- */

static double ratio(double error, double size)
{
    return size > 0 ? sqrt(error / size) : error > 0 ? INFINITY : 0;
}

static void fill_row(const struct state *state)
{
    struct tp_divergence_row *row = state->row;
    row->e_in = ratio(state->in_error, state->in_size);
    row->e_out = ratio(state->out_error, state->out_size);
    row->gain = row->e_in > 0 ? row->e_out / row->e_in : NAN;
}

/* Replays one run's call, and counts it. */
static bool has_files(const struct tp_dump_place *place,
                      const struct tp_dump_call *call)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct tp_dump_item *item = &place->items[call->first + i];
        if (item->kind == TP_DUMP_TENSOR && !item->file)
            return false;
    }
    return true;
}

static enum tp_status judge_one(struct search *search,
                                const struct tp_dump_place *place,
                                const struct tp_dump_call *call,
                                struct tp_replay_verdict *verdict,
                                struct tp_error *err)
{
    enum tp_status status = tp_replay_judge(place, call, verdict, err);
    search->found->judged +=
        status == TP_OK && verdict->state == TP_REPLAY_JUDGED;
    if (status == TP_OK && verdict->state == TP_REPLAY_UNREADABLE &&
        has_files(place, call))
        count_unread(search->found, call->key, verdict->reason);
    return status;
}

/* The rounding of the coarsest floating tensor of a call. */
static double own_rounding(const struct tp_dump_place *place,
                           const struct tp_dump_call *call)
{
    const struct tp_dump_item *item = tp_divergence_coarsest(place, call);
    return item ? tp_dtype_rounding(item->element) : 0;
}

/*
 * Which run to accuse of a result that is off by so many bounds; 0: none. What
 * fp32 does not explain and the tensors' dtype does, is a matter of the data,
 * too, as sums cancel: then one run must be off by several times what the other
 * one is, on arguments that are equal within a rounding.
 */
static int accused(const struct search *search, const struct state *state,
                   const struct tp_replay_verdict *a,
                   const struct tp_replay_verdict *b)
{
    const enum tp_replay_level x = tp_replay_level_of(a);
    const enum tp_replay_level y = tp_replay_level_of(b);
    const bool x_more = a->excess > TP_REPLAY_STEPS * fmax(1, b->excess);
    const bool y_more = b->excess > TP_REPLAY_STEPS * fmax(1, a->excess);
    const bool alike = state->row->e_in <= own_rounding(search->a, state->a);
    if (x == TP_REPLAY_UNEXPLAINED && y == TP_REPLAY_UNEXPLAINED)
        return x_more ? 1 : y_more ? 2 : !state->in_differs ? 3 : 0;
    if (x == TP_REPLAY_UNEXPLAINED || (alike && x > y && x_more))
        return 1;
    return y == TP_REPLAY_UNEXPLAINED || (alike && y > x && y_more) ? 2 : 0;
}

/* Whether every step in the tensors' dtype explains a result, and leaves half
 * of it: of long sums such steps could take all, and explain anything. */
static bool is_low(const struct tp_replay_verdict *verdict)
{
    return tp_replay_level_of(verdict) == TP_REPLAY_LOW_PRECISION &&
           !(verdict->relative > 0.5);
}

/* What two replays say of a pair. */
static enum tp_divergence_verdict verdict_of_replays(
    const struct search *search, const struct state *state,
    const struct tp_replay_verdict *a, const struct tp_replay_verdict *b)
{
    static const enum tp_divergence_verdict added[] = {
        TP_DIVERGENCE_ROUNDING, TP_DIVERGENCE_ADDED_A, TP_DIVERGENCE_ADDED_B,
        TP_DIVERGENCE_ADDED_BOTH};
    const int who = state->out_differs ? accused(search, state, a, b) : 0;
    if ((who == 1 && is_low(a)) || (who == 2 && is_low(b)))
        return TP_DIVERGENCE_LOW_PRECISION;
    if (who > 0)
        return added[who];
    return state->in_differs    ? TP_DIVERGENCE_INHERITED
           : state->out_differs ? TP_DIVERGENCE_ROUNDING
                                : TP_DIVERGENCE_EQUAL;
}

/* The bound where no replay is: of the dtype and of sums as long as there are
 * elements of arguments to one of the result. */
static double plain_bound(const struct search *search,
                          const struct state *state)
{
    const double own = own_rounding(search->a, state->a);
    double in = 0, out = 0;
    for (size_t i = 0; i < state->a->count; i++) {
        const struct tp_dump_item *item = item_of(search->a, state->a, i);
        double count = 1;
        if (item->kind != TP_DUMP_TENSOR || item->element == TP_DTYPE_COUNT)
            continue;
        for (int k = 0; k < item->dims; k++)
            count *= (double)item->shape[k];
        if (item->place == TP_MSPROBE_OUTPUT)
            out = fmax(out, count);
        else
            in = fmax(in, count);
    }
    const double terms = out > 0 ? fmax(1, in / out) : 1;
    return 2 * (own + terms * tp_dtype_rounding(TP_FLOAT32));
}

static bool is_communication(const struct tp_dump_call *call)
{
    static const char word[] = "Distributed";
    return call->known && call->name.type.length == sizeof word - 1 &&
           !memcmp(call->name.type.at, word, sizeof word - 1);
}

static enum tp_divergence_verdict verdict_without_replay(
    const struct search *search, const struct state *state)
{
    const bool hidden = state->kind == TP_REPLAY_OTHER;
    state->row->bound = plain_bound(search, state);
    if (!state->out_differs && !state->in_differs)
        return TP_DIVERGENCE_EQUAL;
    if (!state->in_differs && is_communication(state->a))
        return TP_DIVERGENCE_RECEIVED;
    if (state->in_differs || (hidden && search->differed))
        return TP_DIVERGENCE_INHERITED;
    if (state->kind == TP_REPLAY_RANDOM)
        return TP_DIVERGENCE_RANDOM;
    if (state->out_error == 0)
        return TP_DIVERGENCE_DIFFERS;
    return state->row->e_out > state->row->bound ? TP_DIVERGENCE_UNBOUNDED
                                                 : TP_DIVERGENCE_ROUNDING;
}

static enum tp_status judge_replays(struct search *search,
                                    const struct state *state,
                                    enum tp_divergence_verdict *verdict,
                                    struct tp_error *err)
{
    struct tp_replay_verdict a, b;
    struct tp_divergence_row *row = state->row;
    enum tp_status status = judge_one(search, search->a, state->a, &a, err);
    if (status == TP_OK)
        status = judge_one(search, search->b, state->b, &b, err);
    if (status != TP_OK)
        return status;
    if (a.state == TP_REPLAY_JUDGED) {
        row->e_local_a = a.relative;
        row->excess_a = a.excess;
    }
    if (b.state == TP_REPLAY_JUDGED) {
        row->e_local_b = b.relative;
        row->excess_b = b.excess;
    }
    if (a.state != TP_REPLAY_JUDGED || b.state != TP_REPLAY_JUDGED) {
        search->found->unsupported++;
        *verdict = verdict_without_replay(search, state);
        if (!*row->evidence)
            tp_divergence_say_unjudged(row,
                                       a.state != TP_REPLAY_JUDGED ? &a : &b,
                                       &search->found->arena);
        return TP_OK;
    }
    row->bound = fmax(a.bound, b.bound);
    *verdict = verdict_of_replays(search, state, &a, &b);
    if (*verdict >= TP_DIVERGENCE_ADDED_A)
        tp_divergence_say_added(row, *verdict, &a, &b, &search->found->arena);
    if (*verdict == TP_DIVERGENCE_LOW_PRECISION && a.excess > b.excess)
        tp_divergence_say_low(row, "A",
                              tp_divergence_coarsest(search->a, state->a), &a,
                              &search->found->arena);
    else if (*verdict == TP_DIVERGENCE_LOW_PRECISION)
        tp_divergence_say_low(row, "B",
                              tp_divergence_coarsest(search->b, state->b), &b,
                              &search->found->arena);
    return TP_OK;
}

static enum tp_status judge_pair(struct search *search, struct state *state,
                                 struct tp_error *err)
{
    enum tp_divergence_verdict verdict = TP_DIVERGENCE_EQUAL;
    enum tp_status status = TP_OK;
    if (state->kind == TP_REPLAY_UNSET)
        return TP_OK;
    const bool differs = state->in_differs || state->out_differs ||
                         state->argument || state->sharded;
    if (state->unknown)
        verdict = TP_DIVERGENCE_UNKNOWN;
    else if (state->kind != TP_REPLAY_JUDGED)
        verdict = verdict_without_replay(search, state);
    else if (differs || search->options->all)
        status = judge_replays(search, state, &verdict, err);
    if (status != TP_OK)
        return status;
    if (verdict < TP_DIVERGENCE_ADDED_A && state->sharded)
        verdict = TP_DIVERGENCE_SHARDED;
    else if (verdict < TP_DIVERGENCE_ADDED_A && state->argument &&
             !search->found->sharded)
        verdict = TP_DIVERGENCE_ARGUMENTS;
    else if (verdict < TP_DIVERGENCE_ADDED_A && state->data)
        verdict = TP_DIVERGENCE_DATA;
    state->row->verdict = verdict;
    if (!search->off && (verdict == TP_DIVERGENCE_ADDED_A ||
                         verdict == TP_DIVERGENCE_ADDED_B)) {
        const bool of_a = verdict == TP_DIVERGENCE_ADDED_A;
        search->off = of_a ? state->out_a : state->out_b;
        search->right = of_a ? state->out_b : state->out_a;
    }
    search->differed |= differs;
    return TP_OK;
}

/* --- rows ----------------------------------------------------------------- */

static enum tp_status add_row(struct search *search,
                              const struct tp_dump_place *place,
                              const struct tp_dump_call *call,
                              struct tp_divergence_row **row,
                              struct tp_error *err)
{
    struct tp_divergence *found = search->found;
    enum tp_status status = tp_grow(&found->rows, &found->capacity,
                                    found->count + 1, sizeof *found->rows, err);
    if (status != TP_OK)
        return status;
    *row = &found->rows[found->count];
    **row = (struct tp_divergence_row){
        (int64_t)found->count,
        tp_divergence_layer(place, call),
        tp_arena_text(&found->arena, call->key, strlen(call->key)),
        tp_divergence_dtype(place, call, &found->arena),
        NAN,
        NAN,
        NAN,
        NAN,
        NAN,
        NAN,
        NAN,
        NAN,
        TP_DIVERGENCE_EQUAL,
        ""};
    found->count++;
    return (*row)->api_name && (*row)->dtype ? TP_OK : tp_fail_memory(err);
}

/* A call that only one run makes. Modules are no step of a computation: what
 * they call is; and memory that nobody has set is no result. */
static enum tp_status see_single(struct search *search,
                                 const struct tp_call_pair *pair,
                                 struct tp_error *err)
{
    const bool first = pair->b == SIZE_MAX;
    const struct tp_dump_place *place = first ? search->a : search->b;
    const struct tp_dump_call *call = &place->calls[first ? pair->a : pair->b];
    struct tp_divergence_row *row;
    enum tp_replay_state kind;
    tp_replay_operator(call, &kind);
    if (!call->known || call->name.kind != TP_MSPROBE_API ||
        kind == TP_REPLAY_UNSET)
        return TP_OK;
    enum tp_status status = add_row(search, place, call, &row, err);
    if (status != TP_OK)
        return status;
    row->verdict =
        search->found->sharded && (is_communication(call) || search->differed)
            ? TP_DIVERGENCE_SHARDED
        : first ? TP_DIVERGENCE_ONLY_A
                : TP_DIVERGENCE_ONLY_B;
    search->differed = true;
    return TP_OK;
}

static enum tp_status see_pair(struct search *search,
                               const struct tp_call_pair *pair,
                               struct tp_error *err)
{
    if (pair->a == SIZE_MAX || pair->b == SIZE_MAX)
        return see_single(search, pair, err);
    struct state state = {.a = &search->a->calls[pair->a],
                          .b = &search->b->calls[pair->b]};
    state.operator= tp_replay_operator(state.a, &state.kind);
    enum tp_status status =
        add_row(search, search->a, state.a, &state.row, err);
    if (status == TP_OK)
        status = see_items(search, &state, err);
    if (status != TP_OK)
        return status;
    fill_row(&state);
    return judge_pair(search, &state, err);
}

/* --- the whole ------------------------------------------------------------ */

/* Whether some tensor is a part of the other run's. */
static bool is_sharded(struct search *search, const struct tp_call_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        const struct tp_call_pair *pair = &pairs->pairs[i];
        if (pair->a == SIZE_MAX || pair->b == SIZE_MAX)
            continue;
        const struct state state = {.a = &search->a->calls[pair->a],
                                    .b = &search->b->calls[pair->b]};
        for (size_t k = 0; k < state.a->count; k++) {
            const struct tp_dump_item *item = item_of(search->a, state.a, k);
            const struct tp_dump_item *other =
                item->kind == TP_DUMP_TENSOR ? partner_of(search, &state, item)
                                             : NULL;
            if (other && tp_item_shapes(item, other) == TP_ITEM_SHARDED)
                return true;
        }
    }
    return false;
}

static void conclude(struct tp_divergence *found)
{
    found->first = found->added = found->low = SIZE_MAX;
    for (size_t i = found->count; i-- > 0;) {
        const enum tp_divergence_verdict verdict = found->rows[i].verdict;
        found->verdicts[verdict]++;
        if (verdict >= TP_DIVERGENCE_RANDOM)
            found->first = i;
        if (verdict >= TP_DIVERGENCE_UNBOUNDED)
            found->added = i;
        if (verdict == TP_DIVERGENCE_LOW_PRECISION)
            found->low = i;
    }
}

enum tp_status tp_divergence_find(const struct tp_dump_place *a,
                                  const struct tp_dump_place *b,
                                  const struct tp_call_pairs *pairs,
                                  const struct tp_divergence_options *options,
                                  struct tp_divergence *divergence,
                                  struct tp_error *err)
{
    struct search search = {
        .a = a, .b = b, .options = options, .found = divergence};
    enum tp_status status = TP_OK;
    divergence->sharded = is_sharded(&search, pairs);
    for (size_t i = 0; i < pairs->count && status == TP_OK; i++) {
        status = see_pair(&search, &pairs->pairs[i], err);
        if (status == TP_OK && options->stop && *options->stop)
            status = tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    }
    tp_digest_set_clear(&search.made_a);
    tp_digest_set_clear(&search.made_b);
    if (status != TP_OK)
        return status;
    divergence->recast = 2 * search.recast > search.floats;
    divergence->misfiled = search.given_right && !search.given_off;
    conclude(divergence);
    divergence->sentence = tp_divergence_sentence(divergence);
    return divergence->arena.failed ? tp_fail_memory(err) : TP_OK;
}

void tp_divergence_clear(struct tp_divergence *divergence)
{
    free(divergence->rows);
    tp_arena_clear(&divergence->arena);
    memset(divergence, 0, sizeof *divergence);
}
