/* SPDX-License-Identifier: MIT */
#include "check/deepspeed.h"

#include <stdio.h>
#include <string.h>

#include "check/json_lines.h"
#include "check/rules_launch.h"

/* What is looked at; "" for a member of the root. */
enum key {
    FP16_ENABLED,
    FP16_SCALE,
    FP16_MASTER,
    BF16_ENABLED,
    BF16_MASTER,
    REDUCE_DTYPE,
    ACCUMULATE_DTYPE,
    KEYS
};

static const struct {
    const char *section, *name;
} keys[KEYS] = {
    [FP16_ENABLED] = {"fp16", "enabled"},
    [FP16_SCALE] = {"fp16", "loss_scale"},
    [FP16_MASTER] = {"fp16", "fp16_master_weights_and_grads"},
    [BF16_ENABLED] = {"bf16", "enabled"},
    [BF16_MASTER] = {"bf16", "bf16_master_weights_and_grads"},
    [REDUCE_DTYPE] = {"", "communication_data_type"},
    [ACCUMULATE_DTYPE] = {"data_types", "grad_accum_dtype"},
};

/* Where a key stands, and its value. */
struct found {
    const struct tp_json *value; /* NULL: it is not there                 */
    uint32_t line, offset;
};

struct config {
    struct found at[KEYS];
    struct tp_json_lines lines;
    struct tp_check_findings *findings;
};

/* Keys that no other JSON has; the text has them also where it is damaged. */
static const char *const own_keys[] = {"\"zero_optimization\"",
                                       "\"train_micro_batch_size_per_gpu\"",
                                       "\"communication_data_type\""};

static bool has_text(const char *text, size_t length, const char *part)
{
    size_t size = strlen(part);
    for (const char *end = text + length;
         (text = memchr(text, part[0], (size_t)(end - text))) != NULL; text++) {
        if ((size_t)(end - text) < size)
            return false;
        if (memcmp(text, part, size) == 0)
            return true;
    }
    return false;
}

static bool has_own_key(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof own_keys / sizeof *own_keys; i++) {
        if (has_text(text, length, own_keys[i]))
            return true;
    }
    return false;
}

/* Whether the root is a configuration, and not what holds one. */
static bool is_config(const struct tp_json *root)
{
    return tp_json_member(root, "zero_optimization") ||
           tp_json_member(root, "train_micro_batch_size_per_gpu") ||
           tp_json_member(root, "communication_data_type") ||
           tp_json_member(tp_json_member(root, "fp16"), "enabled") ||
           tp_json_member(tp_json_member(root, "bf16"), "enabled");
}

static void note_key(struct config *config, const char *section,
                     const struct tp_json *member, uint32_t line)
{
    for (int i = 0; i < KEYS; i++) {
        if (!strcmp(keys[i].section, section) &&
            !strcmp(keys[i].name, member->key))
            config->at[i] =
                (struct found){member, line, (uint32_t)config->lines.start};
    }
}

static void read_members(struct config *config, const struct tp_json *object,
                         const char *section)
{
    for (const struct tp_json *at = object->first; at; at = at->next) {
        uint32_t line = tp_json_lines_next(&config->lines);
        note_key(config, section, at, line);
        if (!*section && at->kind == TP_JSON_OBJECT)
            read_members(config, at, at->key);
        else
            tp_json_lines_skip(&config->lines, at);
    }
}

static bool is_on(const struct config *config, enum key key)
{
    const struct tp_json *value = config->at[key].value;
    return value && value->kind == TP_JSON_BOOL && value->integer;
}

static void add(struct config *config, enum key key, const char *rule,
                const char *what)
{
    struct tp_check_finding finding = {.line = config->at[key].line,
                                       .offset = config->at[key].offset,
                                       .rule = tp_launch_rule(rule)};
    finding.severity = finding.rule->severity;
    snprintf(finding.what, sizeof finding.what, "%s", what);
    tp_check_add(config->findings, &finding);
}

static bool is_half(const struct found *found)
{
    return found->value && found->value->kind == TP_JSON_STRING &&
           (!strcmp(found->value->text, "fp16") ||
            !strcmp(found->value->text, "bf16") ||
            !strcmp(found->value->text, "bfp16"));
}

static void judge(struct config *config)
{
    const struct tp_json *scale = config->at[FP16_SCALE].value;
    char what[64];
    if (is_on(config, FP16_ENABLED) && is_on(config, BF16_ENABLED))
        add(config, FP16_ENABLED, "fp16_and_bf16", "DeepSpeed");
    if (is_on(config, FP16_ENABLED) && tp_json_is_number(scale) &&
        scale->real != 0) {
        snprintf(what, sizeof what, "fp16.loss_scale %g", scale->real);
        add(config, FP16_SCALE, "static_loss_scale", what);
    }
    for (int i = REDUCE_DTYPE; i <= ACCUMULATE_DTYPE; i++) {
        if (!is_half(&config->at[i]))
            continue;
        snprintf(what, sizeof what, "%s %s", keys[i].name,
                 config->at[i].value->text);
        add(config, (enum key)i, "reduce_in_half", what);
    }
    if (is_on(config, FP16_ENABLED) && is_on(config, FP16_MASTER))
        add(config, FP16_MASTER, "half_optimizer_without_master",
            "DeepSpeed's optimizer");
    if (is_on(config, BF16_ENABLED) && is_on(config, BF16_MASTER))
        add(config, BF16_MASTER, "half_optimizer_without_master",
            "DeepSpeed's optimizer");
}

enum tp_status tp_deepspeed_check(const char *text, size_t length,
                                  struct tp_check_findings *findings,
                                  struct tp_error *err)
{
    const struct tp_json *root = NULL;
    struct tp_arena arena = {0};
    struct config config = {.lines = {text, length, 0, 1, 0},
                            .findings = findings};
    bool own = has_own_key(text, length);
    if (!own && !has_text(text, length, "\"enabled\""))
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "no configuration of DeepSpeed");
    struct tp_json_parser *parser = tp_json_parser_new();
    enum tp_status status =
        parser ? tp_json_parse(parser, text, length, &arena, &root, err)
               : tp_fail_memory(err);
    if (status == TP_OK ? !is_config(root) : !own && status == TP_E_DAMAGED)
        status =
            tp_fail(err, TP_E_UNSUPPORTED, -1, "no configuration of DeepSpeed");
    if (status == TP_OK) {
        read_members(&config, root, "");
        judge(&config);
        if (findings->failed)
            status = tp_fail_memory(err);
    }
    tp_arena_clear(&arena);
    tp_json_parser_free(parser);
    return status;
}
