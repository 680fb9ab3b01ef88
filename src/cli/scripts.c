/* SPDX-License-Identifier: MIT */
#include "cli/scripts.h"

#include <string.h>

#include "check/check_lookup.h"
#include "cli/cli.h"
#include "dump/dump_call.h"
#include "verdict/trace_rule_costs.h"

/* Warns of scripts that could not be read whole. TP_E_MEMORY: one of them. */
static enum tp_status tell_problems(const struct tp_options *options,
                                    const struct tp_check *check,
                                    struct tp_error *err)
{
    for (size_t i = 0; i < check->list.count; i++) {
        const struct tp_error *problem = &check->list.files[i].problem;
        if (problem->code == TP_E_MEMORY)
            return tp_fail_memory(err);
        if (problem->code == TP_OK)
            continue;
        struct tp_text file = {0};
        tp_text_printable(&file, problem->file);
        tp_print_warning(options, "%s: %s", tp_text_get(&file),
                         problem->message);
        tp_text_clear(&file);
    }
    return TP_OK;
}

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
    if (status == TP_OK)
        status = tell_problems(options, check, err);
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
    bool failed = false;
    for (size_t i = 0; i < findings->count && check->list.count > 0; i++) {
        struct tp_dump_finding *finding = &findings->rows[i];
        struct tp_text line = {0}, said = {0};
        add_line(dump, finding, &line);
        tp_check_say(check, tp_text_get(&line), &said);
        if (said.length > 0)
            finding->evidence = tp_dump_finding_text(
                findings, "%s.%s", finding->evidence, tp_text_get(&said));
        failed |= line.failed || said.failed;
        tp_text_clear(&line);
        tp_text_clear(&said);
    }
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
    bool failed = false;
    for (size_t i = 0; i < judged->findings.count; i++) {
        struct tp_trace_finding *finding = &judged->findings.rows[i];
        struct tp_text said = {0};
        const char *frame = frame_of(run, finding);
        bool named = *frame && strstr(finding->evidence, frame);
        tp_check_say_frame(check, frame, named, rules, &said);
        if (said.length > 0)
            finding->evidence = tp_judge_text(
                judged, "%s.%s", finding->evidence, tp_text_get(&said));
        failed |= said.failed;
        tp_text_clear(&said);
    }
    return failed ? tp_fail_memory(err) : TP_OK;
}

/* What tensors suffer, as bits, by rules about them. */
enum { NONFINITE = 1, OVERFLOWS = 2, UNDERFLOWS = 4 };

static const struct fault {
    const char *rule, *name;
    unsigned bit;
} faults[] = {{"nonfinite", "NaN or Inf", NONFINITE},
              {"overflow", "overflow", OVERFLOWS},
              {"near_overflow", "overflow", OVERFLOWS},
              {"underflow", "underflow", UNDERFLOWS}};

/* Rules of check whose code makes it, by what they say themselves. */
static const struct cause {
    const char *rule;
    unsigned faults;
    bool fp16, gradients; /* in float16 only, of gradients only           */
} causes[] = {
    {"log_softmax", NONFINITE, false, false},
    {"log_sigmoid", NONFINITE, false, false},
    {"sqrt_at_zero", NONFINITE, false, false},
    {"divide_without_eps", NONFINITE, false, false},
    {"exp_without_max", NONFINITE, false, false},
    {"variance_by_difference", NONFINITE, false, false},
    {"where_nan_gradient", NONFINITE, false, true},
    {"all_masked_row", NONFINITE, false, false},
    {"fp8_cast_without_scale", NONFINITE, false, false},
    {"eps_below_fp16", NONFINITE, true, false},
    {"mask_below_fp16", NONFINITE, true, false},
    {"square_in_half", NONFINITE | OVERFLOWS, true, false},
    {"cumsum_in_half", NONFINITE | OVERFLOWS, true, false},
    {"static_loss_scale", NONFINITE | OVERFLOWS | UNDERFLOWS, true, true},
    {"fp16_without_scaler", UNDERFLOWS, true, true}};

enum { CAUSES = sizeof causes / sizeof *causes };

/* The rules of check that may say why; NULL ends them. */
static void causes_of(const struct tp_finding *finding, unsigned fault,
                      const char *rules[CAUSES + 1])
{
    bool fp16 = !strcmp(finding->quant_type, "fp16") ||
                !strcmp(finding->rule->id, "near_overflow");
    bool gradients = fault == NONFINITE || /* the weights have them next */
                     !strcmp(finding->operation, "backward");
    size_t count = 0;
    for (size_t i = 0; i < CAUSES; i++) {
        if (causes[i].faults & fault && (fp16 || !causes[i].fp16) &&
            (gradients || !causes[i].gradients))
            rules[count++] = causes[i].rule;
    }
    rules[count] = NULL;
}

enum tp_status tp_scripts_explain_tensors(const struct tp_check *check,
                                          struct tp_findings *findings,
                                          struct tp_error *err)
{
    bool failed = false;
    const char *rules[CAUSES + 1];
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        size_t at = 0;
        while (at < findings->count &&
               strcmp(findings->rows[at].rule->id, faults[i].rule) != 0)
            at++;
        if (at == findings->count)
            continue;
        struct tp_finding *worst = &findings->rows[at];
        struct tp_text said = {0}, text = {0};
        causes_of(worst, faults[i].bit, rules);
        tp_check_say_places(check, rules, &said);
        failed |= said.failed;
        if (said.length > 0) {
            tp_text_add(&text,
                        "%s. No tensor names its line; check finds what may "
                        "cause %s at %s",
                        worst->evidence, faults[i].name, tp_text_get(&said));
            worst->evidence = tp_finding_take(findings, &text);
        }
        tp_text_clear(&said);
    }
    failed |= findings->arena.failed;
    return failed ? tp_fail_memory(err) : TP_OK;
}
