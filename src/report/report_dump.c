/* SPDX-License-Identifier: MIT */
#include "report/report_dump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/hdf5.h"
#include "report/report_findings.h"
#include "report/report_skipped.h"
#include "report/report_table.h"

/* --- calls by type -------------------------------------------------------- */

/* Calls of one TYPE: those of the table, in its order, then all others. */
struct type_count {
    const struct tp_msprobe_type *type; /* NULL: others                    */
    uint64_t forward, backward, other;
};

enum { TYPES_MAX = 32 };

static void count_call(const struct tp_dump_call *call,
                       struct type_count *counts, size_t types)
{
    size_t row = types;
    if (call->known)
        for (size_t i = 0; i < types && row == types; i++)
            if (tp_msprobe_type_of(call->name.type) == counts[i].type)
                row = i;
    if (call->known && call->name.direction == TP_FORWARD)
        counts[row].forward++;
    else if (call->known && call->name.direction == TP_BACKWARD)
        counts[row].backward++;
    else
        counts[row].other++;
}

static void add_count(const struct type_count *count, struct tp_text *text)
{
    if (count->forward + count->backward + count->other == 0)
        return;
    tp_text_add(text, "  %-14s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "  %s\n",
                count->type ? count->type->word : "others", count->forward,
                count->backward, count->other,
                count->type ? count->type->stands_for
                            : "prefixes that msprobe does not list");
}

/* Counts all calls; counts[TYPES_MAX + 1]. Returns the row of the others. */
static size_t count_calls(const struct tp_dump *dump, struct type_count *counts)
{
    size_t types = 0;
    for (; tp_msprobe_types[types].word && types < TYPES_MAX; types++)
        counts[types].type = &tp_msprobe_types[types];
    for (size_t i = 0; i < dump->place_count; i++)
        for (size_t k = 0; k < dump->places[i].call_count; k++)
            count_call(&dump->places[i].calls[k], counts, types);
    return types;
}

static void add_calls(const struct tp_dump *dump, struct tp_text *text)
{
    struct type_count counts[TYPES_MAX + 1] = {{0}};
    const size_t types = count_calls(dump, counts);
    tp_text_add(text, "\nCalls by prefix\n  %-14s %9s %9s %9s  %s\n", "prefix",
                "forward", "backward", "other", "stands for");
    for (size_t i = 0; i <= types; i++)
        add_count(&counts[i], text);
}

/* --- places --------------------------------------------------------------- */

static void add_place(const struct tp_dump_place *place, struct tp_text *text)
{
    size_t tensors = 0;
    for (size_t i = 0; i < place->item_count; i++)
        tensors += place->items[i].kind == TP_DUMP_TENSOR;
    tp_text_add(text, "  ");
    tp_dump_place_words(place, text);
    tp_text_add(text, ": ");
    tp_report_count(text, place->call_count, "call");
    tp_text_add(text, " with ");
    tp_report_count(text, tensors, "tensor");
    tp_text_add(text, ", ");
    tp_report_count(text, place->file_count, "file");
    if (*place->heads[TP_MSPROBE_TASK]) {
        tp_text_add(text, "; task ");
        tp_text_printable(text, place->heads[TP_MSPROBE_TASK]);
    }
    if (*place->heads[TP_MSPROBE_LEVEL]) {
        tp_text_add(text, ", level ");
        tp_text_printable(text, place->heads[TP_MSPROBE_LEVEL]);
    }
    if (place->recovered)
        tp_text_add(text, "; known by files only: %zu", place->recovered);
    tp_text_add(text, "\n");
}

static void add_places(const struct tp_dump *dump, size_t most,
                       struct tp_text *text)
{
    tp_text_add(text, "\nSteps and ranks (%zu)\n", dump->place_count);
    for (size_t i = 0; i < dump->place_count && (!most || i < most); i++)
        add_place(&dump->places[i], text);
    tp_report_more(dump->place_count, most, text);
}

/* --- integrity ------------------------------------------------------------ */

static void add_crcs(const struct tp_dump_crc_counts *counts, const char *of,
                     struct tp_text *text)
{
    if (counts->equal + counts->later + counts->differ == 0)
        return;
    tp_text_add(text,
                "  CRC-32 or xor %s: %" PRIu64 " equal, %" PRIu64
                " of a later content, %" PRIu64 " differ",
                of, counts->equal, counts->later, counts->differ);
    if (counts->absent)
        tp_text_add(text, ", %" PRIu64 " not told", counts->absent);
    tp_text_add(text, "\n");
}

static void add_integrity(const struct tp_dump_integrity *integrity,
                          struct tp_text *text)
{
    tp_text_add(text, "\nIntegrity\n");
    if (integrity->files == 0) {
        tp_text_add(text, "  no file of a tensor was read\n");
        return;
    }
    tp_text_add(text, "  ");
    tp_report_count(text, integrity->files, "file");
    tp_text_add(text, " of tensors read, %.3g MB; ",
                (double)integrity->bytes * 1e-6);
    tp_report_count(text, integrity->statistics, "number");
    tp_text_add(text, " of the json recomputed\n");
    add_crcs(&integrity->own, "in the json", text);
    add_crcs(&integrity->other, "of --crc_from", text);
    if (integrity->unread)
        tp_text_add(text, "  files that hold no tensor: %" PRIu64 "\n",
                    integrity->unread);
}

/* --- modules -------------------------------------------------------------- */

/* How many nodes are above one, as far as it is shown. */
static int depth_of(const struct tp_dump *dump,
                    const struct tp_dump_tree_row *row)
{
    enum { DEPTH_MAX = 20 };
    int depth = 0;
    for (size_t i = 0; i < dump->place_count; i++) {
        const struct tp_dump_place *place = &dump->places[i];
        if (place->step != row->step || place->rank != row->rank)
            continue;
        const struct tp_dump_node *node = tp_dump_node_of(place, row->name);
        while (node && *node->parent && depth < DEPTH_MAX) {
            node = tp_dump_node_of(place, node->parent);
            depth++;
        }
        return depth;
    }
    return depth;
}

/* Nodes of construct.json that have a finding above a note. */
static void add_tree(const struct tp_dump_report *report, size_t most,
                     struct tp_text *text)
{
    const struct tp_dump_tree *tree = report->tree;
    size_t count = 0;
    for (size_t i = 0; i < tree->count; i++) {
        const struct tp_dump_tree_row *row = &tree->rows[i];
        if (row->worst <= TP_SEVERITY_LOW)
            continue;
        if (count++ == 0)
            tp_text_add(text, "\nModules with findings, and how many\n");
        if (most && count > most)
            continue;
        tp_text_add(text, "  %-6s %6" PRIu64 "  %*s",
                    tp_severity_words[row->worst], row->findings,
                    2 * depth_of(report->dump, row), "");
        tp_text_printable(text, row->name);
        tp_text_add(text, "\n");
    }
    tp_report_more(count, most, text);
}

/* --- findings ------------------------------------------------------------- */

static void add_finding(const struct tp_dump_finding *finding, size_t again,
                        bool color, struct tp_report_told *told,
                        struct tp_text *text)
{
    struct tp_text also = {0};
    if (again)
        tp_text_add(&also,
                    "The CRC-32 of %zu other tensor%s was taken later, too: "
                    "dump_integrity.csv has each.",
                    again, again == 1 ? "" : "s");
    tp_report_finding_head(finding, color, text);
    tp_report_finding_prose(finding, tp_text_get(&also), told, text);
    text->failed |= also.failed;
    tp_text_clear(&also);
}

/* How many findings behind one are shown with it: each tensor that is changed
 * in place has a note that its CRC-32 was taken later. */
static size_t count_again(const struct tp_dump_findings *findings, size_t first)
{
    size_t end = first;
    while (end < findings->count &&
           findings->rows[end].rule == &tp_dump_checks[TP_CHECK_CRC].rule &&
           findings->rows[end].level == TP_SEVERITY_LOW)
        end++;
    return end > first ? end - first - 1 : 0;
}

static void add_findings(const struct tp_dump_report *report, size_t most,
                         bool color, struct tp_text *text)
{
    const struct tp_dump_findings *findings = report->findings;
    struct tp_report_told told = {0};
    tp_report_findings_count(findings, text);
    size_t shown = 0, i = 0;
    while (i < findings->count && (!most || shown < most)) {
        const size_t again = count_again(findings, i);
        add_finding(&findings->rows[i], again, color, &told, text);
        shown++;
        i += again + 1;
    }
    if (i < findings->count)
        tp_text_add(text, "  ... and %zu more\n", findings->count - i);
}

/* --- the whole ------------------------------------------------------------ */

static const char *kind_of(const struct tp_dump *dump)
{
    size_t logs = 0;
    for (size_t i = 0; i < dump->place_count; i++)
        logs += dump->places[i].log != NULL;
    return logs == 0                   ? "dump of msprobe"
           : logs == dump->place_count ? "log of torchtitan"
                                       : "dump of msprobe, log of torchtitan";
}

void tp_report_dump_text(const struct tp_dump_report *report, size_t most,
                         bool color, struct tp_text *text)
{
    tp_text_add(text, "tprof-analyze %s: %s in ", report->tool_version,
                kind_of(report->dump));
    for (size_t i = 0; i < report->input_count; i++) {
        tp_text_add(text, "%s", i ? ", " : "");
        tp_text_printable(text, report->inputs[i]);
    }
    tp_text_add(text, "\n");
    add_findings(report, most, color, text);
    add_tree(report, most, text);
    add_integrity(report->integrity, text);
    tp_report_anomalies(report->anomalies, most, text);
    tp_report_flow(report->flow, most, text);
    tp_report_copies(report->copies, most, text);
    add_calls(report->dump, text);
    add_places(report->dump, most, text);
    tp_report_skipped(report->skipped->rows, report->skipped->count, most,
                      report->output_dir[0] ? " in dump_report.txt" : "",
                      text);
    if (report->dump->notes.count)
        tp_text_add(text, "\nNotes\n");
    for (size_t i = 0; i < report->dump->notes.count; i++)
        tp_report_note(report->dump->notes.texts[i], NULL, text);
    tp_report_written(report->output_dir,
                      "dump_report.txt dump_integrity.csv overflow.csv "
                      "dump_flow.csv dump_copies.csv dump_findings.json "
                      "dump.h5",
                      text);
}

void tp_report_dump_head(const struct tp_dump_report *report, bool damaged,
                         struct tp_text *verdict, struct tp_text *sentence)
{
    const struct tp_dump_anomalies *anomalies = report->anomalies;
    uint64_t calls = 0;
    for (size_t i = 0; i < report->dump->place_count; i++)
        calls += report->dump->places[i].call_count;
    if (report->findings->count == 0)
        tp_text_add(verdict, "nothing was found");
    tp_report_count(sentence, calls, "call");
    tp_text_add(sentence, " looked at; ");
    if (report->integrity->files) {
        tp_report_count(sentence, report->integrity->files, "file");
        tp_text_add(sentence, " of tensors read and compared with ");
        tp_report_count(sentence, report->integrity->statistics, "number");
        tp_text_add(sentence, " that the dump tells of them; ");
    } else {
        tp_text_add(sentence, "no file of a tensor was read; ");
    }
    tp_text_add(sentence, "NaN and Inf followed through ");
    tp_report_count(sentence, anomalies->tensors, "tensor");
    if (anomalies->unknown)
        tp_text_add(sentence, ", of which %zu have no statistics",
                    anomalies->unknown);
    tp_report_not_all(damaged, sentence);
}

void tp_report_dump_findings_json(const struct tp_dump_report *report,
                                  struct tp_text *text)
{
    const struct tp_dump_findings *findings = report->findings;
    struct tp_table table;
    tp_dump_findings_table(findings, &table);
    tp_text_add(text, "{\"schema_version\": %d,\n", TP_SCHEMA_VERSION);
    tp_report_table_json(&table, "findings", 0, findings->count, text);
    tp_text_add(text, ",\n");
    tp_report_skipped_json(report->skipped, text);
    tp_text_add(text, "}\n");
}

/* --- JSON ----------------------------------------------------------------- */

static void add_calls_json(const struct tp_dump *dump, struct tp_text *text)
{
    struct type_count counts[TYPES_MAX + 1] = {{0}};
    const size_t types = count_calls(dump, counts);
    const char *comma = "";
    tp_text_add(text, "\"calls\": [");
    for (size_t i = 0; i <= types; i++) {
        const struct type_count *count = &counts[i];
        if (count->forward + count->backward + count->other == 0)
            continue;
        tp_text_add(text, "%s\n{\"prefix\": ", comma);
        tp_text_json(text, count->type ? count->type->word : "");
        tp_text_add(text,
                    ", \"forward\": %" PRIu64 ", \"backward\": %" PRIu64
                    ", \"other\": %" PRIu64 "}",
                    count->forward, count->backward, count->other);
        comma = ",";
    }
    tp_text_add(text, "]");
}

static void add_crcs_json(const struct tp_dump_crc_counts *counts,
                          const char *name, struct tp_text *text)
{
    tp_text_add(text,
                ", \"%s\": {\"equal\": %" PRIu64 ", \"later\": %" PRIu64
                ", \"differ\": %" PRIu64 ", \"absent\": %" PRIu64 "}",
                name, counts->equal, counts->later, counts->differ,
                counts->absent);
}

void tp_report_dump_json(const struct tp_dump_report *report,
                         struct tp_text *text)
{
    const struct tp_dump_integrity *integrity = report->integrity;
    struct tp_dump_tables tables = {
        report->dump, integrity, report->findings, report->tree, {{0}}};
    const struct tp_table *findings = &tables.tables[TP_DUMP_TABLE_FINDINGS];
    const struct tp_table *places = &tables.tables[TP_DUMP_TABLE_PLACES];
    tp_dump_tables_make(&tables);
    tp_text_add(text, "{\"schema_version\": %d,\n", TP_SCHEMA_VERSION);
    tp_text_add(text,
                "\"integrity\": {\"files\": %" PRIu64 ", \"bytes\": %" PRIu64
                ", \"statistics\": %" PRIu64,
                integrity->files, integrity->bytes, integrity->statistics);
    add_crcs_json(&integrity->own, "crc", text);
    add_crcs_json(&integrity->other, "crc_from", text);
    tp_text_add(text, "},\n");
    add_calls_json(report->dump, text);
    tp_text_add(text, ",\n");
    tp_report_table_json(places, "places", 0, places->row_count, text);
    tp_text_add(text, ",\n");
    tp_report_table_json(findings, "findings", 0, findings->row_count, text);
    tp_text_add(text, ",\n");
    tp_report_skipped_json(report->skipped, text);
    tp_text_add(text, "}\n");
}
