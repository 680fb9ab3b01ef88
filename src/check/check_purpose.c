/* SPDX-License-Identifier: MIT */
/*
 * What code is for. Half of what stands in packages serves, measures or
 * converts networks, where a cast to 16 bits is right; only what trains loses
 * by it. Evidence is taken from the inside out: the function (what it calls,
 * its name, its decorators), its class, the script, the names of the file and
 * of its folders. What says inference wins over what says training, but where
 * it is only a guess about the script.
 *
 * Alternative: to follow calls through the package, which needs all of it.
 * Cost: some names for each finding; the words of a script are learned once.
 */
#include "check/check_purpose.h"

#include <string.h>

/* No more is looked at, so that each finding costs little. */
enum { MOST_BASES = 16, MOST_FOLDERS = 3 };

static const uint32_t trains =
    TP_SEEN_TRAIN | TP_SEEN_BACKWARD | TP_SEEN_SCALER;

bool tp_path_infers(const char *path)
{
    static const char *const words[] = {
        "infer",  "serving", "bench",  "testing", "unittest",
        "export", "convert", "quanti", "metric",  "predict",
        "attack", "evasion", NULL};
    char part[64];
    if (!path)
        return false;
    const char *end = path + strlen(path);
    for (int i = 0; i <= MOST_FOLDERS; i++) {
        const char *begin = end;
        while (begin > path && begin[-1] != '/')
            begin--;
        size_t length = (size_t)(end - begin);
        part[0] = '\0';
        strncat(part, begin, length < sizeof part ? length : sizeof part - 1);
        if (tp_has_part(part, words))
            return true;
        if (begin == path)
            return false;
        end = begin - 1;
    }
    return false;
}

bool tp_flow_derives(const struct tp_flow *flow, const char *word)
{
    uint32_t base = flow->scope.class_ ? flow->at[flow->scope.class_].child : 0;
    for (int i = 0; i < MOST_BASES && base && flow->at[base].kind != TP_PY_BODY;
         i++, base = flow->at[base].next) {
        if (tp_flow_contains(flow, base, word))
            return true;
    }
    return false;
}

/* Whether the name of the class has one of some words that NULL ends. */
static bool is_class_of(const struct tp_flow *flow, const char *const *words)
{
    char name[64] = "";
    if (flow->scope.class_)
        tp_flow_name(flow, flow->scope.class_, name);
    for (; *words; words++) {
        if (strstr(name, *words))
            return true;
    }
    return false;
}

/* Whether a script has a loss by its name. */
static bool has_loss(const struct tp_flow *flow)
{
    return tp_flow_knows(flow, "loss") || tp_flow_knows(flow, "criterion");
}

/* Whether a script only uses a network: it calls eval(), or reads weights into
 * it one by one, and does not train. */
static bool is_for_inference(const struct tp_flow *flow)
{
    if (*flow->seen & TP_SEEN_INFERENCE)
        return true;
    return !(*flow->seen & trains) &&
           (*flow->seen & TP_SEEN_EVAL ||
            (tp_flow_knows(flow, "load_weights") && !has_loss(flow)));
}

/* Whether a function goes on from a position, as with a cache of keys. */
static bool decodes(const struct tp_flow *flow)
{
    return flow->scope.function &&
           tp_flow_mentions(flow, flow->scope.function, "start_pos");
}

bool tp_flow_is_aside(const struct tp_flow *flow)
{
    static const char *const words[] = {"valid", "val_",   "eval",
                                        "test",  "attack", NULL};
    return flow->scope.no_grad || flow->scope.evaluates ||
           tp_flow_is_named(flow, words);
}

bool tp_flow_only_infers(const struct tp_flow *flow)
{
    static const char *const words[] = {
        "infer",     "generate", "eval",    "predict", "export",   "convert",
        "quanti",    "load",     "save",    "sampl",   "decode",   "pipeline",
        "test",      "preproc",  "extract", "metric",  "rmse",     "serv",
        "sync",      "bench",    "profile", "strip",   "beam",     "top_filter",
        "top_k",     "top_p",    "latency", "refine",  "postproc", "populate",
        "uncertain", "valid",    "val_",    "attack",  "epe",      "accura",
        NULL};
    static const char *const classes[] = {
        "Inference",    "Predictor",  "Quantiz",  "Export",
        "Benchmark",    "Metric",     "Sampling", "TreeSearch",
        "GreedySearch", "BeamSearch", "MapGener", "Attack",
        "Evasion",      NULL};
    return flow->scope.no_grad || flow->scope.evaluates ||
           tp_flow_is_named(flow, words) || is_class_of(flow, classes) ||
           (!flow->scope.function && tp_flow_knows(flow, "latency")) ||
           decodes(flow) || is_for_inference(flow);
}

static bool is_trainer(const struct tp_flow *flow)
{
    static const char *const words[] = {"Train", NULL};
    return is_class_of(flow, words) || tp_flow_derives(flow, "Trainer");
}

static bool is_module(const struct tp_flow *flow)
{
    return tp_flow_derives(flow, "Module") || tp_flow_derives(flow, "Model") ||
           tp_flow_derives(flow, "Loss");
}

bool tp_flow_trains(const struct tp_flow *flow)
{
    static const char *const words[] = {"forward", "loss", "train", NULL};
    static const char *const steps[] = {"step", NULL}; /* of games, too */
    static const char *const makes[] = {"__init__", "reset_param", "init",
                                        NULL};
    return !tp_flow_only_infers(flow) && !tp_flow_is_named(flow, makes) &&
           (*flow->seen & trains || tp_flow_is_named(flow, words) ||
            (!flow->scope.class_ && tp_flow_is_named(flow, steps)) ||
            is_trainer(flow) || is_module(flow));
}

bool tp_flow_is_frozen(const struct tp_flow *flow, uint32_t node)
{
    size_t length;
    const char *text = tp_script_text(flow->script, node, &length);
    return tp_names_find(flow->frozen, text, length) != NULL ||
           tp_flow_contains(flow, node, "teacher") ||
           tp_flow_contains(flow, node, "ref_model");
}

bool tp_flow_is_data(const struct tp_flow *flow, uint32_t node)
{
    static const char *const words[] = {
        "mask", "image", "img",   "pixel", "video", "audio",
        "wav",  "input", "batch", "frame", "label", "targe",
        "ids",  "idx",   "indic", "posit", "noise", "timestep"};
    enum { ANYWHERE = 7 }; /* of these, what is data where all else trains */
    const struct tp_function *function =
        tp_functions_at(flow->functions, flow->scope.function);
    size_t count = sizeof words / sizeof *words;
    if (!function || function->takes_gradients)
        count = ANYWHERE;
    while (flow->at[node].kind == TP_PY_SUBSCRIPT)
        node = flow->at[node].child;
    for (size_t i = 0; i < count; i++) {
        if (tp_flow_contains(flow, node, words[i]))
            return true;
    }
    return false;
}

bool tp_flow_only_tries(const struct tp_flow *flow)
{
    bool aside = flow->scope.function || tp_flow_depends_on(flow, "__main__");
    return aside && !(*flow->seen & trains && (tp_flow_knows(flow, "step") ||
                                               tp_flow_knows(flow, "fit") ||
                                               tp_flow_knows(flow, "Trainer")));
}

bool tp_flow_trains_here(const struct tp_flow *flow)
{
    static const char *const losses[] = {"loss", NULL};
    static const char *const steps[] = {"__init__",     "train",   "loss",
                                        "compute_loss", "forward", NULL};
    static const char *const forwards[] = {"__init__", "forward", NULL};
    const struct tp_function *function =
        tp_functions_at(flow->functions, flow->scope.function);
    if (tp_flow_only_infers(flow))
        return false;
    if (!function) /* a fragment that imports nothing is taken as it is */
        return (*flow->seen & trains && !tp_flow_only_tries(flow)) ||
               !flow->script->has_torch;
    return function->takes_gradients || tp_flow_is_named(flow, losses) ||
           (is_trainer(flow) && tp_flow_is_named(flow, steps)) ||
           (is_module(flow) && tp_flow_is_named(flow, forwards) &&
            (*flow->seen & trains || has_loss(flow)));
}

bool tp_flow_keeps_copies(const struct tp_flow *flow)
{
    static const char *const names[] = {"deepspeed", "apex", "FP16_Optimizer",
                                        "FP16Optimizer", NULL};
    return tp_flow_knows_any(flow, names);
}
