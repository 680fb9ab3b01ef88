/* SPDX-License-Identifier: MIT */
/*
 * Rules about scripts: each has a bad and a good example in testdata/check,
 * named by it, in Python, shell or JSON, or in several of these. A bad one has
 * findings of that rule on the lines that end with "# HERE", and no others; a
 * good one has none.
 */
#include "check/check.h"

#include <criterion/criterion.h>

#include "base/text.h"
#include "tests/unit/support/cpu_limit.h"
#include "tests/unit/support/testdata.h"

static const char *const suffixes[] = {"py", "sh", "json"};
enum { SUFFIXES = 3 };

/* NULL: the rule has no such example in that language. */
static char *read_example(const char *kind, const char *rule, size_t suffix,
                          char path[4096], size_t *length)
{
    char name[128];
    snprintf(name, sizeof name, "check/%s-%s.%s", kind, rule, suffixes[suffix]);
    testdata_path(name, path, 4096);
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
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

/* Findings of a bad example are those that it wants. */
static void expect_findings(const struct tp_check_rule *rule,
                            const struct tp_check_file *file,
                            const char *source)
{
    const char *id = rule->id;
    uint32_t lines[16];
    size_t count = wanted_lines(source, lines);
    cr_expect_geq(count, 1, "%s: no line is wanted", id);
    cr_expect_eq(file->findings.count, count, "%s: %zu findings", id,
                 file->findings.count);
    for (size_t j = 0; j < count && j < file->findings.count; j++) {
        const struct tp_check_finding *at = &file->findings.at[j];
        cr_expect_eq(at->line, lines[j], "%s: line %u", id, at->line);
        cr_expect_eq(at->rule, rule, "%s: finds %s", id, at->rule->id);
        cr_expect_eq(at->severity, rule->severity, "%s", id);
        cr_expect(*at->excerpt > ' ' && strstr(source, at->excerpt), "%s: %s",
                  id, at->excerpt);
        cr_expect(strstr(at->excerpt, "# HERE") ||
                      strlen(at->excerpt) > TP_EXCERPT - 5,
                  "%s: %s", id, at->excerpt);
    }
}

/* Checks the examples of a rule; how many there are. */
static size_t check_examples(const struct tp_check_rule *rule, bool bad)
{
    size_t count = 0;
    for (size_t i = 0; i < SUFFIXES; i++) {
        char path[4096];
        size_t length;
        struct tp_check_file file;
        char *source =
            read_example(bad ? "bad" : "good", rule->id, i, path, &length);
        if (!source)
            continue;
        check_text(path, source, length, &file);
        if (bad)
            expect_findings(rule, &file, source);
        else
            cr_expect_eq(file.findings.count, 0, "%s: line %u", path,
                         file.findings.count ? file.findings.at[0].line : 0);
        cr_expect_eq(file.problem.code, TP_OK, "%s", path);
        free(file.findings.at);
        free(source);
        count++;
    }
    return count;
}

Test(check, each_rule_finds_its_bad_examples)
{
    const struct tp_check_rule *rule;
    for (size_t i = 0; (rule = tp_check_rule_at(i)) != NULL; i++)
        cr_expect_geq(check_examples(rule, true), 1, "%s", rule->id);
}

Test(check, no_rule_finds_a_good_example)
{
    const struct tp_check_rule *rule;
    for (size_t i = 0; (rule = tp_check_rule_at(i)) != NULL; i++)
        cr_expect_geq(check_examples(rule, false), 1, "%s", rule->id);
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
        "import torch\ndef f(x):\n  return torch.softmax(x, -1)\n"
        "s = torch.amp.GradScaler('cuda')\n";
    static const char unknown[] =
        "import torch\ndef f(x):\n  return torch.softmax(x, -1)\n";
    static const char unused[] =
        "import torch\n@torch.no_grad()\ndef f(x):\n  return x.half()\n";
    static const char *const meant[] = {
        "def f(x):\n  x.requires_grad_(False)\n  x.half()\n",
        "def f(x):\n  x.eval()\n  x.half()\n",
        "def f(x):\n  if x.dtype == y:\n    return x.half()\n",
        "def generate(x):\n  x.half()\n",
        "def f(x):\n  return x.float().exp().half()\n",
        "import torch\ndef f(x):\n  return torch.tensor(1).half()\n",
        "def to_fp16(x):\n  return x.half()\n"};
    cr_expect_eq(count_of(inside, TP_SEVERITY_LOW), 1);
    cr_expect_eq(count_of(outside, TP_SEVERITY_MEDIUM), 1);
    cr_expect_eq(count_of(unknown, TP_SEVERITY_LOW), 1);
    cr_expect_eq(count_of(unused, TP_SEVERITY_LOW), 1);
    for (size_t i = 0; i < sizeof meant / sizeof *meant; i++)
        cr_expect_eq(count_of(meant[i], TP_SEVERITY_LOW), 1, "%s", meant[i]);
}

static size_t found(const char *source, const char *rule, uint32_t line,
                    enum tp_check_confidence confidence)
{
    struct tp_check_file file;
    size_t count = 0;
    check(source, strlen(source), &file);
    for (size_t i = 0; i < file.findings.count; i++)
        count += !strcmp(file.findings.at[i].rule->id, rule) &&
                 file.findings.at[i].line == line &&
                 file.findings.at[i].confidence == confidence;
    free(file.findings.at);
    return count;
}

/* Arguments of the only call, results, and autocast around a call. */
Test(check, facts_go_one_call_deep)
{
    static const char argument[] =
        "import torch\nx = torch.ones(9, dtype=torch.float16)\n"
        "def f(a, b=1):\n  return b.sum()\nf(1, b=x)\n";
    static const char twice[] =
        "import torch\nx = torch.ones(9, dtype=torch.float16)\n"
        "def f(a):\n  return a.sum()\nf(x)\nf(x.float())\n";
    static const char result[] =
        "import torch.nn.functional as F\nclass A:\n  def g(self, x):\n"
        "    return F.softmax(x, -1, dtype=x.dtype)\n"
        "  def h(self, x, y):\n    return F.cross_entropy(self.g(x), y)\n";
    static const char results[] =
        "import torch.nn.functional as F\ndef g(x):\n"
        "  if x is None:\n    return x\n  return F.softmax(x, -1)\n"
        "F.cross_entropy(g(x), y)\n";
    static const char scope[] =
        "import torch\ndef f(x, w):\n  return x.float() @ w\n"
        "with torch.autocast('cuda'):\n  f(x, w)\n";
    static const char here[] =
        "import torch\ndef f(w):\n  x = torch.ones(9, dtype=torch.float16)\n"
        "  return x.sum()\n";
    cr_expect_eq(found(argument, "reduce_outside_autocast", 4, TP_CHECK_LIKELY),
                 1);
    cr_expect_eq(found(twice, "reduce_outside_autocast", 4, TP_CHECK_LIKELY),
                 0);
    cr_expect_eq(
        found(result, "softmax_before_cross_entropy", 6, TP_CHECK_LIKELY), 1);
    cr_expect_eq(
        found(results, "softmax_before_cross_entropy", 6, TP_CHECK_LIKELY), 0);
    cr_expect_eq(found(scope, "cast_inside_autocast", 3, TP_CHECK_CERTAIN), 1);
    cr_expect_eq(found(here, "reduce_outside_autocast", 4, TP_CHECK_CERTAIN),
                 1);
}

/* Where autocast is on: blocks, decorators, and what turns it off again. */
Test(check, scopes_of_autocast)
{
    static const char *const on[] = {
        "with torch.autocast('cuda'):\n  f(x.float() @ y)\n",
        "with torch.autocast('cuda') if a else b():\n  x.float() @ y\n",
        "with torch.cuda.amp.autocast(a):\n  x.float() @ y\n",
        "c = torch.autocast('cuda')\nwith c, d():\n  x.float() @ y\n",
        "@torch.autocast('cuda')\ndef f(x, y):\n  return x.float() @ y\n",
        "@torch.no_grad()\n@torch.cuda.amp.autocast()\ndef f(x, y):\n"
        "  return x.float() @ y\n"};
    static const char *const off[] = {
        "with torch.autocast('cuda', enabled=False):\n  x.float() @ y\n",
        "with torch.autocast('cuda'):\n  a = b\nx.float() @ y\n",
        "with torch.cuda.amp.autocast(False):\n  x.float() @ y\n",
        "with torch.autocast('cuda'):\n"
        "  with torch.autocast('cuda', torch.float16, False):\n"
        "    x.float() @ y\n",
        "@torch.autocast('cuda', enabled=False)\ndef f(x, y):\n"
        "  return x.float() @ y\n",
        "with torch.autocast('cuda'):\n  def f(x, y):\n"
        "    return x.float() @ y\n"};
    char source[256];
    for (size_t i = 0; i < sizeof on / sizeof *on; i++) {
        snprintf(source, sizeof source, "import torch\n%s", on[i]);
        cr_expect_eq(count_of(source, TP_SEVERITY_MEDIUM), 1, "%s", source);
    }
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        snprintf(source, sizeof source, "import torch\n%s", off[i]);
        cr_expect_eq(count_of(source, TP_SEVERITY_MEDIUM), 0, "%s", source);
    }
}

/* Numbers leave a width, fp32 wins, and the unknown stays unknown. */
Test(check, widths_are_joined)
{
#define ONES "import torch\nh = torch.ones(9, dtype=torch.float16)\n"
    static const char *const half[] = {"(h * 2).sum()", "(1 - h).sum()",
                                       "(h + h).view(3).sum()", "(h @ h).sum()",
                                       "(-h[0]).clamp(0).sum()"};
    static const char *const other[] = {
        "(h + h.float()).sum()", "(h * x).sum()", "(h > 1).sum()",
        "(h + h.bfloat16()).sum()", "h.to(x.dtype).sum()"};
    char source[256];
    for (size_t i = 0; i < 5; i++) {
        snprintf(source, sizeof source, ONES "%s\n", half[i]);
        cr_expect_eq(
            found(source, "reduce_outside_autocast", 3, TP_CHECK_CERTAIN), 1,
            "%s", half[i]);
        snprintf(source, sizeof source, ONES "%s\n", other[i]);
        cr_expect_eq(
            found(source, "reduce_outside_autocast", 3, TP_CHECK_CERTAIN), 0,
            "%s", other[i]);
    }
}

#define TRAINS "import torch\nloss.backward()\n"
Test(check, comments_ignore)
{
    cr_expect_eq(count_of(TRAINS "x.half()\n", TP_SEVERITY_HIGH), 1);
    cr_expect_eq(
        count_of(TRAINS "x.half()  # tprof: ignore\n", TP_SEVERITY_HIGH), 0);
    cr_expect_eq(count_of(TRAINS "x.half()  # tprof: ignore[bce, half_call]\n",
                          TP_SEVERITY_HIGH),
                 0);
    cr_expect_eq(
        count_of(TRAINS "x.half()  # tprof: ignore[bce]\n", TP_SEVERITY_HIGH),
        1);
    cr_expect_eq(count_of(TRAINS
                          "x.half()\ny.half()  # tprof: ignore\r\nz.half()\r",
                          TP_SEVERITY_HIGH),
                 2);
}

/* Findings far out in one line cost no more than others. */
Test(check, long_line)
{
    limit_cpu(60);
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

/* The first line that is lost is named, and whether there are others: whatever
 * they are, and in whatever order they are found. */
Test(check, lines_that_are_lost_are_named)
{
#define SOURCE(text) text, sizeof text - 1
#define ELSEWHERE ", while other lines could not be read, either"
    static const struct {
        const char *source;
        size_t length, findings;
        const char *wanted;
    } known[] = {
        {SOURCE("a = \0\0\0\nx.half()\n"), 1, "line 1: a NUL byte"},
        {SOURCE("a = \0\nx.half()\nb = \0\n"), 1,
         "line 1: a NUL byte" ELSEWHERE},
        {SOURCE("b = (\na = \0\nx.half()\n"), 0,
         "line 1: a bracket that is never closed" ELSEWHERE},
        {SOURCE("foo bar\nx = \0 1\nx.half()\n"), 1,
         "line 1: a statement that is not Python" ELSEWHERE},
        {SOURCE("x = \0 1\nfoo bar\nx.half()\n"), 1,
         "line 1: a NUL byte" ELSEWHERE}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct tp_check_file file;
        check(known[i].source, known[i].length, &file);
        cr_expect_eq(file.findings.count, known[i].findings, "%zu", i);
        cr_expect_eq(file.problem_line, 1, "%zu", i);
        cr_expect_str_eq(file.problem.message, known[i].wanted, "%zu", i);
        free(file.findings.at);
    }
#undef ELSEWHERE
#undef SOURCE
}

/* What an editor of Windows may write, in both orders of bytes. */
Test(check, utf16_is_named)
{
    static const char *const sources[] = {"\xff\xfex\0\n\0", "\xfe\xff\0x\0\n"};
    static const char *const paths[] = {"a.py", "a.sh", "a.toml", "a.ipynb"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        for (size_t k = 0; k < 2; k++) {
            struct tp_check_file file = {0};
            struct tp_error err = {0};
            cr_expect_eq(tp_check_text_of(paths[i], sources[k], 6, &file, &err),
                         TP_E_DAMAGED);
            cr_expect_eq(strncmp(err.message, "UTF-16 text", 11), 0, "%s",
                         err.message);
        }
    }
}

/* A dtype is shown as it is written. */
Test(check, dtype_is_shown_as_written)
{
    static const char source[] =
        "import torch\nclass A:\n  def f(self, x):\n"
        "    self.width = torch.float16\n    x.to(self.width)\n";
    struct tp_check_file file;
    check(source, strlen(source), &file);
    cr_assert_eq(file.findings.count, 1);
    cr_expect_str_eq(file.findings.at[0].what, ".to(self.width)");
    free(file.findings.at);
}
