/* SPDX-License-Identifier: MIT */
/*
 * The first reading of a run counts NaN and Inf and forgets where they are:
 * only the tensors that findings are about, one for each incident or rank, are
 * read again for that (src/damage). So healthy tensors cost nothing, and a run
 * without a finding reads nothing.
 *
 * Of a tensor with both, NaN is looked for: Inf may be a mask, and NaN is never
 * what was meant.
 */
#include "rules/nonfinite_place.h"

#include <string.h>

#include "base/notes.h"
#include "damage/damage_scan.h"
#include "damage/damage_shape.h"
#include "formats/reader.h"
#include "rules/rules.h"
#include "tensors/memo.h"
#include "tensors/row_file.h"

static enum tp_status read_row(struct tp_readers *readers,
                               const struct tp_run *run,
                               const struct tp_row *row, unsigned kind,
                               struct tp_damage_found *found,
                               struct tp_error *err)
{
    struct tp_tensor_file file = {0};
    const struct tp_tensor *tensor;
    enum tp_status status = tp_row_file_open(run, row, &file, err);
    if (status == TP_OK)
        status = tp_row_file_tensor(row, &file, &tensor, err);
    if (status == TP_OK) {
        status = tp_damage_scan(readers, 0, tensor, kind, found, err);
        if (status != TP_OK)
            tp_error_in_file(err, row->file);
    }
    if (status == TP_OK)
        status = tp_row_file_unchanged(run, row, &file, err);
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
    return status;
}

/* "; its NaN are in columns 4 to 7 of 64 along axis 1; likely ..." That all
 * elements are is said already. */
static void add_place(const struct tp_damage_found *found,
                      const struct tp_damage_shape *shape, const char *word,
                      struct tp_text *text)
{
    const char *cause = tp_damage_shapes[shape->where].cause;
    if (shape->damaged == 0 || shape->damaged == shape->numel)
        return;
    tp_text_add(text, "; ");
    tp_damage_tell_kind(&found->plan, shape, word, text);
    if (*cause)
        tp_text_add(text, "; %s", cause);
}

static enum tp_status set_evidence(struct tp_findings *findings,
                                   struct tp_finding *finding,
                                   struct tp_text *text, struct tp_error *err)
{
    const char *evidence = tp_arena_take(&findings->arena, text);
    if (!evidence)
        return tp_fail_memory(err);
    finding->evidence = evidence;
    return TP_OK;
}

/* What follows from the tensor: "" where nothing is to be said. */
static enum tp_status tell_place(struct tp_readers *readers,
                                 const struct tp_run *run,
                                 const struct tp_row *row, struct tp_text *text,
                                 struct tp_error *err)
{
    const bool nan = row->counts.nan > 0;
    struct tp_damage_found found;
    struct tp_damage_shape shape;
    struct tp_digest key = tp_memo_key(run, "nonfinite", row, NULL);
    tp_digest_number(&key, row->label.roles);
    tp_digest_number(&key, (uint64_t)row->label.batch_size);
    tp_digest_text(&key, row->label.layer_type);
    tp_digest_text(&key, row->label.component);
    tp_digest_text(&key, row->label.tensor_name);
    const char *known = tp_memo_text(run, &key);
    if (known) {
        tp_text_add(text, "%s", known);
        return TP_OK;
    }
    memset(&found, 0, sizeof found);
    enum tp_status status = read_row(
        readers, run, row, nan ? TP_DAMAGE_NAN : TP_DAMAGE_INF, &found, err);
    if (status == TP_OK) {
        tp_damage_shape_find(&found.plan, &found.damage, found.cells,
                             &row->label, &shape);
        add_place(&found, &shape, nan ? "NaN" : "Inf", text);
        if (!text->failed)
            tp_memo_put(run, &key, tp_text_get(text), text->length + 1);
    }
    tp_damage_found_clear(&found);
    return status;
}

static enum tp_status place(struct tp_readers *readers, struct tp_run *run,
                            struct tp_findings *findings,
                            struct tp_finding *finding, struct tp_error *err)
{
    const struct tp_row *row = tp_finding_row(run, finding);
    struct tp_text told = {0}, text = {0};
    struct tp_error failure = {.code = TP_OK};
    if (!row || row->counts.numel == 0)
        return TP_OK;
    enum tp_status status = tell_place(readers, run, row, &told, &failure);
    if (status == TP_OK) {
        tp_text_add(&text, "%s%s", finding->evidence, tp_text_get(&told));
        text.failed |= told.failed;
        status = set_evidence(findings, finding, &text, err);
    } else if (status == TP_E_INTERRUPTED || status == TP_E_MEMORY) {
        *err = failure;
    } else {
        tp_run_note(run, "%s: where its %s are is not known: %s", row->file,
                    row->counts.nan > 0 ? "NaN" : "Inf", failure.message);
        status = tp_row_file_failed(run, row, &failure, err);
    }
    tp_text_clear(&told);
    tp_text_clear(&text);
    return status;
}

enum tp_status tp_nonfinite_place(struct tp_run *run, struct tp_pool *pool,
                                  const volatile sig_atomic_t *stop,
                                  struct tp_findings *findings,
                                  struct tp_error *err)
{
    struct tp_readers readers;
    enum tp_status status = tp_readers_init(&readers, pool, err);
    if (status != TP_OK)
        return status;
    readers.stop = stop;
    for (size_t i = 0; i < findings->count && status == TP_OK; i++) {
        if (findings->rows[i].rule->apply == tp_rule_nonfinite)
            status = place(&readers, run, findings, &findings->rows[i], err);
    }
    tp_readers_clear(&readers);
    return status;
}
