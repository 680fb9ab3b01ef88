/* SPDX-License-Identifier: MIT */
/* Rules about scaled gradients, loops and clocks: where the evidence ends. Each
 * source is what scripts do; its number of findings of a rule was set by hand.
 */
#include "check/check.h"

#include <criterion/criterion.h>

#include <string.h>

#define IMPORTS                                             \
    "import torch, time\n"                                  \
    "from torch.nn.utils import clip_grad_norm_\n"          \
    "from torch.profiler import profile, schedule\n"        \
    "from msprobe.pytorch import PrecisionDebugger as PD\n" \
    "scaler = torch.amp.GradScaler('cuda')\n"
#define SCALE "  scaler.scale(loss).backward()\n"
#define STEP "  scaler.step(optimizer)\n  scaler.update()\n"

struct example {
    const char *rule, *source;
    size_t count;
};

static void check(const struct example *example)
{
    struct tp_error err = {0};
    struct tp_check_file file = {0};
    size_t count = 0;
    cr_assert_eq(
        tp_check_source(example->source, strlen(example->source), &file, &err),
        TP_OK, "%s", err.message);
    for (size_t i = 0; i < file.findings.count; i++)
        count += !strcmp(file.findings.at[i].rule->id, example->rule);
    cr_expect_eq(count, example->count, "%s: %zu in\n%s", example->rule, count,
                 example->source);
    cr_expect_eq(file.problem.code, TP_OK, "%s", file.problem.message);
    free(file.findings.at);
}

Test(rules_scaler, evidence)
{
    static const struct example known[] = {
        /* one of two branches, told by two conditions */
        {"unscaled_backward",
         IMPORTS "def f(loss_of, optimizer, amp):\n  loss = loss_of()\n"
                 "  if amp: scaler.scale(loss).backward()\n"
                 "  else: loss.backward()\n"
                 "  if scaler is not None: scaler.step(optimizer)\n"
                 "  scaler.update()\n",
         0},
        /* a loss that the caller may have scaled, or an engine */
        {"unscaled_backward",
         IMPORTS "def f(loss, optimizer):\n  loss.backward()\n" STEP, 0},
        {"unscaled_backward",
         IMPORTS
         "def f(optimizer):\n  loss = g()\n  engine.backward(loss)\n" STEP,
         0},
        {"unscaled_backward",
         IMPORTS "def f(optimizer):\n  loss = g()\n  loss.backward()\n" STEP,
         1},
        /* what others may update, and a dict that is no scaler */
        {"step_without_update",
         "import torch\nclass A:\n def f(self, loss):\n"
         "  self.scaler.scale(loss).backward()\n  self.scaler.step(self.opt)\n"
         " def g(self): self.meter.update(1)\n",
         0},
        {"step_without_update",
         IMPORTS "def f(loss, optimizer, d):\n" SCALE
                 "  scaler.step(optimizer)\n  d.update(a=1)\n",
         1},
        /* the scaler of a caller, in a function within */
        {"step_without_update",
         IMPORTS "def f(optimizer, scaler):\n def step():\n"
                 "  scaler.step(optimizer)\n return step\n",
         0},
        {"update_per_optimizer",
         IMPORTS "def f(loss, a, b):\n" SCALE
                 "  scaler.step(a)\n  scaler.update()\n" SCALE
                 "  scaler.step(b)\n  scaler.update()\n",
         0},
        {"double_unscale",
         IMPORTS "def f(loss, optimizer):\n" SCALE
                 "  scaler.unscale_(optimizer)\n" STEP SCALE
                 "  scaler.unscale_(optimizer)\n" STEP,
         0},
        {"fp16_without_scaler",
         "import torch\ndef f(m, x, optimizer, dtype):\n"
         "  with torch.autocast('cuda', dtype=dtype): loss = m(x).loss\n"
         "  loss.backward()\n  optimizer.step()\n",
         0},
        {"fp16_without_scaler",
         "import torch\ndef f(m, x, optimizer):\n"
         "  with torch.autocast('cuda'): loss = m(x).loss\n"
         "  loss.backward()\n  optimizer.step()\n",
         1},
        /* an engine scales by itself */
        {"fp16_without_scaler",
         "import torch, deepspeed\ndef f(m, x, optimizer):\n"
         "  with torch.autocast('cuda'): loss = m(x).loss\n"
         "  loss.backward()\n  optimizer.step()\n",
         0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        check(&known[i]);
}

#define LOOP "def f(model, data, optimizer):\n for x in data:\n"
#define TRAIN "  loss = model(x)\n  loss.backward()\n  optimizer.step()\n"

Test(rules_scaler, evidence_in_loops)
{
    static const struct example known[] = {
        {"zero_grad_missing", LOOP TRAIN, 1},
        {"zero_grad_missing", LOOP TRAIN "def g(m): m.zero_grad()\n", 0},
        {"zero_grad_missing",
         LOOP "  for p in model.parameters(): p.grad = None\n" TRAIN, 0},
        /* no loop here: the caller may clear */
        {"zero_grad_missing", "def f(x, model, optimizer):\n" TRAIN, 0},
        /* both orders around the turn of a loop */
        {"clip_after_step",
         IMPORTS LOOP "  optimizer.step()\n  model(x).backward()\n"
                      "  clip_grad_norm_(p, 1)\n",
         0},
        {"clip_after_step", IMPORTS LOOP TRAIN "  clip_grad_norm_(p, 1)\n", 1},
        {"loss_with_graph", LOOP TRAIN "  total += loss\n", 1},
        {"loss_with_graph",
         LOOP TRAIN "  loss = loss.item()\n  total += loss\n", 0},
        {"loss_with_graph", LOOP TRAIN "  total += loss\n  if x: total = 0\n",
         0},
        {"item_in_loop", LOOP TRAIN "  n += x['count'].item()\n", 0},
        {"item_in_loop", LOOP TRAIN "  n += float((loss / 2).item())\n", 1},
        {"item_in_loop", LOOP TRAIN "  if x: print(loss.item())\n", 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        check(&known[i]);
}

#define PROFILE "profile(schedule=schedule(wait=1, warmup=1, active=3))"
#define TIMED "def f(model, x):\n model.cuda()\n t = time.time()\n"

Test(rules_scaler, evidence_in_measurements)
{
    static const struct example known[] = {
        {"timed_without_synchronize",
         IMPORTS TIMED " model(x)\n return time.time() - t\n", 1},
        {"timed_without_synchronize",
         IMPORTS TIMED " model(x)\n e = time.time()\n return e - t\n", 1},
        /* a function that may wait, a copy that does */
        {"timed_without_synchronize",
         IMPORTS TIMED " show(model(x))\n return time.time() - t\n", 0},
        {"timed_without_synchronize",
         IMPORTS TIMED " model(x).to('cpu')\n return time.time() - t\n", 0},
        /* on the CPU */
        {"timed_without_synchronize",
         IMPORTS "def f(model, x):\n t = time.time()\n model(x)\n"
                 " return time.time() - t\n",
         0},
        {"profiler_step_missing",
         IMPORTS "def f():\n with " PROFILE " as p:\n  g()\n", 1},
        {"profiler_step_missing",
         IMPORTS "def f():\n with " PROFILE " as p:\n  g(p)\n", 0},
        {"profiler_step_missing",
         IMPORTS "def f():\n p = " PROFILE "\n p.start()\n g()\n p.stop()\n",
         1},
        {"profiler_step_missing",
         IMPORTS "def f():\n p = " PROFILE "\n p.start()\n g(p.step)\n", 0},
        {"profiler_loop_short",
         IMPORTS "def f():\n with " PROFILE " as p:\n  for i in range(4):\n"
                 "   p.step()\n",
         1},
        {"profiler_loop_short",
         IMPORTS "def f(n):\n with " PROFILE " as p:\n  for i in range(n):\n"
                 "   p.step()\n",
         0},
        {"debugger_without_stop",
         IMPORTS "class A:\n def f(self):\n  self.d = PD()\n"
                 "  self.d.start()\n",
         0},
        {"debugger_without_stop", IMPORTS "d = PD()\nd.start()\n", 1},
        {"stop_before_backward",
         IMPORTS "d = PD()\nfor x in y:\n d.start()\n f(x)\n d.stop()\n"
                 " d.start()\n g(x).backward()\n d.stop()\n d.step()\n",
         0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        check(&known[i]);
}
