/* SPDX-License-Identifier: MIT */
/*
 * Rules about scripts: each has a bad and a good example in testdata/check,
 * named by it, in Python, shell or JSON. A bad one has findings of that rule on
 * the lines that end with
 * "# HERE", and no others; a good one has none.
 */
#include "check/check.h"

#include <criterion/criterion.h>

#include "base/text.h"
#include "tests/unit/support/testdata.h"

static char *read_example(const char *kind, const char *rule, char *path,
                          size_t *length)
{
    static const char *const suffixes[] = {"py", "sh", "json"};
    FILE *file = NULL;
    for (size_t i = 0; i < 3 && !file; i++) {
        char name[128];
        snprintf(name, sizeof name, "check/%s-%s.%s", kind, rule, suffixes[i]);
        testdata_path(name, path, 4096);
        file = fopen(path, "rb");
    }
    cr_assert(file != NULL, "%s is not there", path);
    char *source = malloc(1 << 16);
    cr_assert(source != NULL);
    *length = fread(source, 1, (1 << 16) - 1, file);
    source[*length] = '\0';
    fclose(file);
    return source;
}

static void check_text(const char *path, const char *source, size_t length,
                       struct tp_check_file *file)
{
    struct tp_error err = {0};
    *file = (struct tp_check_file){0};
    cr_assert_eq(tp_check_text_of(path, source, length, file, &err), TP_OK,
                 "%s: %s", path, err.message);
}

static void check(const char *source, size_t length, struct tp_check_file *file)
{
    check_text("a.py", source, length, file);
}

/* The lines that the example wants a finding on. */
static size_t wanted_lines(const char *source, uint32_t lines[16])
{
    size_t count = 0;
    uint32_t line = 1;
    for (const char *p = source; *p; p++) {
        if (!strncmp(p, "# HERE", 6) && count < 16)
            lines[count++] = line;
        line += *p == '\n';
    }
    return count;
}

Test(check, each_rule_finds_its_bad_example)
{
    const struct tp_check_rule *rule;
    for (size_t i = 0; (rule = tp_check_rule_at(i)) != NULL; i++) {
        const char *id = rule->id;
        char path[4096];
        size_t length;
        uint32_t lines[16];
        struct tp_check_file file;
        char *source = read_example("bad", id, path, &length);
        size_t count = wanted_lines(source, lines);
        check_text(path, source, length, &file);
        cr_expect_geq(count, 1, "%s: no line is wanted", id);
        cr_expect_eq(file.findings.count, count, "%s: %zu findings", id,
                     file.findings.count);
        for (size_t j = 0; j < count && j < file.findings.count; j++) {
            cr_expect_eq(file.findings.at[j].line, lines[j], "%s: line %u", id,
                         file.findings.at[j].line);
            cr_expect_eq(file.findings.at[j].rule, rule, "%s: finds %s", id,
                         file.findings.at[j].rule->id);
            cr_expect_eq(file.findings.at[j].severity, rule->severity, "%s",
                         id);
        }
        cr_expect_eq(file.problem.code, TP_OK, "%s", id);
        free(file.findings.at);
        free(source);
    }
}

Test(check, no_rule_finds_a_good_example)
{
    const struct tp_check_rule *rule;
    for (size_t i = 0; (rule = tp_check_rule_at(i)) != NULL; i++) {
        const char *id = rule->id;
        char path[4096];
        size_t length;
        struct tp_check_file file;
        char *source = read_example("good", id, path, &length);
        check_text(path, source, length, &file);
        cr_expect_eq(file.findings.count, 0, "%s: line %u", id,
                     file.findings.count ? file.findings.at[0].line : 0);
        cr_expect_eq(file.problem.code, TP_OK, "%s", id);
        free(file.findings.at);
        free(source);
    }
}

/* The rules of the requirements, with their severities. */
Test(check, severities)
{
    static const struct {
        const char *id;
        enum tp_severity severity;
    } known[] = {{"half_call", TP_SEVERITY_HIGH},
                 {"bce", TP_SEVERITY_HIGH},
                 {"loss_outside_autocast", TP_SEVERITY_HIGH},
                 {"softmax_dtype", TP_SEVERITY_MEDIUM},
                 {"reduce_outside_autocast", TP_SEVERITY_MEDIUM},
                 {"autograd_function", TP_SEVERITY_MEDIUM}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct tp_check_rule *rule =
            tp_check_rule_find(known[i].id, strlen(known[i].id));
        cr_assert(rule != NULL, "%s", known[i].id);
        cr_expect_eq(rule->severity, known[i].severity, "%s", known[i].id);
    }
}

static size_t count_of(const char *source, enum tp_severity severity)
{
    struct tp_check_file file;
    size_t count = 0;
    check(source, strlen(source), &file);
    for (size_t i = 0; i < file.findings.count; i++)
        count += file.findings.at[i].severity == severity;
    free(file.findings.at);
    return count;
}

Test(check, evidence_lowers)
{
    static const char inside[] =
        "import torch\ndef f(x):\n  with torch.autocast('cuda'):\n"
        "    return torch.softmax(x, -1)\n";
    static const char outside[] =
        "import torch\ndef f(x):\n  return torch.softmax(x, -1)\n";
    static const char unused[] =
        "import torch\n@torch.no_grad()\ndef f(x):\n  return x.half()\n";
    cr_expect_eq(count_of(inside, TP_SEVERITY_LOW), 1);
    cr_expect_eq(count_of(outside, TP_SEVERITY_MEDIUM), 1);
    cr_expect_eq(count_of(unused, TP_SEVERITY_LOW), 1);
}

Test(check, comments_ignore)
{
    cr_expect_eq(count_of("x.half()\n", TP_SEVERITY_HIGH), 1);
    cr_expect_eq(count_of("x.half()  # tprof: ignore\n", TP_SEVERITY_HIGH), 0);
    cr_expect_eq(count_of("x.half()  # tprof: ignore[bce, half_call]\n",
                          TP_SEVERITY_HIGH),
                 0);
    cr_expect_eq(count_of("x.half()  # tprof: ignore[bce]\n", TP_SEVERITY_HIGH),
                 1);
    cr_expect_eq(count_of("x.half()\ny.half()  # tprof: ignore\r\nz.half()\r",
                          TP_SEVERITY_HIGH),
                 2);
}

/* Findings far out in one line cost no more than others. */
Test(check, long_line, .timeout = 60)
{
    enum { COUNT = 100000 };
    static const char unit[] = "x.half(); ";
    const size_t size = sizeof unit - 1;
    char *source = malloc(COUNT * size);
    cr_assert(source != NULL);
    for (size_t i = 0; i < COUNT; i++)
        memcpy(source + i * size, unit, size);
    struct tp_check_file file;
    check(source, COUNT * size, &file);
    cr_assert_eq(file.findings.count, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        cr_assert_eq(file.findings.at[i].column, i * size + 3);
    free(file.findings.at);
    free(source);
}

/* What cannot be read is named with its line; the rest is checked. */
Test(check, one_statement_is_lost)
{
    static const char source[] = "a = (1 +\ndef f(x):\n  x.half()\n"
                                 "print \"old\"\ny.half()\n";
    struct tp_check_file file;
    check(source, strlen(source), &file);
    cr_expect_eq(file.findings.count, 2);
    cr_expect_eq(file.problem.code, TP_E_DAMAGED);
    cr_expect_eq(file.problem_line, 1);
    cr_expect(strstr(file.problem.message, "never closed") != NULL, "%s",
              file.problem.message);
    free(file.findings.at);
}
