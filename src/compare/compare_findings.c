/* SPDX-License-Identifier: MIT */
/*
 * Each kind is looked for in all rows, in the order of calls, and told once:
 * where one call goes wrong hundreds behind it do, and a list of these hides
 * it. Which call is first is the earliest of all ranks, since ranks that take
 * part in a collective catch what another one started.
 */
#include "compare/compare_findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

#define GUIDE "WHERE TWO RUNS PART"
#define CONTENT "TENSORS UNDER OTHER NAMES"

const struct tp_dump_rule tp_compare_rules[TP_COMPARE_FINDING_IDS] = {
    [TP_FINDS_DIVERGENCE] = {"divergence",
                             "--autodiff: the first operator that adds more "
                             "than rounding, or is given something else",
                             GUIDE},
    [TP_FINDS_PARTING] = {"parting", "the first call that differs", GUIDE},
    [TP_FINDS_NONFINITE] = {"nonfinite_in_a",
                            "NaN or Inf in A where B has none", GUIDE},
    [TP_FINDS_NONFINITE_B] = {"nonfinite_in_b",
                              "NaN or Inf in B where A has none", GUIDE},
    [TP_FINDS_VALUE] = {"argument_value",
                        "an argument that is no tensor has another value",
                        GUIDE},
    [TP_FINDS_SHAPE] = {"shape_differs", "tensors of one name differ in shape",
                        GUIDE},
    [TP_FINDS_DTYPE] = {"dtype_differs", "tensors of one name differ in dtype",
                        GUIDE},
    [TP_FINDS_GRAD] = {"requires_grad", "requires_grad differs", GUIDE},
    [TP_FINDS_GROWTH] = {"error_grows",
                         "results are further apart than the arguments", GUIDE},
    [TP_FINDS_UNMATCHED] = {"unmatched", "names that only one run has", GUIDE},
    [TP_FINDS_UNREAD] = {"unread", "files that are damaged or missing", GUIDE},
    [TP_FINDS_SWAPPED] = {"swapped", "tensors that changed names", CONTENT},
    [TP_FINDS_MOVED] = {"moved", "names that mean other tensors", CONTENT},
    [TP_FINDS_LOST] = {"lost", "tensors of one side only, by content", CONTENT},
};

/* Who makes them. */
struct finder {
    const struct tp_comparison *comparison;
    const struct tp_compare_calls *calls;
    struct tp_dump_findings *findings;
    struct tp_error *err;
};

static const char *text(struct finder *f, const char *format, ...)
    TP_PRINTF(2, 3);
static const char *text(struct finder *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *made = tp_arena_vformat(&f->findings->arena, format, args);
    va_end(args);
    return made;
}

/* A finding about a call (NULL: about none). */
static enum tp_status add(struct finder *f, enum tp_compare_finding_id id,
                          enum tp_severity level,
                          const struct tp_compare_call *call,
                          struct tp_dump_finding **finding)
{
    enum tp_status status = tp_dump_finding_new(
        f->findings, &tp_compare_rules[id], level, finding, f->err);
    if (status != TP_OK || !call)
        return status;
    (*finding)->step = call->step;
    (*finding)->rank = call->rank;
    (*finding)->order = call->order;
    (*finding)->pair = call->pair;
    (*finding)->name = call->name;
    return TP_OK;
}

/* --- where they part ------------------------------------------------------ */

static bool differs(const struct tp_compare_call *call)
{
    return call->arguments_unequal || call->results_unequal;
}

const struct tp_compare_call *tp_compare_parting(
    const struct tp_compare_calls *calls, size_t pair)
{
    size_t i; /* calls are in the order of pairs */
    TP_PARTITION_POINT(i, calls->count, calls->rows[i].pair < pair);
    for (; i < calls->count && calls->rows[i].pair == pair; i++)
        if (differs(&calls->rows[i]))
            return &calls->rows[i];
    return NULL;
}

/* The earliest of all pairs, as later steps start from what earlier ones left;
 * how many pairs part at all. */
static const struct tp_compare_call *first_parting(struct finder *f,
                                                   uint64_t *places)
{
    const struct tp_compare_call *first = NULL;
    size_t last = SIZE_MAX;
    *places = 0;
    for (size_t i = 0; i < f->calls->count; i++) {
        const struct tp_compare_call *call = &f->calls->rows[i];
        if (call->pair == last || !differs(call))
            continue;
        last = call->pair;
        ++*places;
        if (!first || /* pairs are by step */
            (call->step == first->step && call->order < first->order))
            first = call;
    }
    return first;
}

/* Calls of the same place before this one that had rows to match, all equal. */
static uint64_t equal_before(struct finder *f,
                             const struct tp_compare_call *call)
{
    uint64_t count = 0;
    for (const struct tp_compare_call *at = call;
         at-- > f->calls->rows && at->pair == call->pair;)
        count += at->matched > 0;
    return count;
}

/* The first row of a call that differs. */
static const struct tp_compare_line *first_unequal(
    struct finder *f, const struct tp_compare_call *call)
{
    const struct tp_compare_pair *pair = &f->comparison->pairs[call->pair];
    const struct tp_compare_line *row = &pair->rows[call->first];
    while (row->b == TP_COMPARE_NONE ||
           tp_compare_is_equal(pair, row, f->comparison->mode))
        row++;
    return row;
}

/* The last call of the same place before this one that B does not have. */
static const struct tp_compare_call *alone_before(
    struct finder *f, const struct tp_compare_call *call)
{
    for (const struct tp_compare_call *at = call;
         at-- > f->calls->rows && at->pair == call->pair;)
        if (at->matched == 0 && at->rows > 0)
            return at;
    return NULL;
}

/* The first of the calls of B, next to each other, that come last before the
 * partner of a row and have no partner in any row; NULL: there are none. */
static const char *alone_before_in_b(const struct tp_compare_pair *pair,
                                     const struct tp_compare_line *row)
{
    const struct tp_compare_entry *rows = pair->b.rows;
    const char *found = NULL;
    for (size_t i = row->b, first; i > 0; i = first) {
        bool matched = false;
        for (first = i; first > 0 && rows[first - 1].call == rows[i - 1].call;
             first--)
            matched |= pair->matched_b[first - 1];
        if (!matched)
            found = pair->b.place->calls[rows[first].call].key;
        else if (found)
            break;
    }
    return found;
}

/* What may have made an argument differ, no result before it being another. */
static const char *why_argument(struct finder *f,
                                const struct tp_compare_call *call,
                                const struct tp_compare_line *row,
                                uint64_t before)
{
    const struct tp_compare_pair *pair = &f->comparison->pairs[call->pair];
    const struct tp_compare_call *alone = alone_before(f, call);
    const char *alone_in_b = alone_before_in_b(pair, row);
    if (tp_compare_row_a(pair, row)->item->kind != TP_DUMP_TENSOR)
        return "It is no tensor: an epsilon, a scale, a probability or a size "
               "differs in the code or its settings.";
    if (alone)
        return text(f,
                    "Before it A has calls that B does not have, the last one "
                    "%s: what they compute may be the difference.",
                    alone->name);
    if (alone_in_b)
        return text(f,
                    "Before it B has calls that A does not have, from %s on: "
                    "what they compute may be the difference.",
                    alone_in_b);
    if (before == 0)
        return "The runs start from different weights, data or seeds, or one "
               "of them computes in another precision.";
    return "No recorded result has become that argument with a difference: a "
           "weight or the data differs, or it comes from an operation that the "
           "dump does not have, or was overwritten.";
}

/* Whether most rows have another dtype in B: runs of two precisions, of which
 * it is known that they part. */
static bool is_recast(const struct tp_comparison *comparison)
{
    size_t recast = 0;
    for (size_t i = 0; i < comparison->pair_count; i++)
        for (size_t k = 0; k < comparison->pairs[i].row_count; k++)
            recast +=
                comparison->pairs[i].rows[k].messages >> TP_SAYS_DTYPE & 1;
    return 2 * recast > comparison->counts.matched;
}

/* "All 12 tensors before it are equal". */
static const char *words_before(struct finder *f, uint64_t before, bool tensor)
{
    const char *kind = tensor ? "tensor" : "call";
    return before > 1 ? text(f, "All %" PRIu64 " %ss before it are equal",
                             before, kind)
           : before   ? text(f, "The one %s before it is equal", kind)
                      : text(f, "It is the first %s", kind);
}

/* What is said of the row that differs first. */
static void describe_parting(struct finder *f,
                             const struct tp_compare_call *call,
                             const struct tp_compare_line *row,
                             struct tp_dump_finding *finding)
{
    const struct tp_compare_pair *pair = &f->comparison->pairs[call->pair];
    const struct tp_compare_entry *entry = tp_compare_row_a(pair, row);
    const bool tensor = tp_compare_is_tensor(pair->a.place, entry->call);
    const uint64_t before = equal_before(f, call);
    const char *equal = words_before(f, before, tensor);
    if (tensor) {
        finding->evidence = text(f, "%s; this one differs.", equal);
        finding->suggestion =
            before ? "These files name no calls: what differs is what was "
                     "saved, of a side that was trained on, converted or "
                     "damaged. The rows that differ say how many do."
                   : why_argument(f, call, row, before);
    } else if (call->adds) {
        finding->evidence =
            call->arguments
                ? text(f,
                       "%s; all its arguments are equal, its result %s is "
                       "not.",
                       equal, entry->name)
                : text(f,
                       "%s; its result %s differs, and none of its "
                       "arguments is recorded.",
                       equal, entry->name);
        finding->suggestion =
            "The operator itself computes something else: another kernel or "
            "version, a sum whose order is not fixed, a random number, or an "
            "argument that dumps do not record. Run one side twice to see "
            "whether it differs from itself.";
    } else {
        finding->evidence =
            text(f, "%s; the first difference is its argument %s.", equal,
                 entry->name);
        finding->suggestion = why_argument(f, call, row, before);
    }
}

static enum tp_status find_parting(struct finder *f)
{
    struct tp_dump_finding *finding;
    uint64_t places;
    const struct tp_compare_call *call = first_parting(f, &places);
    if (!call)
        return TP_OK;
    const size_t *results = f->comparison->counts.results;
    const bool counts =
        (results[TP_COMPARE_ERROR] || results[TP_COMPARE_WARNING]) &&
        !is_recast(f->comparison);
    enum tp_status status =
        add(f, TP_FINDS_PARTING, counts ? TP_SEVERITY_MEDIUM : TP_SEVERITY_LOW,
            call, &finding);
    if (status != TP_OK)
        return status;
    const struct tp_compare_line *row = first_unequal(f, call);
    finding->count = places;
    finding->row = (size_t)(row - f->comparison->pairs[call->pair].rows);
    describe_parting(f, call, row, finding);
    return TP_OK;
}

/* --- kinds of rows -------------------------------------------------------- */

/* The call that a row of a pair is of. */
static const struct tp_compare_call *call_of(struct finder *f, size_t pair,
                                             size_t row)
{
    const struct tp_compare_call *rows = f->calls->rows;
    size_t i; /* the first call behind it */
    TP_PARTITION_POINT(i, f->calls->count,
                       rows[i].pair < pair ||
                           (rows[i].pair == pair && rows[i].first <= row));
    return &rows[i - 1];
}

/* Rows with one of some messages: how many, and the first in order of calls,
 * of the earliest step. */
struct seen {
    uint64_t count;
    size_t pair, row;
    int64_t step;
    size_t order;
};

/* Whether a row of a pair, which has a partner, is one that is looked for. */
typedef bool tp_row_test(struct finder *f, size_t pair, size_t row,
                         unsigned messages);

static bool has_message(struct finder *f, size_t pair, size_t row,
                        unsigned messages)
{
    return f->comparison->pairs[pair].rows[row].messages & messages;
}

static struct seen look(struct finder *f, tp_row_test *test, unsigned messages)
{
    struct seen seen = {0};
    for (size_t i = 0; i < f->comparison->pair_count; i++) {
        const struct tp_compare_pair *pair = &f->comparison->pairs[i];
        for (size_t k = 0; k < pair->row_count; k++) {
            const struct tp_compare_line *row = &pair->rows[k];
            if (row->b == TP_COMPARE_NONE || !test(f, i, k, messages))
                continue;
            const size_t order = tp_compare_row_a(pair, row)->call;
            const int64_t step = pair->a.place->step; /* pairs are by step */
            if (seen.count++ == 0 ||
                (step == seen.step && order < seen.order)) {
                seen.pair = i;
                seen.row = k;
                seen.step = step;
                seen.order = order;
            }
        }
    }
    return seen;
}

/* A finding about the first row of a kind. */
static enum tp_status add_seen(struct finder *f, enum tp_compare_finding_id id,
                               enum tp_severity level, const struct seen *seen,
                               struct tp_dump_finding **finding)
{
    const struct tp_compare_pair *pair = &f->comparison->pairs[seen->pair];
    enum tp_status status =
        add(f, id, level, call_of(f, seen->pair, seen->row), finding);
    if (status != TP_OK)
        return status;
    (*finding)->name = tp_compare_row_a(pair, &pair->rows[seen->row])->name;
    (*finding)->count = seen->count;
    (*finding)->pair = seen->pair;
    (*finding)->row = seen->row;
    return TP_OK;
}

/* Which text of an entry a kind is about. */
static const char *dtype_text(const struct tp_compare_entry *entry)
{
    return entry->dtype;
}

static const char *shape_text(const struct tp_compare_entry *entry)
{
    return entry->shape;
}

static const char *grad_text(const struct tp_compare_entry *entry)
{
    return entry->grad;
}

static const char *value_text(const struct tp_compare_entry *entry)
{
    return entry->stats[TP_DUMP_MAX].text;
}

/* NaN or Inf in B alone, which no rule of msprobe's is about. */
static bool is_nonfinite_b(struct finder *f, size_t pair, size_t row,
                           unsigned messages)
{
    const struct tp_compare_pair *its = &f->comparison->pairs[pair];
    const struct tp_compare_entry *a = tp_compare_row_a(its, &its->rows[row]);
    (void)messages;
    return tp_compare_is_judged(a->name) &&
           tp_compare_is_nonfinite(tp_compare_row_b(its, &its->rows[row])) &&
           !tp_compare_is_nonfinite(a);
}

/* Kinds that are one message of a row, of A and B each a text. */
static const struct kind {
    enum tp_compare_finding_id id;
    tp_row_test *test;
    enum tp_compare_message message;
    enum tp_severity level;
    const char *(*text)(const struct tp_compare_entry *entry);
    const char *what, *suggestion;
} kinds[] = {
    {TP_FINDS_NONFINITE, has_message, TP_SAYS_NONFINITE, TP_SEVERITY_HIGH,
     value_text, "maximum",
     "See what this call got: 'tprof-analyze dump' on A follows NaN "
     "and Inf to their origin."},
    {TP_FINDS_NONFINITE_B, is_nonfinite_b, TP_SAYS_NONFINITE,
     TP_SEVERITY_MEDIUM, value_text, "maximum",
     "B is what A is compared with: 'tprof-analyze dump' on B follows NaN and "
     "Inf to their origin."},
    {TP_FINDS_VALUE, has_message, TP_SAYS_VALUE, TP_SEVERITY_MEDIUM, value_text,
     "value",
     "The runs were not asked for the same: an epsilon, a scale, a probability "
     "or a size differs in the code or its settings."},
    {TP_FINDS_SHAPE, has_message, TP_SAYS_SHAPE, TP_SEVERITY_MEDIUM, shape_text,
     "shape",
     "Another batch, sequence or split over ranks, or names that are not the "
     "same tensors: --map FILE tells which belong together."},
    {TP_FINDS_DTYPE, has_message, TP_SAYS_DTYPE, TP_SEVERITY_LOW, dtype_text,
     "dtype",
     "Meant where precisions are compared; rows are compared all the same."},
    {TP_FINDS_GRAD, has_message, TP_SAYS_GRAD, TP_SEVERITY_LOW, grad_text,
     "requires_grad",
     "A parameter is frozen, or a result detached, in one of the runs."},
};

static enum tp_status find_kind(struct finder *f, const struct kind *kind)
{
    struct tp_dump_finding *finding;
    const struct seen seen = look(f, kind->test, 1u << kind->message);
    if (seen.count == 0)
        return TP_OK;
    enum tp_status status = add_seen(f, kind->id, kind->level, &seen, &finding);
    if (status != TP_OK)
        return status;
    const struct tp_compare_pair *pair = &f->comparison->pairs[seen.pair];
    const struct tp_compare_line *row = &pair->rows[seen.row];
    const struct tp_compare_entry *b = tp_compare_row_b(pair, row);
    finding->found = kind->text(tp_compare_row_a(pair, row));
    finding->expected = b ? kind->text(b) : "N/A";
    finding->evidence =
        text(f, "%s %s in A, %s in B; rows in all: %" PRIu64 ".", kind->what,
             finding->found, finding->expected, seen.count);
    finding->suggestion = kind->suggestion;
    return TP_OK;
}

/* Errors of which one is larger: where an argument is infinitely far off, or no
 * error is known, there is nothing to grow. */
static bool grows(struct finder *f, size_t pair, size_t row, unsigned messages)
{
    if (!has_message(f, pair, row, messages))
        return false;
    const struct tp_compare_call *call = call_of(f, pair, row);
    return isfinite(call->error_in) && call->error_out > call->error_in;
}

static enum tp_status find_growth(struct finder *f)
{
    struct tp_dump_finding *finding;
    struct seen seen =
        look(f, grows, 1u << TP_SAYS_NORM | 1u << TP_SAYS_THOUSANDTH);
    if (seen.count == 0)
        seen = look(f, grows, 1u << TP_SAYS_NORM_GROWS | 1u << TP_SAYS_COSINE);
    if (seen.count == 0)
        return TP_OK;
    enum tp_status status =
        add_seen(f, TP_FINDS_GROWTH, TP_SEVERITY_MEDIUM, &seen, &finding);
    if (status != TP_OK)
        return status;
    const struct tp_compare_call *call = call_of(f, seen.pair, seen.row);
    finding->evidence =
        text(f,
             "largest relative error %.3g among the arguments, %.3g among the "
             "results; rows that msprobe's rules judge so: %" PRIu64 ".",
             call->error_in, call->error_out, seen.count);
    finding->suggestion =
        "The first of them is where a difference becomes large: compare what "
        "the operator does on both sides before looking further down.";
    return TP_OK;
}

/* --- names and files ------------------------------------------------------ */

/* The first of a side without a partner; NULL: there is none. */
struct lone {
    const struct tp_compare_pair *pair;
    const struct tp_compare_entry *entry;
    size_t row; /* of A                                                    */
};

static bool first_alone(const struct tp_comparison *comparison, bool b,
                        struct lone *lone)
{
    for (size_t i = 0; i < comparison->pair_count; i++) {
        const struct tp_compare_pair *pair = &comparison->pairs[i];
        for (size_t k = 0; !b && k < pair->row_count; k++)
            if (pair->rows[k].b == TP_COMPARE_NONE) {
                *lone = (struct lone){
                    pair, tp_compare_row_a(pair, &pair->rows[k]), k};
                return true;
            }
        for (size_t k = 0; b && k < pair->b.count; k++)
            if (!pair->matched_b[k]) {
                *lone = (struct lone){pair, &pair->b.rows[k], SIZE_MAX};
                return true;
            }
    }
    return false;
}

/* Of A it is a row, of a call in A's order; B counts its calls by itself. */
static void set_alone(const struct finder *f, const struct lone *lone,
                      struct tp_dump_finding *finding)
{
    const struct tp_dump_place *place = lone->pair->a.place;
    finding->step = place->step;
    finding->rank = place->rank;
    finding->name = lone->entry->name;
    finding->pair = (size_t)(lone->pair - f->comparison->pairs);
    finding->row = lone->row;
    if (lone->row != SIZE_MAX)
        finding->order = (int64_t)lone->entry->call;
}

static enum tp_status find_unmatched(struct finder *f)
{
    const struct tp_compare_counts *counts = &f->comparison->counts;
    struct tp_dump_finding *finding;
    struct lone of_a, of_b;
    if (counts->only_a + counts->only_b == 0)
        return TP_OK;
    enum tp_status status =
        add(f, TP_FINDS_UNMATCHED, TP_SEVERITY_LOW, NULL, &finding);
    if (status != TP_OK)
        return status;
    const bool in_b = first_alone(f->comparison, true, &of_b);
    const bool in_a = first_alone(f->comparison, false, &of_a);
    finding->count = counts->only_a + counts->only_b;
    finding->found = in_a ? of_a.entry->name : "none";
    finding->expected = in_b ? of_b.entry->name : "none";
    if (in_a || in_b)
        set_alone(f, in_a ? &of_a : &of_b, finding);
    finding->evidence = text(
        f,
        "%zu rows of A have no partner in B (first: %s), %zu of B none in A "
        "(first: %s); %zu of the former are in B with a dtype of another "
        "kind.",
        counts->only_a, finding->found, counts->only_b, finding->expected,
        counts->dtypes);
    finding->suggestion =
        "Another model or code, or other numbers of calls: --fuzzy_match "
        "leaves these out, --map FILE tells what the names of A are in B.";
    return TP_OK;
}

static enum tp_status find_unread(struct finder *f)
{
    const struct tp_comparison *comparison = f->comparison;
    const size_t files = comparison->a.damaged + comparison->b.damaged;
    const size_t count = files + comparison->counts.damaged;
    const char *first = "the notes name them";
    struct tp_dump_finding *finding;
    if (count == 0)
        return TP_OK;
    enum tp_status status =
        add(f, TP_FINDS_UNREAD, TP_SEVERITY_MEDIUM, NULL, &finding);
    if (status != TP_OK)
        return status;
    for (size_t i = comparison->pair_count; i-- > 0;)
        for (size_t k = comparison->pairs[i].row_count; k-- > 0;) {
            const struct tp_compare_pair *pair = &comparison->pairs[i];
            if (!pair->rows[k].damaged)
                continue;
            finding->name = tp_compare_row_a(pair, &pair->rows[k])->name;
            first = pair->rows[k].problem;
        }
    finding->count = count;
    finding->evidence =
        text(f,
             "Files that were not read whole: %zu; rows that were not "
             "compared: %zu (%s).",
             files, comparison->counts.damaged, first);
    finding->suggestion =
        "Copy or dump them again; 'tprof-analyze dump' checks "
        "all of a dump of msprobe.";
    return TP_OK;
}

/* --- all ------------------------------------------------------------------ */

enum tp_status tp_compare_findings_make(const struct tp_comparison *comparison,
                                        const struct tp_compare_calls *calls,
                                        struct tp_dump_findings *findings,
                                        struct tp_error *err)
{
    struct finder f = {comparison, calls, findings, err};
    enum tp_status status = find_parting(&f);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && status == TP_OK; i++)
        status = find_kind(&f, &kinds[i]);
    if (status == TP_OK)
        status = find_growth(&f);
    if (status == TP_OK)
        status = find_unmatched(&f);
    if (status == TP_OK)
        status = find_unread(&f);
    tp_dump_findings_sort(findings);
    return status;
}

void tp_compare_findings_table(const struct tp_dump_findings *findings,
                               struct tp_table *table)
{
    static const struct tp_column columns[] = {
        TP_DUMP_FINDING_HEAD("rule"),
        TP_COLUMN_AS(struct tp_dump_finding, "a", found, ""),
        TP_COLUMN_AS(struct tp_dump_finding, "b", expected, ""),
        TP_COLUMN(struct tp_dump_finding, count, "1"), TP_DUMP_FINDING_END};
    *table = TP_TABLE_OF("findings", columns, findings->rows, findings->count);
}
