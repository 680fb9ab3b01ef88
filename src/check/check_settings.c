/* SPDX-License-Identifier: MIT */
#include "check/check_settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/notes.h"
#include "base/text.h"
#include "check/toml_table.h"

const char *const tp_check_target_words[] = {"all", "fp16", "bf16", "fp8",
                                             NULL};

/* Rules about the range of fp16, or about FP8; all others hold for any
 * target. */
static const struct {
    const char *rule;
    enum tp_check_target target;
} about[] = {
    {"softmax_dtype", TP_CHECK_FP16},
    {"fp16_on_cpu", TP_CHECK_FP16},
    {"eps_below_fp16", TP_CHECK_FP16},
    {"mask_below_fp16", TP_CHECK_FP16},
    {"square_in_half", TP_CHECK_FP16},
    {"adam_eps_half", TP_CHECK_FP16},
    {"static_loss_scale", TP_CHECK_FP16},
    {"fp8_dims_not_16", TP_CHECK_FP8},
    {"mx_dim_not_32", TP_CHECK_FP8},
    {"e4m3_backward", TP_CHECK_FP8},
    {"fp8_cast_without_scale", TP_CHECK_FP8},
    {"amax_history_1", TP_CHECK_FP8},
    {"fp8_head", TP_CHECK_FP8},
};

bool tp_check_list_has(const char *list, size_t length, const char *name)
{
    size_t size = strlen(name), i = 0;
    while (i < length) {
        while (i < length && (list[i] == ' ' || list[i] == ','))
            i++;
        size_t begin = i;
        while (i < length && list[i] != ' ' && list[i] != ',')
            i++;
        if (i - begin == size && memcmp(list + begin, name, size) == 0)
            return true;
    }
    return false;
}

/* What a table is read into. */
struct table {
    struct tp_check_settings *settings;
    struct tp_arena *arena;
    const struct tp_toml_entry *entry;
    struct tp_error *err;
};

static enum tp_status refuse(const struct table *table, const char *wants)
{
    return tp_fail(table->err, TP_E_USAGE, -1, "line %u: %s wants %s",
                   table->entry->line, table->entry->key, wants);
}

/* A list of rules, as the command line has it. */
static enum tp_status set_rules(const struct table *table, const char **list)
{
    struct tp_text text = {0};
    const struct tp_toml_entry *entry = table->entry;
    if (entry->kind == TP_TOML_BOOL)
        return refuse(table, "a list of rules");
    for (size_t i = 0; i < entry->count; i++)
        tp_text_add(&text, "%s%s", i ? "," : "", entry->texts[i]);
    *list = tp_arena_take(table->arena, &text);
    if (!*list)
        return tp_fail_memory(table->err);
    enum tp_status status = tp_check_names(*list, table->err);
    if (status != TP_OK)
        tp_while(table->err, "reading %s in line %u", entry->key, entry->line);
    return status;
}

/* One of some words. */
static enum tp_status set_word(const struct table *table,
                               const char *const *words, unsigned bit,
                               int *member)
{
    const struct tp_toml_entry *entry = table->entry;
    struct tp_text text = {0};
    for (int i = 0; entry->kind == TP_TOML_TEXT && words[i]; i++) {
        if (!strcmp(words[i], entry->texts[0])) {
            *member = i;
            table->settings->set |= bit;
            return TP_OK;
        }
    }
    for (int i = 0; words[i]; i++)
        tp_text_add(&text, "%s\"%s\"", i ? " or " : "", words[i]);
    enum tp_status status = refuse(table, tp_text_get(&text));
    tp_text_clear(&text);
    return status;
}

static enum tp_status set_entry(const struct table *table)
{
    struct tp_check_settings *settings = table->settings;
    const struct tp_toml_entry *entry = table->entry;
    enum tp_status status = TP_OK;
    int member = 0;
    if (!strcmp(entry->key, "select"))
        return set_rules(table, &settings->select);
    if (!strcmp(entry->key, "ignore"))
        return set_rules(table, &settings->ignore);
    if (!strcmp(entry->key, "exclude")) {
        settings->exclude = entry->texts;
        settings->exclude_count = entry->count;
        return entry->kind == TP_TOML_BOOL ? refuse(table, "a list of paths")
                                           : TP_OK;
    }
    if (!strcmp(entry->key, "include_tests")) {
        settings->include_tests = entry->truth;
        settings->set |= TP_CHECK_SET_TESTS;
        return entry->kind == TP_TOML_BOOL ? TP_OK
                                           : refuse(table, "true or false");
    }
    if (!strcmp(entry->key, "fail_on"))
        return set_word(table, tp_severity_words, TP_CHECK_SET_FAIL_ON,
                        &settings->fail_on);
    if (!strcmp(entry->key, "lang")) {
        status =
            set_word(table, tp_check_lang_words, TP_CHECK_SET_LANG, &member);
        settings->lang = (enum tp_check_lang)member;
        return status;
    }
    if (!strcmp(entry->key, "target")) {
        status = set_word(table, tp_check_target_words, TP_CHECK_SET_TARGET,
                          &member);
        settings->target = (enum tp_check_target)member;
        return status;
    }
    return tp_fail(table->err, TP_E_USAGE, -1,
                   "line %u: no setting \"%s\" (there are exclude, fail_on, "
                   "ignore, include_tests, lang, select, target)",
                   entry->line, entry->key);
}

enum tp_status tp_check_table(const char *text, size_t length,
                              struct tp_arena *arena,
                              struct tp_check_settings *settings, bool *found,
                              struct tp_error *err)
{
    struct tp_toml_table read;
    const struct tp_toml_source source = {text, length, "tprof"};
    struct table table = {.settings = settings, .arena = arena, .err = err};
    *settings = (struct tp_check_settings){0};
    enum tp_status status = tp_toml_read(&source, arena, &read, err);
    *found = read.found;
    for (size_t i = 0; i < read.count && status == TP_OK; i++) {
        table.entry = &read.entries[i];
        status = set_entry(&table);
    }
    free(read.entries);
    return status;
}

static enum tp_status read_project(const char *path, struct tp_arena *arena,
                                   struct tp_check_settings *settings,
                                   bool *found, struct tp_error *err)
{
    struct tp_bytes bytes = {.fd = -1};
    char *text = NULL;
    enum tp_status status = tp_bytes_open(path, &bytes, err);
    if (status == TP_OK && bytes.size > TP_LIMIT_CONFIG_BYTES)
        status = tp_fail(err, TP_E_LIMIT, -1, "over %zu MiB",
                         TP_LIMIT_CONFIG_BYTES >> 20);
    if (status == TP_OK && !(text = malloc((size_t)bytes.size + 1)))
        status = tp_fail_memory(err);
    if (status == TP_OK)
        status = tp_bytes_read(&bytes, 0, text, (size_t)bytes.size, err);
    if (status == TP_OK)
        status = tp_check_table(text, (size_t)bytes.size, arena, settings,
                                found, err);
    if (status != TP_OK)
        tp_error_in_file(err, path);
    free(text);
    tp_bytes_close(&bytes);
    return status;
}

enum tp_status tp_check_find_project(const char *directory,
                                     struct tp_arena *arena,
                                     struct tp_check_settings *settings,
                                     const char **project, struct tp_error *err)
{
    static const char name[] = "/pyproject.toml";
    size_t length = strlen(directory);
    bool found = false;
    enum tp_status status = TP_OK;
    char *path = malloc(length + sizeof name);
    *settings = (struct tp_check_settings){0};
    *project = NULL;
    if (!path)
        return tp_fail_memory(err);
    memcpy(path, directory, length + 1);
    while (status == TP_OK && !found && length > 0) {
        length -= path[length - 1] == '/'; /* of the root itself */
        memcpy(path + length, name, sizeof name);
        bool there;
        status = tp_file_look(path, &there, err);
        if (there)
            status = read_project(path, arena, settings, &found, err);
        if (found &&
            !(*project = tp_arena_text(arena, path, length ? length : 1)))
            status = tp_fail_memory(err);
        while (length > 0 && path[length - 1] != '/')
            length--;
    }
    free(path);
    return status;
}

void tp_check_override(struct tp_check_settings *settings,
                       const struct tp_check_settings *over)
{
    if (over->select)
        settings->select = over->select;
    if (over->ignore)
        settings->ignore = over->ignore;
    if (over->set & TP_CHECK_SET_LANG)
        settings->lang = over->lang;
    if (over->set & TP_CHECK_SET_TARGET)
        settings->target = over->target;
    if (over->set & TP_CHECK_SET_FAIL_ON)
        settings->fail_on = over->fail_on;
    if (over->set & TP_CHECK_SET_TESTS)
        settings->include_tests = over->include_tests;
    settings->set |= over->set;
}

static bool matters(const struct tp_check_rule *rule,
                    enum tp_check_target target)
{
    for (size_t i = 0; i < sizeof about / sizeof *about; i++) {
        if (!strcmp(about[i].rule, rule->id))
            return target == TP_CHECK_ANY || target == about[i].target;
    }
    return true;
}

bool tp_check_wants(const struct tp_check_settings *settings,
                    const struct tp_check_rule *rule)
{
    const char *select = settings->select, *ignore = settings->ignore;
    return (!select || tp_check_list_has(select, strlen(select), rule->id)) &&
           !(ignore && tp_check_list_has(ignore, strlen(ignore), rule->id)) &&
           matters(rule, settings->target);
}

enum tp_status tp_check_names(const char *list, struct tp_error *err)
{
    for (const char *p = list; p && *p;) {
        size_t length = strcspn(p, ",");
        if (length > 0 && !tp_check_rule_find(p, length))
            return tp_fail(err, TP_E_USAGE, -1,
                           "no rule \"%.*s\"; see 'list checks'", (int)length,
                           p);
        p += length + (p[length] == ',');
    }
    return TP_OK;
}
