/* SPDX-License-Identifier: MIT */
#include "cli/scripts.h"

#include <string.h>

#include "check/check_lookup.h"
#include "cli/cli.h"
#include "dump/dump_call.h"
#include "verdict/trace_rule_costs.h"

enum tp_status tp_scripts_read(const struct tp_options *options,
                               struct tp_pool *pool, struct tp_check *check,
                               struct tp_error *err)
{
    const struct tp_check_request how = {
        .roots = &options->scripts,
        .root_count = 1,
        .settings = {.include_tests = true,
                     .set = TP_CHECK_SET_TESTS | TP_CHECK_SET_LANG},
        .pool = pool,
        .stop = &tp_interrupted};
    *check = (struct tp_check){0};
    if (!options->scripts)
        return TP_OK;
    enum tp_status status = tp_check_read(&how, check, err);
    if (status != TP_OK)
        tp_while(err, "reading the scripts of --scripts");
    return status;
}

/* The line that made the call of a finding; nothing when it is not known. */
static void add_line(const struct tp_dump *dump,
                     const struct tp_dump_finding *finding,
                     struct tp_text *text)
{
    for (size_t i = 0; i < dump->place_count; i++) {
        const struct tp_dump_place *place = &dump->places[i];
        if (finding->order >= 0 && place->step == finding->step &&
            place->rank == finding->rank &&
            (uint64_t)finding->order < place->call_count &&
            !strcmp(place->calls[finding->order].key, finding->name))
            tp_dump_call_line(place, &place->calls[finding->order], text);
    }
}

enum tp_status tp_scripts_explain(const struct tp_check *check,
                                  const struct tp_dump *dump,
                                  struct tp_dump_findings *findings,
                                  struct tp_error *err)
{
    struct tp_text line = {0}, said = {0};
    for (size_t i = 0; i < findings->count && check->list.count > 0; i++) {
        struct tp_dump_finding *finding = &findings->rows[i];
        tp_text_clear(&line);
        tp_text_clear(&said);
        add_line(dump, finding, &line);
        tp_check_say(check, tp_text_get(&line), &said);
        if (said.length > 0)
            finding->evidence = tp_dump_finding_text(
                findings, "%s.%s", finding->evidence, tp_text_get(&said));
    }
    bool failed = line.failed || said.failed;
    tp_text_clear(&line);
    tp_text_clear(&said);
    return failed ? tp_fail_memory(err) : TP_OK;
}

bool tp_scripts_is_frame(const char *name, const void *check)
{
    return tp_check_knows_frame(check, name);
}

/* The frame that a finding about a trace is about; "": none is known. */
static const char *frame_of(const struct tp_trace_run *run,
                            const struct tp_trace_finding *finding)
{
    const struct tp_trace *trace = NULL;
    for (size_t i = 0; i < run->trace_count && !trace; i++) {
        if (run->traces[i].path == finding->file)
            trace = &run->traces[i];
    }
    if (trace && !strcmp(finding->rule->id, "sync")) {
        const struct tp_sync_row *row = tp_trace_worst_sync(trace);
        return row ? row->frame : "";
    }
    return trace && !strcmp(finding->rule->id, "copies")
               ? trace->facts.copy_frame
               : "";
}

enum tp_status tp_scripts_explain_trace(const struct tp_check *check,
                                        const struct tp_trace_run *run,
                                        struct tp_trace_judged *judged,
                                        struct tp_error *err)
{
    /* what makes the host wait, or copies */
    static const char *const rules[] = {
        "item_in_loop", "non_blocking_without_pin", "anomaly_left_on",
        "debugger_in_loop", NULL};
    struct tp_text said = {0};
    for (size_t i = 0; i < judged->findings.count; i++) {
        struct tp_trace_finding *finding = &judged->findings.rows[i];
        tp_text_clear(&said);
        tp_check_say_frame(check, frame_of(run, finding), rules, &said);
        if (said.length > 0)
            finding->evidence = tp_judge_text(
                judged, "%s.%s", finding->evidence, tp_text_get(&said));
    }
    bool failed = said.failed;
    tp_text_clear(&said);
    return failed ? tp_fail_memory(err) : TP_OK;
}
