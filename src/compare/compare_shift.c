/* SPDX-License-Identifier: MIT */
#include "compare/compare_shift.h"

#include <math.h>
#include <string.h>

#include "base/notes.h"
#include "formats/json/json_python.h"

/* Words of two values that cannot be subtracted. */
static const char *word_of(enum tp_compare_kind a, enum tp_compare_kind b)
{
    if (a == TP_COMPARE_ABSENT || b == TP_COMPARE_ABSENT ||
        (a == TP_COMPARE_DEVICE && b == TP_COMPARE_DEVICE))
        return "N/A";
    if (a == TP_COMPARE_DEVICE || b == TP_COMPARE_DEVICE ||
        a == TP_COMPARE_OTHER || b == TP_COMPARE_OTHER)
        return "Diff";
    if (a == TP_COMPARE_NAN || b == TP_COMPARE_NAN)
        return "Nan";
    if (a == TP_COMPARE_INF ||
        (b == TP_COMPARE_NEGATIVE_INF && a == TP_COMPARE_NUMBER))
        return "inf";
    return "-inf";
}

static const char *float_text(double value, const char *unit,
                              struct tp_arena *arena)
{
    struct tp_text text = {0};
    tp_python_float(value, &text);
    tp_text_add(&text, "%s", unit);
    return tp_arena_take(arena, &text);
}

enum tp_status tp_compare_shift_make(const struct tp_compare_value *a,
                                     const struct tp_compare_value *b,
                                     struct tp_arena *arena,
                                     struct tp_compare_shift *shift,
                                     struct tp_error *err)
{
    *shift = (struct tp_compare_shift){"N/A", "N/A", NAN};
    if (!b)
        return TP_OK;
    if (!strcmp(a->text, b->text)) {
        *shift = (struct tp_compare_shift){"0", "0", 0};
        return TP_OK;
    }
    if (a->kind != TP_COMPARE_NUMBER || b->kind != TP_COMPARE_NUMBER) {
        const char *word = word_of(a->kind, b->kind);
        *shift = (struct tp_compare_shift){word, word, NAN};
        return TP_OK;
    }
    const double difference = a->number - b->number;
    const double percent = fabs(difference / b->number * 100);
    shift->difference = float_text(difference, "", arena);
    shift->relative = b->number == 0 ? "inf" : float_text(percent, "%", arena);
    shift->error = b->number == 0 ? INFINITY : percent / 100;
    return shift->difference && shift->relative ? TP_OK : tp_fail_memory(err);
}
