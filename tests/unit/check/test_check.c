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

/* Severity of the finding of a rule in a file of that name; -1: none. */
static int severity_of(const char *path, const char *source, const char *rule)
{
    struct tp_check_file file = {0};
    struct tp_error err = {0};
    char name[64];
    int severity = -1;
    snprintf(name, sizeof name, "%s", path);
    file.path = name;
    cr_assert_eq(tp_check_text_of(path, source, strlen(source), &file, &err),
                 TP_OK);
    for (size_t i = 0; i < file.findings.count; i++) {
        if (!strcmp(file.findings.at[i].rule->id, rule))
            severity = (int)file.findings.at[i].severity;
    }
    free(file.findings.at);
    return severity;
}

/* One source that has evidence, and one that lacks it or shows the contrary. */
struct pair {
    const char *rule, *with, *without;
};

static void expect_pairs(const struct pair *pairs, size_t count,
                         enum tp_severity severity)
{
    for (size_t i = 0; i < count; i++) {
        const struct pair *at = &pairs[i];
        cr_expect_eq(severity_of("a.py", at->with, at->rule), (int)severity,
                     "%s", at->with);
        cr_expect_eq(severity_of("a.py", at->without, at->rule),
                     (int)TP_SEVERITY_LOW, "%s", at->without);
    }
}

/* A cast is high where its own function or class shows that it trains; a loss
 * that is an error under autocast, where it may be called there. */
Test(check, casts_need_training)
{
#define STEP "import torch\ndef f(model, x):\n"
#define BCE_AS "from torch.nn.functional import binary_cross_entropy as bce\n"
#define OPTIMIZER_OF                                      \
    "import torch\nclass Net(torch.nn.Module):\n  pass\n" \
    "def f():\n  m = "
#define NET                                                                  \
    "from torch import nn\nclass Net(nn.Module):\n  def forward(self, x):\n" \
    "    return self.net(x.half())\n"
#define LOSS_OF_CLASS                                    \
    "import torch.nn as nn\nclass N(nn.Module):\n"       \
    "  def __init__(self):\n    self.f = nn.BCELoss()\n" \
    "  def forward(self, x):\n    "
    static const struct pair pairs[] = {
        {"half_call", STEP "  model.half()\n  model(x).backward()\n",
         STEP "  model.half()\n  return model(x)\n"},
        {"half_call", STEP "  x = x.half()\n  optimizer.zero_grad()\n",
         "import torch\ndef sync_weights(model):\n  for p in model:\n"
         "    yield p.half()\n"},
        {"half_call", STEP "  y = x.half()\n  y.backward()\n",
         STEP "  mask = mask.half()\n  x.backward()\n"},
        {"half_call", STEP "  net = load(x).half()\n  net(x).backward()\n",
         STEP "  model(x).backward()\n  test(load_best(x).half())\n"},
        {"half_call", NET "def g(x):\n  criterion(x)\n", NET},
        {"half_call", STEP "  net.half()\n  net(x).backward()\n",
         STEP "  net.half()\n  net(x).backward()\n"
              "def g(net):\n  net.requires_grad_(False)\n"},
        {"half_call", STEP "  y = other.half()\n  y(x).backward()\n",
         STEP "  y = other.half()\n  y(x).backward()\n"
              "def g():\n  for p in other.parameters():\n"
              "    p.requires_grad = False\n"},
        {"half_call", STEP "  y = make().half()\n  y(x).backward()\n",
         STEP "  y = make().half().eval()\n  y(x).backward()\n"},
        {"half_call", STEP "  y = model.half()\n  y(x).backward()\n",
         STEP "  y = deepcopy(model).half()\n  y(x).backward()\n"
              "from copy import deepcopy\n"},
        {"half_call", NET "loss = x.half()\nloss.backward()\n",
         NET "class B(nn.Module):\n  def forward(self, image):\n"
             "    return self.net(image.half())\nloss.backward()\n"},
        {"half_model_autocast",
         STEP "  model.half()\n  with torch.autocast('cuda'):\n"
              "    y = model(x)\n  y.backward()\n",
         STEP "  model.half()\n  model.requires_grad_(False)\n"
              "  with torch.autocast('cuda'):\n    y = model(x)\n"
              "  y.backward()\n"},
        {"half_call", STEP "  y = net.half()\n  y(x).backward()\n",
         STEP "  y = teacher.half()\n  y(x).backward()\n"},
        {"half_call", STEP "  if fp16:\n    y = x.half()\n  y.backward()\n",
         STEP "  if fp16:\n    x = x.float()\n  if fp16:\n"
              "    y = x.log().half()\n  y.backward()\n"},
        {"bce",
         "import torch.nn.functional as F\ndef f(x, y):\n"
         "  return F.binary_cross_entropy(x, y)\n",
         "import torch.nn.functional as F\ndef get_nll(x, y):\n"
         "  return F.binary_cross_entropy(x, y)\n"},
        {"half_call", STEP "  for y in x:\n    z = y.half()\n  z.backward()\n",
         STEP "  for i, (y, t) in enumerate(loader):\n    z = y.half()\n"
              "  z.backward()\n"},
        {"bce", LOSS_OF_CLASS "self.f.to('cuda')\n    return self.f(x)\n",
         LOSS_OF_CLASS "self.f.to('cuda')\n    return x\n"},
        {"bce",
         LOSS_OF_CLASS "pass\nclass M(N):\n  def g(self, x):\n"
                       "    return self.f(x)\n",
         LOSS_OF_CLASS "pass\nclass M(nn.Module):\n"
                       "  def __init__(self):\n    self.f = nn.Linear(1, 1)\n"
                       "  def g(self, x):\n    return self.f(x)\n"},
        {"bce",
         "import torch.nn as nn\nf = nn.BCELoss()\ndef g(x, y):\n"
         "  return f(x, y)\n",
         "import torch.nn as nn\nf = nn.BCELoss()\ndef g(x, y):\n"
         "  return x\n"},
        {"bce",
         "import torch, torch.nn as nn\nf = nn.BCELoss()\n"
         "with torch.autocast('cuda'):\n  y = f(x, t)\ny.backward()\n",
         "import torch, torch.nn as nn\nf = nn.BCELoss()\n"
         "with torch.autocast('cuda'):\n  y = f(x, t)\nprint(y)\n"},
        {"bce",
         "import torch.nn as nn\nclass L(nn.Module):\n  def __init__(self):\n"
         "    self.f = nn.BCELoss()\n  def forward(self, x, y):\n"
         "    return self.f(x, y)\n",
         "import torch.nn as nn\nclass L(nn.Module):\n  def __init__(self):\n"
         "    self.f = nn.BCELoss()\n  def forward(self, x, y):\n"
         "    return x - y\n"},
        {"bce",
         "import torch, torch.nn as nn\nf = nn.BCELoss()\n"
         "def g(x, y, on=True):\n  with torch.autocast('cuda', enabled=on):\n"
         "    return f(x, y)\n",
         "import torch, torch.nn as nn\nf = nn.BCELoss()\n"
         "def g(x, y, on=False):\n  with torch.autocast('cuda', enabled=on):\n"
         "    return f(x, y)\n"},
        {"bce", BCE_AS "def training_step(x, y):\n  return bce(x, y)\n",
         BCE_AS "def validation_step(x, y):\n  return bce(x, y)\n"},
        {"bce", BCE_AS "def f(x, y):\n  return bce(x, y)\n",
         BCE_AS "def attack(x, y):\n  return bce(x, y)\n"},
        {"half_call",
         "from torch import nn\nclass Net(nn.Module):\n"
         "  def __init__(self, model):\n    self.loss = model.half()\n",
         "from torch import nn\nclass Net(nn.Module):\n"
         "  def __init__(self, table):\n    self.loss = table.half()\n"},
        {"half_call",
         "from torch import nn\nclass Net(nn.Module):\n"
         "  def __init__(self, model):\n    self.loss = model.half()\n",
         "from torch import nn\nclass AMPNet(nn.Module):\n"
         "  def __init__(self, model):\n    self.loss = model.half()\n"},
        {"half_call",
         "class Net(PreModel):\n  def __init__(self, config):\n"
         "    if self.deep_fp16:\n      self.loss.half()\n",
         "class Net(PreModel):\n  def __init__(self, config):\n"
         "    if config.deep_fp16:\n      self.loss.half()\n"},
        {"bce",
         BCE_AS "import torch\ndef f(y):\n"
                "  x = torch.rand(3, requires_grad=True)\n"
                "  return bce(x.sigmoid(), y)\n",
         BCE_AS "import torch\ndef f(y):\n  x = torch.rand(3)\n"
                "  return bce(x.sigmoid(), y)\n"},
        {"bce",
         BCE_AS "import torch\ndef f(x, y):\n  return bce(x, y)\n"
                "f(torch.rand(3), 1)\n",
         BCE_AS "import torch\ndef f(x, y):\n"
                "  return bce(x.detach(), y)\n"},
        {"sigmoid_before_bce_with_logits",
         "import torch.nn.functional as F\ndef f(x, y):\n"
         "  return F.binary_cross_entropy_with_logits(x.sigmoid(), y)\n",
         "import torch.nn.functional as F\ndef predict(x, y):\n"
         "  return F.binary_cross_entropy_with_logits(x.sigmoid(), y)\n"},
        {"softmax_before_cross_entropy",
         "import torch, torch.nn.functional as F\ndef f(x, y):\n"
         "  x = net(torch.randn(2, 3))\n"
         "  return F.cross_entropy(x.softmax(-1), y)\n",
         "import torch, torch.nn.functional as F\ndef f(x, y):\n"
         "  x = torch.randn(2, 3)\n"
         "  return F.cross_entropy(x.softmax(-1), y)\n"},
        {"adam_eps_half",
         OPTIMIZER_OF "Net().half()\n"
                      "  o = torch.optim.Adam(m.parameters())\n  o.step()\n",
         OPTIMIZER_OF "Net().half()\n"
                      "  o = torch.optim.Adam(m.parameters())\n  print(o)\n"},
        {"half_optimizer_without_master",
         OPTIMIZER_OF "Net().half()\n  return torch.optim.SGD("
                      "m.parameters(), 1)\n",
         OPTIMIZER_OF "Net().half()\n  return FP16_Optimizer(torch.optim.SGD("
                      "m.parameters(), 1))\n"},
        {"half_call", STEP "  model.half()\n  model(x).backward()\n",
         STEP "  model.half()\n  model(x).backward()\nimport deepspeed\n"},
        {"half_optimizer_without_master",
         OPTIMIZER_OF "Net().half()\n  return torch.optim.SGD("
                      "m.parameters(), 1)\n",
         OPTIMIZER_OF "Net().half()\n  torch.optim.SGD("
                      "m.parameters(), 1)\n"},
        {"half_call", STEP "  if deep:\n    y = x.half()\n  y.backward()\n",
         STEP "  if is_quantized:\n    y = x.half()\n  y.backward()\n"},
        {"default_dtype_half",
         "import torch\ntorch.set_default_dtype(torch.float16)\n",
         "import torch\ndef convert(x):\n"
         "  torch.set_default_dtype(torch.float16)\n"},
        {"half_call", NET "opt = torch.optim.SGD(p)\nimport torch\n",
         NET "class Quantizer(nn.Module):\n  pass\n"},
        {"to_half",
         "import torch\nclass NetTrainer:\n  def __init__(self, model):\n"
         "    model.to(torch.bfloat16)\n",
         "import torch\nclass NetTrainer:\n  def get_weights(self, model):\n"
         "    return model.to(torch.bfloat16)\n"},
        {"half_call", "import torch\nx.half()\nloss.backward()\n",
         "import torch\nx.half()\n"},
        {"to_half",
         "import torch\ndef iou_loss(x, y):\n  return y.to(torch.float16)\n",
         "import torch\ndef iou(x, y):\n  return y.to(torch.float16)\n"},
        {"fp8_cast_without_scale",
         STEP "  w = model.weight.to(torch.float8_e4m3fn)\n  w.backward()\n",
         STEP "  return model.weight.to(torch.float8_e4m3fn)\n"},
        {"bce",
         "import torch.nn.functional as F\ndef f(x, y):\n"
         "  return F.binary_cross_entropy(x, y)\n",
         "from torch.cuda.amp.autocast_mode import autocast\n"
         "import torch.nn.functional as F\ndef f(x, y):\n"
         "  with autocast(enabled=False):\n"
         "    return F.binary_cross_entropy(x.float(), y)\n"},
        {"bce",
         "import torch.nn.functional as F\ndef f(x, y):\n"
         "  return F.binary_cross_entropy(x, y)\n",
         "import torch\nimport torch.nn.functional as F\ndef f(x, y):\n"
         "  with torch.autocast('cuda', enabled=False):\n"
         "    return F.binary_cross_entropy(x.float(), y)\n"},
        {"bce",
         "import torch.nn.functional as F\ndef cost(x, y):\n"
         "  return F.binary_cross_entropy(x, y)\n",
         "import torch\nimport torch.nn.functional as F\n@torch.no_grad()\n"
         "def cost(x, y):\n  return F.binary_cross_entropy(x, y)\n"},
        {"default_dtype_half",
         "import torch\ndef main(model):\n  optimizer.zero_grad()\n"
         "  torch.set_default_dtype(torch.float16)\n  optimizer.step()\n",
         "import torch\ndef main(model):\n"
         "  torch.set_default_dtype(torch.float16)\n"},
        {"half_call",
         "import torch\nif __name__ == '__main__':\n  m.half()\n"
         "  m(x).backward()\n  optimizer.step()\n",
         "import torch\nif __name__ == '__main__':\n  m.half()\n"
         "  m(x).backward()\n"},
        {"half_call", STEP "  y = x.half()\n  y.backward()\n",
         STEP "  y = encode(image.half())\n  y.backward()\n"},
        {"half_call", NET "def g(x):\n  criterion(x)\n",
         "from torch import nn\nclass Net(nn.Module):\n"
         "  def forward(self, x, start_pos):\n"
         "    return self.net(x.half())\ndef g(x):\n  criterion(x)\n"},
    };
    expect_pairs(pairs, sizeof pairs / sizeof *pairs, TP_SEVERITY_HIGH);
}

/* What no gradient flows through, or autocast does not touch. */
Test(check, numerics_need_gradients)
{
#define FUNCTION                                                         \
    "import torch\nclass F(torch.autograd.Function):\n  @staticmethod\n" \
    "  def forward(ctx, x, w):\n    return "
#define MEDIUM_IS "torch.set_float32_matmul_precision('medium')\n"
#define MEDIUM(then) "import torch\n" MEDIUM_IS then
    static const struct pair pairs[] = {
        {"sqrt_at_zero",
         "def step(x, limit):\n  n = x.square().sum().sqrt()\n"
         "  return scale(x, n)\n",
         "def step(x, limit):\n  n = x.square().sum().sqrt()\n"
         "  scale_(x, n)\n  return x\n"},
        {"sqrt_at_zero",
         "def step(xs):\n  for x in xs:\n"
         "    scale(x, x.square().sum().sqrt())\n",
         "def step_(xs):\n  for x in xs:\n"
         "    scale(x, x.square().sum().sqrt())\n"},
        {"sqrt_at_zero",
         "class Net(Module):\n  def forward(self, x, i, j):\n"
         "    return (x[i] - x[j]).pow(2).sum(-1).sqrt()\n",
         "class Net(Module):\n  def forward(self, pos, i, j):\n"
         "    return (pos[i] - pos[j]).pow(2).sum(-1).sqrt()\n"},
        {"autograd_function",
         "from torch.fft import fft, irfft\n" FUNCTION
         "torch.einsum('ab,bc->ac', fft(x), irfft(w))\n",
         "from torch.fft import fft, ifft\n" FUNCTION
         "torch.einsum('ab,bc->ac', fft(x), ifft(w))\n"},
        {"sqrt_at_zero",
         "class Net(Module):\n  def step(self, p):\n"
         "    return p.square().sum().sqrt()\n",
         "class Lamb(Optimizer):\n  def step(self, p):\n"
         "    return p.square().sum().sqrt()\n"},
        {"sqrt_at_zero", "def step(p):\n  return p.pow(2).sum().sqrt()\n",
         "def step(p):\n  return p.data.pow(2).sum().sqrt()\n"},
        {"sqrt_at_zero",
         "class Net(Module):\n  def forward(self, x):\n"
         "    return x.square().sum().sqrt()\n",
         "class Net(Module):\n  def forward(self, x):\n"
         "    return x.square().sum().sqrt()\n"
         "  def load_weights(self, weights):\n    pass\n"},
        {"softmax_dtype",
         "import torch\ndef forward(x):\n  if x.is_cuda:\n    pass\n  else:\n"
         "    return x.softmax(-1)\nx = x.half()\n",
         "import torch\ndef forward(x):\n  if x.dtype == torch.float16:\n"
         "    pass\n  else:\n    return x.softmax(-1)\nx = x.half()\n"},
        {"exp_without_max", "def f(x):\n  return x.exp().sum(-1).log()\n",
         "def f(x):\n  x.sub_(x.amax())\n  return x.exp().sum(-1).log()\n"},
        {"log_sigmoid", "def score(x):\n  return x.sigmoid().log()\n",
         "def beam_search(x):\n  return x.sigmoid().log()\n"},
        {"autograd_function", FUNCTION "x @ w\n", FUNCTION "x.sum()\n"},
        {"autograd_function",
         FUNCTION "x @ w\n  @staticmethod\n  def backward(ctx, g):\n"
                  "    return g @ g\n",
         FUNCTION "x @ w\n  @staticmethod\n  def backward(ctx, g):\n"
                  "    return g.sum()\n"},
        {"autograd_function", FUNCTION "x @ w\n",
         FUNCTION "x.to(w.dtype) @ w\n"},
        {"data_in_place",
         "class Net(Module):\n  def forward(self, x):\n    x.data.mul_(2)\n",
         "class Net(Module):\n  def forward(self, x, mask):\n"
         "    x.data.masked_fill_(mask, -1)\n"},
        {"sqrt_at_zero",
         "class Net(Module):\n  def norm(self, x):\n"
         "    return x.square().sum().sqrt()\n",
         "class Net(Module):\n  def norm(self, grad):\n"
         "    return grad.square().sum().sqrt()\n"},
        {"sqrt_at_zero",
         "class Net(Module):\n  def norm(self, x):\n"
         "    return x.square().sum().sqrt()\n",
         "class Game:\n  def step(self, x):\n"
         "    return x.square().sum().sqrt()\n"},
        {"sqrt_at_zero",
         "class Net(Module):\n  def norm(self, x):\n"
         "    return x.square().sum().sqrt()\n",
         "class Net(Module):\n  def get_grid(self, x):\n"
         "    return x.square().sum().sqrt()\n"},
        {"sqrt_at_zero",
         "class Net(Module):\n  def norm(self, x):\n"
         "    return x.square().sum().sqrt()\n",
         "class Net(Module):\n  def forward(self, x):\n"
         "    if self.verbose:\n      y = x.square().sum().sqrt()\n"},
        {"log_softmax",
         "class Net(Module):\n  def f(self, x):\n"
         "    return x.softmax(-1).log()\n",
         "class Net(Module):\n  def next_score(self, x):\n"
         "    return x.softmax(-1).log()\n"},
        {"exp_without_max",
         "class Net(Module):\n  def f(self, x):\n"
         "    return x.exp().sum(-1).log()\n",
         "class Search:\n  def f(self, x):\n"
         "    return x.exp().sum(-1).log()\n"},
        {"sqrt_at_zero",
         "def loss(x, target):\n  return (x - target).square().sum().sqrt()\n",
         "def loss(x, target):\n  return target.square().sum().sqrt()\n"},
        {"sqrt_at_zero", "def loss(x):\n  return x.square().sum().sqrt() * y\n",
         "def loss(x):\n  return x.square().sum().sqrt() > y\n"},
        {"sqrt_at_zero", "def loss(x):\n  return f(x.square().sum().sqrt())\n",
         "def loss(x):\n  return f(x.square().sum().sqrt().item())\n"},
        {"norm_layer_half",
         "import torch\ndef make():\n"
         "  return torch.nn.LayerNorm(1, dtype=torch.float16)\n",
         "import torch\ndef is_available():\n"
         "  return torch.nn.LayerNorm(1, dtype=torch.float16)\n"},
        {"softmax_dtype",
         "import torch\nclass N(torch.nn.Module):\n  def forward(self, x):\n"
         "    return x.softmax(-1)\nx = x.half()\n",
         "import torch\nclass N(torch.nn.Module):\n  def forward(self, x):\n"
         "    return x.softmax(-1)\ns = torch.amp.GradScaler('cuda')\n"},
        {"autograd_function", FUNCTION "torch.mm(x, w)\n",
         FUNCTION "torch.mm(x, w.to(torch.get_autocast_dtype('cuda')))\n"},
        {"softmax_dtype",
         "import torch\ndef forward(x):\n  if deep:\n    pass\n  else:\n"
         "    return x.softmax(-1)\nx = x.half()\n",
         "import torch\ndef forward(x):\n  if phase == 'train':\n    pass\n"
         "  else:\n    return x.softmax(-1)\nx = x.half()\n"},
        {"sqrt_at_zero",
         "def loss(x):\n  y = x.square().sum().sqrt()\n"
         "  print(y)\n  return y.mean()\n",
         "def loss(x):\n  y = x.square().sum().sqrt()\n"
         "  print(y.mean())\n  return {'a': y.mean().item()}\n"},
        {"sqrt_at_zero",
         "def loss(x):\n  y = x.square().sum().sqrt()\n"
         "  y = y.view(-1)\n  return y.mean()\n",
         "def loss(x):\n  y = x.square().sum().sqrt()\n"
         "  y = y.view(-1)\n  return y.mean().item(), y < 3\n"},
        {"sqrt_at_zero", "def loss(x):\n  return (x ** 2).sum(dim=1) ** 0.5\n",
         "def loss(x):\n  return (x ** 2).sum(axis=1) ** 0.5\n"},
        {"sqrt_at_zero",
         "def loss(x, y):\n  return (x - y).square().sum().sqrt()\n",
         "def loss(pos, new_pos):\n"
         "  return (pos - new_pos).square().sum().sqrt()\n"},
        {"log_softmax", "def loss(x):\n  y = x.softmax(-1).log()\n  return y\n",
         "def loss(x):\n  y = x.softmax(-1).log()\n  log_dict({'a': y})\n"},
        {"exp_without_max", "def f(x):\n  return x.exp().sum(-1).log()\n",
         "def f(x):\n  x = F.normalize(x)\n"
         "  return x.exp().sum(-1).log()\n"},
        {"log_softmax",
         "import torch\ndef loss(x):\n  return x.softmax(-1).log()\n",
         "import torch\ndef loss(y):\n  x = torch.tensor([1., 2.])\n"
         "  return x.softmax(-1).log()\n"},
        {"matmul_medium", MEDIUM("torch.backends.cudnn.allow_tf32 = True\n"),
         MEDIUM("torch.backends.cuda.matmul.allow_tf32 = True\n")},
        {"matmul_medium",
         "import torch\nif torch.cuda.is_available():\n  " MEDIUM_IS,
         "import torch\nif torch.backends.mps.is_available():\n  " MEDIUM_IS},
        {"static_loss_scale",
         "wrapper = dict(type='AmpOptimWrapper', loss_scale=512.)\n",
         "wrapper = dict(type='AmpOptimWrapper', loss_scale=512)\n"},
        {"softmax_dtype",
         "import torch\ndef forward(x):\n  return x.softmax(-1)\n"
         "x = x.half()\n",
         "import torch\ndef forward(x):\n  if wide:\n    x = x.float()\n"
         "  x = f(x)\n  return x.softmax(-1)\nx = x.half()\n"},
        {"softmax_dtype",
         "import torch\ndef forward(x):\n  return x.softmax(-1)\n"
         "x = x.half()\n",
         "import torch\ndef forward(x):\n  return x.softmax(-1).tolist()\n"
         "x = x.half()\n"},
        {"data_in_place",
         "class Net(Module):\n  def forward(self, x):\n    x.data.mul_(2)\n",
         "class Net(Module):\n  def forward(self, x_ids):\n"
         "    x_ids.data.mul_(2)\n"},
        {"sqrt_at_zero",
         "class Net(Module):\n  def forward(self, x):\n    if self.a:\n"
         "      return x.square().sum().sqrt()\n",
         "class Net(Module):\n  def forward(self, x):\n"
         "    if self.trainable == False:\n"
         "      return x.square().sum().sqrt()\n"},
        {"exp_without_max", "def f(x):\n  return x.exp().sum(-1).log()\n",
         "def uncertainty(x):\n  return x.exp().sum(-1).log()\n"},
        {"e4m3_backward",
         "from transformer_engine.common import recipe\ndef f():\n"
         "  return recipe.DelayedScaling(fp8_format=recipe.Format.E4M3)\n",
         "from transformer_engine.common import recipe\ndef test_f():\n"
         "  return recipe.DelayedScaling(fp8_format=recipe.Format.E4M3)\n"},
    };
    expect_pairs(pairs, sizeof pairs / sizeof *pairs, TP_SEVERITY_MEDIUM);
    cr_expect_eq(severity_of("a.py",
                             FUNCTION "x @ w\n  def setup_context(ctx, i, o):\n"
                                      "    pass\n",
                             "autograd_function"),
                 -1, "custom_fwd needs a context");
    cr_expect_eq(severity_of("a.py",
                             "class F(Function):\n  def forward(ctx, x):\n"
                             "    x.data.mul_(2)\n",
                             "data_in_place"),
                 -1, "no gradient is recorded");
    cr_expect_eq(severity_of("a.py",
                             "def f(x):\n  x -= x.amax()\n"
                             "  return x.exp().sum(-1).log()\n",
                             "exp_without_max"),
                 -1, "shifted in place");
    cr_expect_eq(severity_of("a.py",
                             "def f(x):\n  y = x.sigmoid().exp()\n"
                             "  return y / y.sum(-1)\n",
                             "exp_without_max"),
                 -1, "at most e");
    cr_expect_eq(severity_of("a.py",
                             "class Net(Module):\n  def forward(self, g):\n"
                             "    g.nodes['a'].data['h'] = 1\n",
                             "data_in_place"),
                 -1, "features of a graph");
    cr_expect_eq(severity_of("a.py",
                             "class Net(Module):\n  def forward(self, g):\n"
                             "    g.srcnodes['a'].data['h'] = 1\n",
                             "data_in_place"),
                 -1, "features of a graph, by its ends");
    cr_expect_eq(severity_of("a.py",
                             "def f(x):\n  return (x ** 2).mean(axis=0) - "
                             "x.mean(axis=0) ** 2\n",
                             "variance_by_difference"),
                 -1, "of numpy");
    cr_expect_eq(severity_of("a.py",
                             "def f(scaler, optimizer):\n"
                             "  scaler.step(optimizer)\n",
                             "step_without_update"),
                 -1, "scaled and updated elsewhere");
    cr_expect_eq(severity_of("a.py",
                             "def f(scaler, opt, clip, norm):\n"
                             "  scaler.scale(loss).backward()\n"
                             "  if clip:\n    scaler.unscale_(opt)\n"
                             "    norm = 1\n"
                             "  if norm is None:\n    scaler.unscale_(opt)\n"
                             "  scaler.step(opt)\n  scaler.update()\n",
                             "double_unscale"),
                 -1, "two conditions");
    cr_expect_eq(severity_of("a.py",
                             "def f(scaler, a, b):\n"
                             "  scaler.scale(loss).backward()\n"
                             "  scaler.step(a)\n  if last:\n"
                             "    scaler.update()\n"
                             "  scaler.step(b)\n  scaler.update()\n",
                             "update_per_optimizer"),
                 -1, "not in each iteration");
    cr_expect_eq(severity_of("a.py",
                             "def f(log_probs):\n"
                             "  return log_probs.exp().sum(-1).log()\n",
                             "exp_without_max"),
                 -1, "at most 1");
    cr_expect_eq(severity_of("a.py",
                             "import torch\ndef f(x, y):\n"
                             "  with torch.autocast('cuda', torch.float32):\n"
                             "    z = torch.einsum('i,j', x, y)\n"
                             "  return torch.cos(z)\n",
                             "rope_in_half"),
                 -1, "fp32");
}

/* What follows a return, or stands below "if False". */
Test(check, dead_code_is_silent)
{
    static const char *const dead[] = {
        STEP "  x.backward()\n  return x\n  y = x.half()\n",
        STEP "  x.backward()\n  raise E\n  y = x.half()\n",
        STEP "  x.backward()\n  if False:\n    y = x.half()\n"};
    static const char *const alive[] = {
        STEP "  x.backward()\n  if x:\n    return x\n  y = x.half()\n",
        STEP "  x.backward()\n  if True:\n    y = x.half()\n",
        STEP "  x.backward()\n  if False:\n    pass\n  else:\n"
             "    y = x.half()\n"};
    for (size_t i = 0; i < sizeof dead / sizeof *dead; i++)
        cr_expect_eq(severity_of("a.py", dead[i], "half_call"), -1, "%s",
                     dead[i]);
    for (size_t i = 0; i < sizeof alive / sizeof *alive; i++)
        cr_expect_eq(severity_of("a.py", alive[i], "half_call"),
                     (int)TP_SEVERITY_HIGH, "%s", alive[i]);
}

/* Networks that a framework prepares give fp32, whatever autocast did. */
Test(check, frameworks_give_fp32)
{
    static const char source[] =
        "import torch\ndef f(model, x):\n  with %s.autocast('cuda'):\n"
        "    y = model(x)\n  return y.mean()\n";
    char text[256];
    snprintf(text, sizeof text, source, "torch");
    cr_expect_eq(severity_of("a.py", text, "reduce_outside_autocast"),
                 (int)TP_SEVERITY_MEDIUM);
    snprintf(text, sizeof text, source, "accelerator");
    cr_expect_eq(severity_of("a.py", text, "reduce_outside_autocast"), -1);
}

/* The file and the three folders above it. */
Test(check, paths_of_inference)
{
    static const char source[] = STEP "  model.half()\n  x.backward()\n";
    static const char *const inference[] = {
        "benchmark_attention.py", "a/inference/b/c/run.py", "testing/a.py"};
    static const char *const other[] = {"train.py", "inference/a/b/c/d.py",
                                        "latest/a.py", "/a.py", ""};
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(severity_of(inference[i], source, "half_call"),
                     (int)TP_SEVERITY_LOW, "%s", inference[i]);
    for (size_t i = 0; i < 5; i++)
        cr_expect_eq(severity_of(other[i], source, "half_call"),
                     (int)TP_SEVERITY_HIGH, "%s", other[i]);
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
