/* SPDX-License-Identifier: MIT */
#include "tensors/run_notes.h"

/* Says once that integers have no quantisation rows. */
static void note_integers(struct tp_run *run)
{
    size_t count = 0;
    const struct tp_row *first = NULL;
    for (size_t i = 0; i < run->row_count && run->plan.count; i++) {
        if (tp_dtype_info(run->rows[i].dtype)->kind != TP_CLASS_INTEGER)
            continue;
        first = count++ ? first : &run->rows[i];
    }
    if (count)
        tp_run_note(run,
                    "%zu tensor%s not floating-point and %s no rows in "
                    "/quantization. First: %s (%s)",
                    count, count == 1 ? " is" : "s are",
                    count == 1 ? "has" : "have", first->file,
                    tp_row_dtype_word(first));
}

/* The first cast wanted of a row of numbers that it cannot have, or NULL. */
static const struct tp_quant_cast *missing_cast(
    const struct tp_quant_plan *plan, const struct tp_row *row)
{
    if (tp_dtype_info(row->dtype)->kind == TP_CLASS_INTEGER)
        return NULL;
    for (size_t i = 0; i < plan->scaled; i++) {
        const struct tp_quant_cast *cast = &plan->casts[i];
        bool wanted = cast->listed || cast->spec.number == row->target;
        if (wanted && !tp_quant_applies(&cast->spec, row->dtype))
            return cast;
    }
    return NULL;
}

/* Says once which formats were left out for some dtypes. */
static void note_missing_casts(struct tp_run *run)
{
    size_t count = 0;
    const struct tp_row *first = NULL;
    const struct tp_quant_cast *cast = NULL;
    for (size_t i = 0; i < run->row_count; i++) {
        const struct tp_quant_cast *missing =
            missing_cast(&run->plan, &run->rows[i]);
        if (!missing || count++)
            continue;
        first = &run->rows[i];
        cast = missing;
    }
    bool hybrid = cast && cast->spec.rounding == TP_ROUND_HYBRID;
    if (count)
        tp_run_note(run,
                    "%zu tensor%s no rows for formats that do not apply to "
                    "their dtype. First: %s (%s): %s%s%s",
                    count, count == 1 ? " has" : "s have", first->file,
                    tp_row_dtype_word(first), cast->format,
                    hybrid ? ", rounding " : "", hybrid ? cast->rounding : "");
}

void tp_run_note_casts(struct tp_run *run)
{
    note_integers(run);
    note_missing_casts(run);
}
