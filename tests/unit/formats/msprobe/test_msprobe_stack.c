/* SPDX-License-Identifier: MIT */
#include "formats/msprobe/msprobe_stack.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* What was told, as one line: [LINES]CALL,CALL. */
struct seen {
    char text[512];
    size_t length;
};

static void note(struct seen *seen, const char *format, const char *word)
{
    const size_t left = sizeof seen->text - seen->length;
    int n = snprintf(seen->text + seen->length, left, format, word);
    cr_assert(n >= 0 && (size_t)n < left);
    seen->length += (size_t)n;
}

static enum tp_status see_stack(void *context, const struct tp_json *lines,
                                struct tp_error *err)
{
    (void)err;
    note(context, "%s", "[");
    for (const struct tp_json *at = lines->first; at; at = at->next)
        note(context, "%s;", at->kind == TP_JSON_STRING ? at->text : "?");
    note(context, "%s", "]");
    return TP_OK;
}

static enum tp_status see_call(void *context, const char *call,
                               struct tp_error *err)
{
    (void)err;
    note(context, "%s,", call);
    return TP_OK;
}

static enum tp_status see(const char *json, size_t length, struct seen *seen)
{
    struct tp_error err = {0};
    const struct tp_msprobe_stack_sink sink = {seen, see_stack, see_call};
    memset(seen, 0, sizeof *seen);
    return tp_msprobe_read_stack_memory(json, length, 7, &sink, &err);
}

static void expect(const char *json, const char *text)
{
    struct seen seen;
    cr_expect_eq(see(json, strlen(json), &seen), TP_OK, "%s", json);
    cr_expect_str_eq(seen.text, text);
}

Test(msprobe_stack, of_each_call)
{
    expect("{\"Torch.add.0.forward\": [\"File a.py\", \"File b.py\"],"
           " \"Torch.mul.0.forward\": [\"File c.py\"]}",
           "[File a.py;File b.py;]Torch.add.0.forward,"
           "[File c.py;]Torch.mul.0.forward,");
}

Test(msprobe_stack, of_groups)
{
    expect("{\"0\": [[\"A\", \"B\"], [\"File a.py\"]],"
           " \"1\": [[\"C\"], [\"x\", \"y\"]], \"2\": [[], []]}",
           "[File a.py;]A,B,[x;y;]C,[]");
}

Test(msprobe_stack, two_lines_are_no_group)
{
    expect("{\"A\": [\"x\", \"y\"]}", "[x;y;]A,");
}

Test(msprobe_stack, other_forms_are_passed_over)
{
    expect("{\"A\": null, \"B\": 3, \"C\": {\"d\": []}, \"E\": [[1], [2]],"
           " \"F\": []}",
           "[?;][]F,");
    expect("{}", "");
}

Test(msprobe_stack, cut_anywhere)
{
    static const char json[] = "{\"A\": [\"x\"], \"B\": [\"y\"]}";
    const size_t first = strlen("{\"A\": [\"x\"]");
    for (size_t i = 0; i < strlen(json); i++) {
        struct seen seen;
        cr_expect_eq(see(json, i, &seen), TP_E_DAMAGED, "%zu bytes", i);
        cr_expect_str_eq(seen.text,
                         i < first              ? ""
                         : i + 1 < strlen(json) ? "[x;]A,"
                                                : "[x;]A,[y;]B,",
                         "%zu bytes", i);
    }
}
