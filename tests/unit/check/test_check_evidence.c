/* SPDX-License-Identifier: MIT */
/*
 * What a script shows lowers or raises the severity of a finding, or takes it
 * away: each source that has the evidence stands beside one that lacks it, or
 * shows the contrary.
 */
#include "check/check.h"

#include <criterion/criterion.h>
#include <stdio.h>

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
