/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "dump/dump_checks.h"

/* --- json ----------------------------------------------------------------- */

static enum tp_status add_json(const struct tp_dump_checker *checker,
                               const struct tp_dump_place *place,
                               enum tp_dump_json json, enum tp_severity level,
                               struct tp_dump_finding **finding,
                               struct tp_error *err)
{
    enum tp_status status = tp_dump_finding_add(
        checker->findings, TP_CHECK_JSON, level, place, finding, err);
    if (status == TP_OK)
        (*finding)->name = tp_dump_source_name(place, json);
    return status;
}

/* How many files there are that no item names. */
static size_t count_orphans(const struct tp_dump_place *place)
{
    size_t count = 0;
    for (size_t i = 0; i < place->file_count; i++)
        count += !place->files[i].used;
    return count;
}

/* What to do about calls that are lost. */
static const char *advice_for_lost(const struct tp_dump_place *place)
{
    if (place->log)
        return "Copy the log again from where it was written; it is written at "
               "once when the step ends, so that one that is cut there is of a "
               "process that was stopped meanwhile.";
    return place->file_count == 0
               ? "Take the dump again, and let debugger.stop() and step() run: "
                 "msprobe writes the whole file anew each time, so that a "
                 "process that is killed leaves an old or a cut one."
               : "Copy the file again from where the dump was made; if it is "
                 "cut there, too, --recover lists the calls that names of "
                 "files tell of.";
}

static enum tp_status check_whole(const struct tp_dump_checker *checker,
                                  const struct tp_dump_place *place,
                                  enum tp_dump_json json, struct tp_error *err)
{
    const struct tp_dump_source *source = &place->sources[json];
    struct tp_dump_findings *findings = checker->findings;
    const bool calls = json == TP_DUMP_JSON || json == TP_DUMP_DEBUG;
    const size_t read = place->call_count - place->recovered;
    struct tp_dump_finding *finding;
    enum tp_severity level = calls ? TP_SEVERITY_HIGH : TP_SEVERITY_MEDIUM;
    if (!source->file || source->status == TP_OK)
        return TP_OK;
    if (!calls && source->file->size == 0) /* as old versions leave them */
        level = TP_SEVERITY_LOW;
    enum tp_status status =
        add_json(checker, place, json, level, &finding, err);
    if (status != TP_OK)
        return status;
    finding->expected = "a whole file";
    finding->found = source->file->size == 0 ? "an empty file"
                     : source->offset < 0
                         ? source->problem
                         : tp_dump_finding_text(
                               findings, "%s at byte %" PRId64 " of %" PRIu64,
                               source->problem, source->offset,
                               source->file->size);
    finding->evidence = tp_dump_finding_text(
        findings, "%s/%s: %s%s", place->directory,
        tp_dump_source_name(place, json),
        finding->found,
        calls ? tp_dump_finding_text(findings,
                                     "; %zu call%s read from what is whole.",
                                     read, read == 1 ? " was" : "s were")
              : "; what it says there is not known.");
    if (source->status == TP_E_UNSUPPORTED)
        finding->suggestion = "Another program wrote it, or changed it: copy "
                              "the file again from where the dump was made.";
    else
        finding->suggestion =
            calls ? advice_for_lost(place)
                  : "Calls without a stack, or without a module, may be those "
                    "that it tells of there. Copy the file again.";
    return TP_OK;
}

static bool has_calls_file(const struct tp_dump_place *place)
{
    return place->sources[TP_DUMP_JSON].file ||
           place->sources[TP_DUMP_DEBUG].file;
}

/* Only what was read is said to have no calls. */
static bool is_read(const struct tp_dump_place *place)
{
    return place->sources[TP_DUMP_JSON].status == TP_OK &&
           place->sources[TP_DUMP_DEBUG].status == TP_OK;
}

/* No file with calls: the task "structure" writes none, all others do. */
static enum tp_status check_absent(const struct tp_dump_checker *checker,
                                   const struct tp_dump_place *place,
                                   struct tp_error *err)
{
    struct tp_dump_findings *findings = checker->findings;
    struct tp_dump_finding *finding;
    if (has_calls_file(place))
        return TP_OK;
    const size_t files = place->file_count;
    enum tp_status status =
        add_json(checker, place, TP_DUMP_JSON,
                 files ? TP_SEVERITY_HIGH : TP_SEVERITY_LOW, &finding, err);
    if (status != TP_OK)
        return status;
    finding->expected = "dump.json or debug.json";
    finding->found = "neither";
    finding->evidence = tp_dump_finding_text(
        findings,
        "%s has %zu file%s in dump_tensor_data and nothing that says "
        "what %s.",
        place->directory, files, files == 1 ? "" : "s",
        files == 1 ? "it is" : "they are");
    finding->suggestion =
        files ? advice_for_lost(place)
              : "The task \"structure\" writes nothing else; any other has "
                "lost its calls.";
    return TP_OK;
}

/* Names of calls in stack.json or construct.json, or files, and no call. */
static enum tp_status check_empty(const struct tp_dump_checker *checker,
                                  const struct tp_dump_place *place,
                                  struct tp_error *err)
{
    struct tp_dump_findings *findings = checker->findings;
    struct tp_dump_finding *finding;
    const size_t files = place->file_count;
    const char *task = place->heads[TP_MSPROBE_TASK];
    const bool empty = place->call_count == place->recovered;
    /* these write what they find, which may be nothing, and a tree */
    const bool may_be_empty =
        !strcmp(task, "free_benchmark") || !strcmp(task, "structure");
    if (!has_calls_file(place) || !is_read(place) || !empty ||
        (files == 0 && (may_be_empty || place->node_count == 0)))
        return TP_OK;
    enum tp_status status = add_json(
        checker, place,
        place->sources[TP_DUMP_JSON].file ? TP_DUMP_JSON : TP_DUMP_DEBUG,
        TP_SEVERITY_HIGH, &finding, err);
    if (status != TP_OK)
        return status;
    finding->expected = "calls";
    finding->found = "\"data\": {}";
    finding->evidence = tp_dump_finding_text(
        findings,
        "%s has %zu files in dump_tensor_data and %zu calls in "
        "construct.json, but its \"data\" is empty.",
        place->directory, files, place->node_count);
    finding->suggestion = advice_for_lost(place);
    return TP_OK;
}

/* --- files ---------------------------------------------------------------- */

static enum tp_status add_missing(const struct tp_dump_checker *checker,
                                  const struct tp_dump_at *at,
                                  struct tp_error *err)
{
    struct tp_dump_finding *finding;
    enum tp_status status = tp_dump_check_add(
        checker, at, TP_CHECK_MISSING_FILE, TP_SEVERITY_MEDIUM, &finding, err);
    if (status != TP_OK)
        return status;
    finding->expected =
        tp_dump_finding_text(checker->findings, "%s", at->item->data_name);
    finding->found = "no such file";
    finding->evidence = tp_dump_finding_text(
        checker->findings, "%s/dump_tensor_data has no %s.",
        at->place->directory, at->item->data_name);
    finding->suggestion =
        "Copy it again; where it was never there, the disk was full or the "
        "tensor of a kind that msprobe does not save.";
    return TP_OK;
}

/* All of a place at once: its tensors were not copied. */
static enum tp_status add_all_missing(const struct tp_dump_checker *checker,
                                      const struct tp_dump_place *place,
                                      size_t named, struct tp_error *err)
{
    struct tp_dump_finding *finding;
    enum tp_status status =
        tp_dump_finding_add(checker->findings, TP_CHECK_MISSING_FILE,
                            TP_SEVERITY_MEDIUM, place, &finding, err);
    if (status != TP_OK)
        return status;
    finding->name = "dump_tensor_data";
    finding->expected = tp_dump_finding_text(checker->findings, "%zu file%s",
                                             named, named == 1 ? "" : "s");
    finding->found = "none of them";
    finding->evidence = tp_dump_finding_text(
        checker->findings,
        "dump.json names %zu file%s, and %s/dump_tensor_data has none.", named,
        named == 1 ? "" : "s", place->directory);
    finding->suggestion = "Copy the folder dump_tensor_data, too; statistics "
                          "are all that is known without it.";
    return TP_OK;
}

static enum tp_status check_missing(const struct tp_dump_checker *checker,
                                    const struct tp_dump_place *place,
                                    struct tp_error *err)
{
    enum tp_status status = TP_OK;
    size_t named = 0;
    for (size_t i = 0; i < place->item_count; i++)
        named += *place->items[i].data_name != '\0';
    if (place->file_count == 0)
        return named ? add_all_missing(checker, place, named, err) : TP_OK;
    for (size_t i = 0; i < place->call_count; i++) {
        const struct tp_dump_call *call = &place->calls[i];
        for (size_t k = 0; k < call->count && status == TP_OK; k++) {
            const struct tp_dump_at at = {place, call,
                                          &place->items[call->first + k], NULL};
            if (*at.item->data_name && !at.item->file)
                status = add_missing(checker, &at, err);
        }
    }
    return status;
}

static enum tp_status add_orphan(const struct tp_dump_checker *checker,
                                 const struct tp_dump_place *place,
                                 const struct tp_dump_file *file,
                                 struct tp_error *err)
{
    struct tp_dump_finding *finding;
    enum tp_status status =
        tp_dump_finding_add(checker->findings, TP_CHECK_ORPHAN_FILE,
                            TP_SEVERITY_MEDIUM, place, &finding, err);
    if (status != TP_OK)
        return status;
    finding->name = tp_dump_finding_text(checker->findings, "%s", file->name);
    finding->expected = "a call that names it";
    finding->found = "none";
    finding->evidence = tp_dump_finding_text(
        checker->findings,
        "No entry names dump_tensor_data/%s of %" PRIu64 " bytes.", file->name,
        file->found->size);
    finding->suggestion =
        "dump.json is older than the file, or the file is that of another "
        "dump. --recover lists it by its name.";
    return TP_OK;
}

/* Where calls are lost anyhow, all files behind them are orphans: their number
 * is enough. */
static enum tp_status check_orphans(const struct tp_dump_checker *checker,
                                    const struct tp_dump_place *place,
                                    struct tp_error *err)
{
    enum tp_status status = TP_OK;
    if (count_orphans(place) == 0 || !has_calls_file(place) ||
        !is_read(place) || place->call_count == place->recovered)
        return TP_OK;
    for (size_t i = 0; i < place->file_count && status == TP_OK; i++)
        if (!place->files[i].used)
            status = add_orphan(checker, place, &place->files[i], err);
    return status;
}

enum tp_status tp_dump_check_files(const struct tp_dump_checker *checker,
                                   const struct tp_dump_place *place,
                                   struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (int i = 0; i < TP_DUMP_JSONS && status == TP_OK; i++)
        status = check_whole(checker, place, (enum tp_dump_json)i, err);
    if (status == TP_OK)
        status = check_absent(checker, place, err);
    if (status == TP_OK)
        status = check_empty(checker, place, err);
    if (status == TP_OK)
        status = check_missing(checker, place, err);
    return status == TP_OK ? check_orphans(checker, place, err) : status;
}
