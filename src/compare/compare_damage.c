/* SPDX-License-Identifier: MIT */
/*
 * A comparison of a million rows has a few that people look at; these are read
 * again for where they differ. B is taken for what A should be. Three cases
 * need more than the pattern of elements that are not bit-equal:
 *   - rounding. Elements near zero are sums that cancel, and many units of
 *     their own last place off where another order of summation is harmless.
 *     So it is rounding, too, if no element is further off than rounding makes
 *     a large one;
 *   - two dtypes, where nearly all elements differ: it is rounding between the
 *     dtypes, or no pattern is told;
 *   - NaN and Inf among elements that all differ otherwise: then the pattern of
 *     these is told.
 * Cost: one more reading of some twelve tensors.
 */
#include "compare/compare_damage.h"

#include <math.h>
#include <string.h>

#include "base/notes.h"
#include "dump/dump_damage.h"

/* A row that is looked at. */
struct look {
    struct tp_comparison *comparison;
    struct tp_readers *readers;
    const struct tp_compare_line *line;
    const struct tp_dump_item *a, *b;
    bool first; /* what differs began here, so that a cause can be told    */
    struct tp_dump_damage damage;
    const char *id;
    struct tp_text words;
};

/* --- rounding ------------------------------------------------------------- */

/* Large elements of a tensor are so many times its root mean square: of normal
 * ones one in 16 000 is larger. */
static const double large = 4;

static enum tp_dtype coarser(const struct tp_dump_damage *damage)
{
    return tp_dtype_info(damage->from)->significand <
                   tp_dtype_info(damage->to)->significand
               ? damage->from
               : damage->to;
}

/* The root mean square of B; NaN: not known. */
static double size_of(const struct tp_compare_line *line)
{
    const struct tp_compare_elements *elements = &line->elements;
    return line->metrics[TP_MSPROBE_EUC_DIST].value / elements->relative_l2 /
           sqrt(elements->values);
}

/* Whether tensors without a pattern differ by rounding. */
static bool is_rounding(const struct look *look)
{
    const enum tp_dtype dtype = coarser(&look->damage);
    const int significand = tp_dtype_info(dtype)->significand;
    const int bits = tp_damage_rounding_bits(dtype);
    const double most =
        size_of(look->line) * large * ldexp(1, bits - significand);
    if (significand == 0)
        return false;
    return look->line->metrics[TP_MSPROBE_MAX_ABS_ERR].value <= most ||
           (look->damage.from != look->damage.to &&
            look->line->elements.ulp99 < ldexp(1, bits));
}

/* --- words ---------------------------------------------------------------- */

static void tell(struct look *look, enum tp_damage_name name, const char *cause)
{
    if (!look->first) /* it came from elsewhere, by way of other operators */
        cause = "";
    look->id = tp_damage_shapes[name].id;
    tp_text_add(&look->words, "elements that differ: %s%s%s%s",
                tp_text_get(&look->damage.words),
                name == TP_DAMAGE_ROUNDING ? "; rounding in the last place"
                                           : "",
                *cause ? "; " : "", cause);
}

static void tell_dtypes(struct look *look, bool rounding)
{
    const char *from = tp_dtype_info(look->damage.from)->name;
    const char *to = tp_dtype_info(look->damage.to)->name;
    look->id = rounding ? tp_damage_shapes[TP_DAMAGE_ROUNDING].id : "";
    tp_text_add(&look->words,
                rounding ? "rounding between %s and %s"
                         : "values of %s and %s that differ by more than "
                           "rounding; no pattern is looked for",
                to, from);
}

/* NaN and Inf of a side where the other has other ones; *found: there are
 * some. */
static enum tp_status tell_nonfinite(struct look *look, bool of_b, bool *found,
                                     struct tp_error *err)
{
    struct tp_dump_damage damage = {.read = false};
    enum tp_status status = tp_dump_damage_nonfinite(
        look->readers, of_b ? look->b : look->a, &damage, err);
    *found = status == TP_OK && (damage.read || damage.unread.length);
    if (*found && !damage.read) {
        look->comparison->a.damaged++;
        tp_text_add(&look->words, "which elements of %c are NaN or Inf is %s",
                    of_b ? 'B' : 'A', tp_text_get(&damage.unread));
    } else if (*found) {
        look->id = tp_damage_shapes[damage.shape.name].id;
        const char *cause = look->first ? damage.cause : "";
        tp_text_add(&look->words, "of %c %s%s%s", of_b ? 'B' : 'A',
                    tp_text_get(&damage.words), *cause ? "; " : "", cause);
    }
    tp_dump_damage_clear(&damage);
    return status;
}

/* The pair was read. */
static enum tp_status judge(struct look *look, struct tp_error *err)
{
    const struct tp_damage_shape *shape = &look->damage.shape;
    const bool two = look->damage.from != look->damage.to;
    const bool plain = shape->name == TP_DAMAGE_EVERYTHING ||
                       shape->name == TP_DAMAGE_SCATTERED;
    bool found = false;
    enum tp_status status = TP_OK;
    if (shape->name == TP_DAMAGE_NONE)
        return TP_OK;
    const bool apart = isinf(look->line->elements.relative_l2);
    if ((two || plain) && apart)
        status = tell_nonfinite(look, false, &found, err);
    if ((two || plain) && apart && status == TP_OK && !found)
        status = tell_nonfinite(look, true, &found, err);
    if (status != TP_OK || found)
        return status;
    if (two)
        tell_dtypes(look, is_rounding(look));
    else if (plain && is_rounding(look))
        tell(look, TP_DAMAGE_ROUNDING,
             tp_damage_shapes[TP_DAMAGE_ROUNDING].cause);
    else
        tell(look, shape->name, look->damage.cause);
    return TP_OK;
}

/* --- rows ----------------------------------------------------------------- */

static enum tp_status look_at(struct look *look,
                              struct tp_compare_record *record,
                              struct tp_error *err)
{
    enum tp_status status = tp_dump_damage_pair(look->readers, look->b, look->a,
                                                &look->damage, err);
    if (status == TP_OK && look->damage.read)
        status = judge(look, err);
    else if (look->damage.unread.length)
        tp_text_add(&look->words, "which elements differ is %s",
                    tp_text_get(&look->damage.unread));
    look->comparison->a.damaged += look->damage.unread.length > 0;
    if (status == TP_OK && (look->words.length || look->words.failed)) {
        const char *words =
            tp_arena_take(&look->comparison->arena, &look->words);
        status = words ? TP_OK : tp_fail_memory(err);
        if (words) {
            record->damage = look->id;
            record->damage_words = words;
        }
    }
    tp_dump_damage_clear(&look->damage);
    tp_text_clear(&look->words);
    return status;
}

static enum tp_status look_at_record(struct tp_comparison *comparison,
                                     struct tp_readers *readers,
                                     struct tp_compare_record *record,
                                     bool first, struct tp_error *err)
{
    const struct tp_compare_pair *pair = &comparison->pairs[record->pair];
    const struct tp_compare_line *line = &pair->rows[record->row];
    const struct tp_compare_entry *a = tp_compare_row_a(pair, line);
    const struct tp_compare_entry *b = tp_compare_row_b(pair, line);
    struct look look = {.comparison = comparison,
                        .readers = readers,
                        .line = line,
                        .id = "",
                        .first = first,
                        .a = a->item,
                        .b = b ? b->item : NULL};
    if (*record->damage_words || !line->elements.compared)
        return TP_OK;
    return look_at(&look, record, err);
}

static struct tp_compare_record *record_of(struct tp_compare_records *records,
                                           size_t pair, size_t row)
{
    for (size_t i = 0; i < records->count && row != TP_COMPARE_NONE; i++)
        if (records->rows[i].pair == pair && records->rows[i].row == row)
            return &records->rows[i];
    return NULL;
}

static enum tp_status add_evidence(struct tp_dump_findings *findings,
                                   struct tp_dump_finding *finding,
                                   const char *words, struct tp_error *err)
{
    const char *evidence =
        tp_arena_format(&findings->arena, "%s %c%s.", finding->evidence,
                        *words - 'a' + 'A', words + 1);
    if (!evidence)
        return tp_fail_memory(err);
    finding->evidence = evidence;
    return TP_OK;
}

static bool is_of(const struct tp_dump_finding *finding,
                  enum tp_compare_finding_id id)
{
    return finding->rule == &tp_compare_rules[id];
}

static bool is_told(const struct tp_dump_finding *finding)
{
    return is_of(finding, TP_FINDS_PARTING) ||
           is_of(finding, TP_FINDS_NONFINITE) ||
           is_of(finding, TP_FINDS_GROWTH);
}

enum tp_status tp_compare_damage_find(struct tp_comparison *comparison,
                                      struct tp_compare_records *records,
                                      struct tp_dump_findings *findings,
                                      struct tp_pool *pool,
                                      const volatile sig_atomic_t *stop,
                                      struct tp_error *err)
{
    struct tp_readers readers;
    enum tp_status status = tp_readers_init(&readers, pool, err);
    readers.stop = stop;
    for (size_t i = 0; i < findings->count && status == TP_OK; i++) {
        struct tp_dump_finding *finding = &findings->rows[i];
        struct tp_compare_record *record =
            is_told(finding) ? record_of(records, finding->pair, finding->row)
                             : NULL;
        if (record)
            status = look_at_record(comparison, &readers, record,
                                    !is_of(finding, TP_FINDS_GROWTH), err);
        if (record && status == TP_OK && *record->damage_words)
            status = add_evidence(findings, finding, record->damage_words, err);
    }
    for (size_t i = 0; i < records->worst_count && i < TP_COMPARE_LOOKED_AT &&
                       status == TP_OK;
         i++)
        status = look_at_record(comparison, &readers,
                                &records->rows[records->worst[i]], false, err);
    tp_readers_clear(&readers);
    return status;
}
