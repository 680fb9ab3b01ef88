/* SPDX-License-Identifier: MIT */
/*
 * Options of Megatron-LM and of transformers that choose a precision. Facts are
 * those of Megatron-LM's arguments.py: bf16 sums gradients in fp32 unless
 * --grad-reduce-in-bf16 is given, fp16 only with
 * --accumulate-allreduce-grads-in-fp32; --fp8-recipe is "delayed" unless given,
 * and only that one keeps a history.
 *
 * A rule speaks on options that are there whenever the command runs. That an
 * option is absent counts only where nothing is unknown that could bring it.
 */
#include "check/rules_launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct tp_check_rule *tp_launch_rule(const char *id)
{
    return tp_check_rule_find(id, strlen(id));
}

/* Options that are looked for. */
enum option {
    FP16,
    BF16,
    ACCUMULATE,
    GRAD_BF16,
    LOSS_SCALE,
    FP8_FORMAT,
    FP8_E4M3,
    FP8_RECIPE,
    FP8_HISTORY,
    TENSOR_PARALLEL,
    MICRO_BATCH,
    LEARNING_RATE,
    TRAIN_ITERS,
    TRAIN_SAMPLES,
    DEEPSPEED,
    YAML,
    OPTIONS
};

/* Megatron writes hyphens, transformers underscores. */
static const struct {
    const char *name;
    bool is_switch; /* the word behind it is no value, but True or False  */
} options[OPTIONS] = {
    [FP16] = {"fp16", true},
    [BF16] = {"bf16", true},
    [ACCUMULATE] = {"accumulate-allreduce-grads-in-fp32", true},
    [GRAD_BF16] = {"grad-reduce-in-bf16", true},
    [LOSS_SCALE] = {"loss-scale", false},
    [FP8_FORMAT] = {"fp8-format", false},
    [FP8_E4M3] = {"fp8-e4m3", true},
    [FP8_RECIPE] = {"fp8-recipe", false},
    [FP8_HISTORY] = {"fp8-amax-history-len", false},
    [TENSOR_PARALLEL] = {"tensor-model-parallel-size", false},
    [MICRO_BATCH] = {"micro-batch-size", false},
    [LEARNING_RATE] = {"lr", false},
    [TRAIN_ITERS] = {"train-iters", false},
    [TRAIN_SAMPLES] = {"train-samples", false},
    [DEEPSPEED] = {"deepspeed", true},
    [YAML] = {"yaml-cfg", false},
};

/* What a command says of them. */
struct launch {
    const struct tp_shell_word *words[OPTIONS]; /* NULL: absent           */
    const char *values[OPTIONS]; /* "" when there is none, or unknown     */
    bool sure[OPTIONS];          /* on, and its value known               */
    bool open;                   /* there may be more options             */
    struct tp_check_findings *findings;
};

/* The option that a word begins with, and what follows "=". */
static int option_of(const char *word, const char **value)
{
    *value = NULL;
    if (word[0] != '-' || word[1] != '-')
        return -1;
    for (int i = 0; i < OPTIONS; i++) {
        const char *name = options[i].name, *p = word + 2;
        while (*name && (*p == *name || (*p == '_' && *name == '-')))
            p++, name++;
        if (*name || (*p && *p != '='))
            continue;
        *value = *p ? p + 1 : NULL;
        return i;
    }
    return -1;
}

/* Whether an unknown word may bring options: in the place of a value it does
 * not, unless its name says so. */
static bool may_be_options(const struct tp_shell_word *words, size_t i)
{
    static const char *const names[] = {
        "ARG", "OPT", "FLAG", "EXTRA", "PARAM", "args", "extra", "@", "*"};
    const char *value, *text = words[i].text;
    int before = i > 0 ? option_of(words[i - 1].text, &value) : -1;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        if (strstr(text, names[n]))
            return true;
    }
    return i == 0 || strncmp(words[i - 1].text, "--", 2) != 0 ||
           strchr(words[i - 1].text, '=') ||
           (before >= 0 && options[before].is_switch);
}

static bool is_false(const char *value)
{
    return !strcmp(value, "False") || !strcmp(value, "false") ||
           !strcmp(value, "0") || !strcmp(value, "no");
}

static void take_option(struct launch *launch, int option, const char *value,
                        const struct tp_shell_word *words, size_t left)
{
    bool known = !words->unknown;
    if (!value && left > 1 && words[1].text[0] != '-') {
        known &= !words[1].unknown;
        value = words[1].text;
    }
    launch->words[option] = words;
    launch->values[option] = value && known ? value : "";
    launch->sure[option] =
        !words->maybe && known &&
        (left < 2 || value != words[1].text || !words[1].maybe) &&
        !(options[option].is_switch && is_false(launch->values[option]));
}

static void read_options(struct launch *launch,
                         const struct tp_shell_word *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = words[i].text, *value;
        int option = option_of(text, &value);
        if (option >= 0)
            take_option(launch, option, value, words + i, count - i);
        else if (words[i].unknown && text[0] == '$')
            launch->open |= may_be_options(words, i);
        else if (words[i].unknown && text[0] == '-')
            launch->open |= !strchr(text, '=');
    }
    launch->open |= launch->words[YAML] != NULL;
}

static void add(struct launch *launch, enum option option, const char *rule,
                const char *what)
{
    struct tp_check_finding finding = {.line = launch->words[option]->line,
                                       .offset = launch->words[option]->offset,
                                       .rule = tp_launch_rule(rule)};
    finding.severity = finding.rule->severity;
    snprintf(finding.what, sizeof finding.what, "%s", what);
    tp_check_add(launch->findings, &finding);
}

/* Whether it starts a training of Megatron, whose gradients it sums itself. */
static bool is_megatron(const struct launch *launch)
{
    return (launch->words[TENSOR_PARALLEL] || launch->words[MICRO_BATCH]) &&
           (launch->words[LEARNING_RATE] || launch->words[TRAIN_ITERS] ||
            launch->words[TRAIN_SAMPLES]) &&
           !launch->words[DEEPSPEED];
}

static void judge_half(struct launch *launch)
{
    char what[64];
    if (launch->sure[FP16] && launch->sure[BF16])
        add(launch, FP16, "fp16_and_bf16", "a run");
    if (launch->sure[FP16] && is_megatron(launch) && !launch->open &&
        !launch->words[ACCUMULATE])
        add(launch, FP16, "reduce_in_half",
            "--fp16 without --accumulate-allreduce-grads-in-fp32");
    if (launch->sure[GRAD_BF16])
        add(launch, GRAD_BF16, "reduce_in_half", "--grad-reduce-in-bf16");
    if (launch->sure[FP16] && launch->sure[LOSS_SCALE] &&
        strtod(launch->values[LOSS_SCALE], NULL) > 0) {
        snprintf(what, sizeof what, "%.30s %.20s", "--loss-scale",
                 launch->values[LOSS_SCALE]);
        add(launch, LOSS_SCALE, "static_loss_scale", what);
    }
}

static void judge_fp8(struct launch *launch)
{
    const char *recipe = launch->values[FP8_RECIPE];
    bool absent = !launch->words[FP8_RECIPE] && !launch->open;
    bool delayed =
        absent || (launch->sure[FP8_RECIPE] && !strcmp(recipe, "delayed"));
    bool tensorwise = launch->sure[FP8_RECIPE] && !strcmp(recipe, "tensorwise");
    if (launch->sure[FP8_FORMAT] && (delayed || tensorwise) &&
        !strcmp(launch->values[FP8_FORMAT], "e4m3"))
        add(launch, FP8_FORMAT, "e4m3_backward", "--fp8-format e4m3");
    if (launch->sure[FP8_E4M3])
        add(launch, FP8_E4M3, "e4m3_backward", "--fp8-e4m3");
    if (launch->sure[FP8_HISTORY] && delayed &&
        (launch->sure[FP8_FORMAT] || launch->sure[FP8_E4M3]) &&
        !strcmp(launch->values[FP8_HISTORY], "1"))
        add(launch, FP8_HISTORY, "amax_history_1", "--fp8-amax-history-len 1");
}

void tp_launch_judge(void *findings, const struct tp_shell_word *words,
                     size_t count)
{
    static const char *const shows[] = {"echo", "printf", "[", "test", "grep"};
    struct launch launch = {.findings = findings};
    for (size_t i = 0; i < sizeof shows / sizeof *shows; i++) {
        if (!strcmp(words[0].text, shows[i]))
            return;
    }
    read_options(&launch, words, count);
    judge_half(&launch);
    judge_fp8(&launch);
}
