/* SPDX-License-Identifier: MIT */
#include "replay/replay_config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/notes.h"
#include "base/text.h"
#include "formats/json/json_value.h"

/* --- values of the file --------------------------------------------------- */

/* Adds an item of a list, or a value that stands alone. */
static bool add_value(const struct tp_json *value, struct tp_text *text)
{
    const char *comma = text->length ? "," : "";
    if (value->kind == TP_JSON_INTEGER)
        tp_text_add(text, "%s%" PRId64, comma, value->integer);
    else if (value->kind == TP_JSON_STRING)
        tp_text_add(text, "%s%s", comma, value->text);
    else
        return false;
    return true;
}

/* A text, a number or a list of these as one text with commas. */
static enum tp_status take_list(const struct tp_json *value,
                                struct tp_arena *arena, void *place,
                                struct tp_error *err)
{
    const char **slot = place;
    struct tp_text text = {0};
    bool fits = true;
    if (value->kind == TP_JSON_LIST)
        for (const struct tp_json *at = value->first; at; at = at->next)
            fits &= add_value(at, &text);
    else
        fits = add_value(value, &text);
    enum tp_status status = TP_OK;
    if (!fits)
        status = tp_fail(err, TP_E_USAGE, -1,
                         "%s takes a list of names or numbers", value->key);
    else if ((text.failed || (text.length && !*slot)) &&
             !(*slot = tp_arena_take(arena, &text)))
        status = tp_fail_memory(err);
    tp_text_clear(&text);
    return status;
}

/* A single word. */
static enum tp_status take_word(const struct tp_json *value,
                                struct tp_arena *arena, void *place,
                                struct tp_error *err)
{
    const char **slot = place;
    if (value->kind != TP_JSON_STRING)
        return tp_fail(err, TP_E_USAGE, -1, "%s takes a word in quotes",
                       value->key);
    if (!*slot)
        *slot = tp_arena_text(arena, value->text, value->length);
    return *slot ? TP_OK : tp_fail_memory(err);
}

static enum tp_status take_flag(const struct tp_json *value,
                                struct tp_arena *arena, void *slot,
                                struct tp_error *err)
{
    (void)arena;
    if (value->kind != TP_JSON_BOOL)
        return tp_fail(err, TP_E_USAGE, -1, "%s takes true or false",
                       value->key);
    *(bool *)slot |= value->integer != 0;
    return TP_OK;
}

static enum tp_status take_count(const struct tp_json *value,
                                 struct tp_arena *arena, void *slot,
                                 struct tp_error *err)
{
    (void)arena;
    if (value->kind != TP_JSON_INTEGER || value->integer < 1)
        return tp_fail(err, TP_E_USAGE, -1, "%s takes a number from 1 on",
                       value->key);
    if (*(int64_t *)slot == 0)
        *(int64_t *)slot = value->integer;
    return TP_OK;
}

typedef enum tp_status take_fn(const struct tp_json *value,
                               struct tp_arena *arena, void *slot,
                               struct tp_error *err);

/* A member, and where it goes; without `take` it is none of ours. */
struct member {
    const char *key;
    take_fn *take;
    size_t offset;
};

#define MEMBER(key, take, field)                            \
    {                                                       \
        key, take, offsetof(struct tp_replay_config, field) \
    }

static const struct member outer[] = {
    MEMBER("rank", take_list, ranks),
    MEMBER("step", take_list, steps),
    {"task", NULL, 0},
    {"dump_path", NULL, 0},
    MEMBER("level", take_word, level),
    {"free_benchmark", NULL, 0},
    {NULL, NULL, 0},
};

static const struct member inner[] = {
    MEMBER("scope", take_list, scope),
    MEMBER("list", take_list, list),
    MEMBER("fuzz_device", take_word, fuzz_device),
    MEMBER("pert_mode", take_word, pert_mode),
    MEMBER("handler_type", take_word, handler_type),
    MEMBER("fuzz_level", take_word, fuzz_level),
    MEMBER("fuzz_stage", take_word, fuzz_stage),
    MEMBER("if_preheat", take_flag, preheat),
    MEMBER("preheat_step", take_count, preheat_step),
    MEMBER("max_sample", take_count, max_sample),
    {NULL, NULL, 0},
};

/* --- the file ------------------------------------------------------------- */

/* Takes the members that a table names; others are refused where `strict`. */
static enum tp_status take_members(const struct tp_json *object,
                                   const struct member *table, bool strict,
                                   struct tp_replay_config *config,
                                   struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (const struct tp_json *at = object->first; at && status == TP_OK;
         at = at->next) {
        const struct member *row = table;
        while (row->key && strcmp(row->key, at->key))
            row++;
        if (!row->key && strict)
            return tp_fail(err, TP_E_USAGE, -1,
                           "free_benchmark has no member %s", at->key);
        if (row->take)
            status = row->take(at, &config->arena, (char *)config + row->offset,
                               err);
    }
    return status;
}

static enum tp_status take(const struct tp_json *root,
                           struct tp_replay_config *config,
                           struct tp_error *err)
{
    const struct tp_json *section = tp_json_member(root, "free_benchmark");
    const char *task = tp_json_text(root, "task", "");
    if (strcmp(task, "free_benchmark"))
        return tp_fail(err, TP_E_USAGE, -1,
                       "its task is \"%s\", not \"free_benchmark\"", task);
    enum tp_status status = take_members(root, outer, false, config, err);
    if (status != TP_OK || !section)
        return status;
    if (section->kind != TP_JSON_OBJECT)
        return tp_fail(err, TP_E_USAGE, -1, "free_benchmark is no object");
    return take_members(section, inner, true, config, err);
}

enum tp_status tp_replay_config_parse(const char *text, size_t length,
                                      struct tp_replay_config *config,
                                      struct tp_error *err)
{
    const struct tp_json *root;
    struct tp_json_parser *parser = tp_json_parser_new();
    if (!parser)
        return tp_fail_memory(err);
    enum tp_status status =
        tp_json_parse(parser, text, length, &config->arena, &root, err);
    if (status == TP_OK && root->kind != TP_JSON_OBJECT)
        status = tp_fail(err, TP_E_USAGE, -1, "this is no JSON object");
    if (status == TP_OK)
        status = take(root, config, err);
    tp_json_parser_free(parser);
    /* what a user wrote, not what a run left behind */
    if (status == TP_E_DAMAGED)
        err->code = status = TP_E_USAGE;
    return status;
}

enum tp_status tp_replay_config_read(const char *path,
                                     struct tp_replay_config *config,
                                     struct tp_error *err)
{
    char *text;
    size_t length;
    enum tp_status status = tp_bytes_load(
        path, "a config.json", TP_LIMIT_MAP_BYTES, &text, &length, err);
    if (status == TP_OK)
        status = tp_replay_config_parse(text, length, config, err);
    if (status != TP_OK)
        tp_error_in_file(err, path);
    free(text);
    return status;
}

/* --- what is asked for ---------------------------------------------------- */

static bool is(const char *text, const char *word)
{
    return text && !strcmp(text, word);
}

/* A text that is one of two words, or not said. */
static enum tp_status check_word(const char *name, const char *text,
                                 const char *first, const char *second,
                                 struct tp_error *err)
{
    return !text || is(text, first) || is(text, second)
               ? TP_OK
               : tp_fail(err, TP_E_USAGE, -1, "%s takes %s%s%s, not \"%s\"",
                         name, first, *second ? " or " : "", second, text);
}

enum tp_status tp_replay_names(const char *text, struct tp_arena *arena,
                               const char *const **names, size_t *count,
                               struct tp_error *err)
{
    size_t most = 1;
    *count = 0;
    for (const char *at = text; *at; at++)
        most += *at == ',';
    const char **list = tp_arena_alloc(arena, most * sizeof *list);
    if (!list)
        return tp_fail_memory(err);
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");
        const char *next = at + length + (at[length] == ',');
        for (; length && *at == ' '; length--)
            at++;
        while (length && at[length - 1] == ' ')
            length--;
        if (length && !(list[(*count)++] = tp_arena_text(arena, at, length)))
            return tp_fail_memory(err);
        at = next;
    }
    *names = list;
    return TP_OK;
}

static enum tp_status set_mode(const char *word, bool modes[TP_PERTURB_MODES],
                               struct tp_error *err)
{
    bool known = false;
    for (int i = 0; i < TP_PERTURB_MODES; i++)
        if (is(word, "all") || is(word, tp_perturb_words[i]))
            known = modes[i] = true;
    return known ? TP_OK
                 : tp_fail(err, TP_E_USAGE, -1,
                           "pert_mode takes improve_precision, add_noise, "
                           "bit_noise, no_change, change_value, to_cpu or all, "
                           "not \"%s\"",
                           word);
}

static enum tp_status set_modes(const char *text, bool modes[TP_PERTURB_MODES],
                                struct tp_error *err)
{
    struct tp_arena arena = {0};
    const char *const *names;
    size_t count;
    enum tp_status status = tp_replay_names(text ? text : "improve_precision",
                                            &arena, &names, &count, err);
    for (int i = 0; i < TP_PERTURB_MODES; i++)
        modes[i] = false;
    if (status == TP_OK && count == 0)
        status = tp_fail(err, TP_E_USAGE, -1, "pert_mode names no mode");
    for (size_t i = 0; status == TP_OK && i < count; i++)
        status = set_mode(names[i], modes, err);
    tp_arena_clear(&arena);
    return status;
}

static enum tp_status check_words(const struct tp_replay_config *config,
                                  struct tp_error *err)
{
    enum tp_status status = check_word("fuzz_stage", config->fuzz_stage,
                                       "forward", "backward", err);
    if (status == TP_OK)
        status =
            check_word("fuzz_device", config->fuzz_device, "npu", "cpu", err);
    if (status == TP_OK)
        status = check_word("handler_type", config->handler_type, "check",
                            "fix", err);
    if (status == TP_OK)
        status = check_word("fuzz_level", config->fuzz_level, "L1", "", err);
    if (status == TP_OK)
        status = check_word("level", config->level, "L1", "mix", err);
    return status;
}

static enum tp_status check_modes(const struct tp_replay_config *config,
                                  const bool modes[TP_PERTURB_MODES],
                                  struct tp_error *err)
{
    const bool fix = is(config->handler_type, "fix");
    bool others = false;
    for (int i = 0; i < TP_PERTURB_MODES; i++) {
        const enum tp_perturb_mode mode = (enum tp_perturb_mode)i;
        others |= modes[i] && mode != TP_PERTURB_TO_CPU;
        if (modes[i] && fix && !tp_perturb_improves(mode))
            return tp_fail(err, TP_E_USAGE, -1,
                           "handler_type fix works with improve_precision and "
                           "to_cpu, not with %s",
                           tp_perturb_words[i]);
        if (modes[i] && is(config->fuzz_device, "cpu") &&
            mode != TP_PERTURB_TO_CPU)
            return tp_fail(err, TP_E_USAGE, -1,
                           "fuzz_device cpu works with pert_mode to_cpu, not "
                           "with %s",
                           tp_perturb_words[i]);
    }
    return others || is(config->fuzz_device, "cpu")
               ? TP_OK
               : tp_fail(err, TP_E_USAGE, -1,
                         "pert_mode to_cpu works with fuzz_device cpu, not "
                         "with npu%s",
                         config->fuzz_device ? "" : ", the default");
}

static enum tp_status check_preheat(const struct tp_replay_config *config,
                                    struct tp_error *err)
{
    if (!config->preheat)
        return TP_OK;
    if (is(config->handler_type, "fix"))
        return tp_fail(err, TP_E_USAGE, -1,
                       "if_preheat works with handler_type check");
    if (is(config->fuzz_stage, "backward"))
        return tp_fail(err, TP_E_USAGE, -1,
                       "if_preheat works with fuzz_stage forward");
    return config->compat == TP_COMPAT_NONE
               ? tp_fail(err, TP_E_USAGE, -1,
                         "if_preheat finds limits of msprobe's ratio: it needs "
                         "--compat msprobe")
               : TP_OK;
}

/* What msprobe refuses, too. */
static enum tp_status check_contradictions(
    const struct tp_replay_config *config, const bool modes[TP_PERTURB_MODES],
    struct tp_error *err)
{
    const bool backward = is(config->fuzz_stage, "backward");
    enum tp_status status = check_modes(config, modes, err);
    if (status == TP_OK)
        status = check_preheat(config, err);
    if (status != TP_OK)
        return status;
    if (is(config->handler_type, "fix") && backward)
        return tp_fail(err, TP_E_USAGE, -1,
                       "handler_type fix works with fuzz_stage forward");
    if (backward && !config->list)
        return tp_fail(err, TP_E_USAGE, -1,
                       "fuzz_stage backward needs a list of operators");
    return TP_OK;
}

enum tp_status tp_replay_config_check(const struct tp_replay_config *config,
                                      struct tp_replay_asked *asked,
                                      struct tp_error *err)
{
    enum tp_status status = check_words(config, err);
    *asked = (struct tp_replay_asked){
        .wish = {.compat = config->compat,
                 .backward = is(config->fuzz_stage, "backward")},
        .fix = is(config->handler_type, "fix")};
    if (status == TP_OK)
        status = set_modes(config->pert_mode, asked->wish.modes, err);
    if (status == TP_OK)
        status = check_contradictions(config, asked->wish.modes, err);
    if (config->preheat) {
        asked->preheat_step = config->preheat_step ? config->preheat_step : 15;
        asked->max_sample = config->max_sample ? config->max_sample : 20;
    }
    return status;
}

void tp_replay_config_clear(struct tp_replay_config *config)
{
    tp_arena_clear(&config->arena);
    memset(config, 0, sizeof *config);
}
