/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "check/check_file.h"
#include "fuzz.h"

/*
 * What is checked beside Python: the first byte says whether the rest is a
 * notebook, a shell script, JSON or a pyproject.toml. Whatever it is: findings
 * stand in order on lines that are there, inside the text, and two readings
 * find the same; settings are those that there are.
 */

static uint32_t lines_of(const char *text, size_t size)
{
    uint32_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n' || text[i] == '\r';
    return lines;
}

static enum tp_status check(const char *path, const char *text, size_t size,
                            struct tp_check_file *file)
{
    struct tp_error err = {0};
    *file = (struct tp_check_file){0};
    enum tp_status status = tp_check_text_of(path, text, size, file, &err);
    fuzz_need(status == TP_OK || status == TP_E_DAMAGED ||
                  status == TP_E_UNSUPPORTED,
              "any bytes are read, or refused");
    fuzz_need(status == TP_OK || err.message[0], "who refuses says why");
    return status;
}

static void check_findings(const struct tp_check_file *file, const char *text,
                           size_t size)
{
    const uint32_t lines = lines_of(text, size);
    for (size_t i = 0; i < file->findings.count; i++) {
        const struct tp_check_finding *at = &file->findings.at[i];
        struct tp_check_place place = tp_check_place_of(file, at->line);
        fuzz_need(i == 0 || at[-1].offset <= at->offset,
                  "findings stand in order");
        fuzz_need(at->line > 0 && at->column > 0 && place.line > 0 &&
                      place.file_line > 0 && place.file_line <= lines,
                  "findings stand in the file");
        fuzz_need(file->places || at->offset < size,
                  "findings stand in the text");
    }
}

static void check_settings(const char *text, size_t size)
{
    struct tp_arena arena = {0};
    struct tp_check_settings settings;
    struct tp_error err = {0};
    bool found;
    enum tp_status status =
        tp_check_table(text, size, &arena, &settings, &found, &err);
    fuzz_need(status == TP_OK || err.message[0], "who refuses says why");
    fuzz_need(status != TP_OK || tp_check_names(settings.select, &err) == TP_OK,
              "what is selected are rules");
    for (size_t i = 0; status == TP_OK && i < settings.exclude_count; i++)
        fuzz_need(strlen(settings.exclude[i]) <= size, "patterns are texts");
    tp_arena_clear(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const paths[] = {"a.ipynb", "a.sh", "a.json"};
    if (size == 0)
        return 0;
    struct fuzz_guard guard = fuzz_guard_copy(data + 1, size - 1);
    const char *text = (const char *)guard.data;
    size_t kind = data[0] % 4;
    if (kind == 3) {
        check_settings(text, size - 1);
    } else {
        struct tp_check_file first, second;
        enum tp_status status = check(paths[kind], text, size - 1, &first);
        fuzz_need(check(paths[kind], text, size - 1, &second) == status &&
                      first.findings.count == second.findings.count,
                  "two readings find the same");
        if (status == TP_OK)
            check_findings(&first, text, size - 1);
        tp_check_file_clear(&first);
        tp_check_file_clear(&second);
    }
    fuzz_guard_free(&guard);
    return 0;
}
