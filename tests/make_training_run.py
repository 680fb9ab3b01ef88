#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes testdata/logs: a small but real training run, saved as tensor_saver
saves one. Needs torch (Debian 12's python3-torch is enough):

    python3 tests/make_training_run.py OUTPUT_DIR

The run is repeated for three quantisation types; see testdata/README.md for
what is saved of it and what goes wrong in it. Same torch, same tensors; the
bytes of legacy files differ from run to run in the storage keys, which are
addresses.
"""
import datetime
import math
import os
import sys

import torch
import torch.nn.functional as F

VOCABULARY, HIDDEN, FFN, HEADS, LAYERS, SEQUENCE = 32, 32, 64, 2, 3, 4
RANKS, ITERATIONS, LEARNING_RATE, CLIP = 2, 8, 0.01, 1.0
FAULT = dict(rank=1, iteration=5, layer=2, row=42, factor=2.0 ** 16)
START = datetime.datetime(2026, 1, 15, 10, 0, 0)

# What is saved of each run. Sample s of bf16 has BATCHES[s] sequences.
PLANS = {
    "mxfp8": dict(zip=False, ranks=(0, 1), iterations=range(ITERATIONS),
                  samples=(None,)),
    "hifp8": dict(zip=True, ranks=(0, 1), iterations=(1, 3, 5, 7),
                  samples=(0,)),
    "bf16": dict(zip=True, ranks=(0,), iterations=(1, 5), samples=(0, 1, 2)),
}
BATCHES = (2, 1, 4)


# --- number formats -----------------------------------------------------------

def power(exponent):
    return torch.ldexp(torch.ones_like(exponent, dtype=torch.float64),
                       exponent.to(torch.float64))


def binade(magnitude):
    """floor(log2(magnitude)), exact; of zero: any finite number."""
    return torch.frexp(magnitude)[1].to(torch.float64) - 1


def quantise_hif8(x):
    """Ties away from zero; overflow gives infinity, underflow zero."""
    a = x.abs().to(torch.float64)
    e = binade(torch.where(torch.isfinite(a), a, torch.ones_like(a)))
    bits = torch.zeros_like(e)
    for limit, mantissa in ((15, 1), (7, 2), (3, 3)):
        bits[e.abs() <= limit] = mantissa
    step = power(torch.clamp(e, min=-22) - bits)
    q = torch.floor(a / step + 0.5) * step
    q[a >= 40960] = math.inf
    q[torch.isnan(a)] = math.nan
    return torch.copysign(q, x.to(torch.float64)).to(x.dtype)


def quantise_mxfp8(x):
    """Blocks of 32 on the last axis, E4M3 elements, scale rounded down."""
    blocks = x.to(torch.float64).reshape(-1, 32)
    amax = blocks.abs().amax(1, keepdim=True)
    scale = power(torch.clamp(binade(amax) - 8, -127, 127))
    scale[amax == 0] = 1
    s = blocks / scale
    step = power(torch.clamp(binade(s.abs()), min=-6) - 3)
    q = torch.clamp(torch.round(s / step) * step, -448, 448) * scale
    q[~torch.isfinite(amax).expand_as(q)] = math.nan
    return q.reshape(x.shape).to(x.dtype)


QUANTISERS = {"hifp8": quantise_hif8, "mxfp8": quantise_mxfp8,
              "bf16": lambda x: x}


# --- the saver ----------------------------------------------------------------

def overflow_info(flat):
    """As the saver does: after conversion to float32, so only Inf counts."""
    limit = torch.finfo(torch.float32).max
    upper, lower = int((flat > limit).sum()), int((flat < -limit).sum())
    n = flat.numel()
    return dict(upper_overflow_count=upper, lower_overflow_count=lower,
                upper_overflow_ratio=upper / n, lower_overflow_ratio=lower / n,
                total_overflow_ratio=(upper + lower) / n,
                max_threshold=limit, min_threshold=-limit)


def tensor_info(tensor):
    flat = tensor.float().flatten()
    return dict(shape=list(tensor.shape), dtype=str(tensor.dtype),
                device="cpu", requires_grad=False, is_leaf=True,
                min=flat.min().item(), max=flat.max().item(),
                mean=flat.mean().item(), std=flat.std().item(),
                overflow_info=overflow_info(flat))


class Saver:
    """One process's saver: names, counter and payload of tensor_saver."""

    def __init__(self, directory, quant_type, rank):
        self.directory = os.path.join(directory, quant_type)
        self.quant_type, self.rank = quant_type, rank
        self.zip = PLANS[quant_type]["zip"]
        self.counter, self.iteration, self.sample = 0, 0, None
        self.enabled = False
        os.makedirs(self.directory, exist_ok=True)

    def name(self, place, tensor_name, now):
        layer_type, layer, operation, phase, component = place
        parts = [now.strftime("%Y%m%d_%H%M%S"), "%04d" % self.counter,
                 "iter%03d" % self.iteration, layer_type]
        if layer is not None:
            parts.append("L%d" % layer)
        parts += [operation, phase, component, self.quant_type,
                  "rank%02d" % self.rank]
        if self.sample is not None:
            parts.append("sample%03d" % self.sample)
        return "_".join(parts + ["group000", tensor_name]) + ".pt"

    def save(self, place, tensor_name, tensor, **extras):
        if not self.enabled:
            return
        self.counter += 1
        layer_type, layer, operation, phase, component = place
        now = START + datetime.timedelta(
            seconds=2 * self.iteration + (operation == "backward"))
        tensor = tensor.detach().to(torch.bfloat16).contiguous().clone()
        metadata = dict(layer_type=layer_type, operation=operation,
                        quant_type=self.quant_type, tensor_name=tensor_name,
                        layer_idx=layer, phase=phase, component=component,
                        rank=self.rank, iteration=self.iteration)
        if self.sample is not None:
            metadata["sample_idx"] = self.sample
        metadata["save_time"] = now.strftime("%Y-%m-%d %H:%M:%S")
        metadata.update(extras)
        payload = dict(tensor=tensor, tensor_info=tensor_info(tensor),
                       metadata=metadata)
        path = os.path.join(self.directory, self.name(place, tensor_name, now))
        torch.save(payload, path, _use_new_zipfile_serialization=self.zip)


# --- the model ----------------------------------------------------------------

class SavingLinear(torch.autograd.Function):
    """y = q(x) q(w)^T, saved before and after, forward and backward."""

    @staticmethod
    def forward(ctx, x, weight, site):
        q, saver, layer, saved = site
        ctx.site = site
        ctx.save_for_backward(x, weight)
        y = q(x) @ q(weight).t()
        if saved:
            pre = ("linear", layer, "forward", "pre", "linear")
            saver.save(pre, "input", x, use_bias=False)
            if "weight" in saved:
                saver.save(pre, "weight", weight, use_bias=False)
            saver.save(("linear", layer, "forward", "post", "linear"),
                       "output", y, use_bias=False)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        _, saver, layer, saved = ctx.site
        x, weight = ctx.saved_tensors
        grad_input = grad_output @ weight
        if "grad" in saved:
            saver.save(("linear", layer, "backward", "pre", "linear"),
                       "input", grad_output)
            # The saver loses the layer here, as the original does.
            saver.save(("linear", None, "backward", "post", "linear"),
                       "output", grad_input)
        grad_weight = grad_output.flatten(0, 1).t() @ x.flatten(0, 1)
        return grad_input, grad_weight, None


def initial_parameters():
    generator = torch.Generator().manual_seed(20260115)
    def normal(rows, columns):
        return torch.randn(rows, columns, generator=generator) \
            / math.sqrt(columns)
    parameters = {"embedding": normal(VOCABULARY, HIDDEN) * 4,
                  "position": normal(SEQUENCE, HIDDEN),
                  "head": normal(VOCABULARY, HIDDEN)}
    for layer in range(1, LAYERS + 1):
        for name, rows, columns in (("qkv", 3 * HIDDEN, HIDDEN),
                                    ("proj", HIDDEN, HIDDEN),
                                    ("fc1", FFN, HIDDEN),
                                    ("fc2", HIDDEN, FFN)):
            parameters["%s%d" % (name, layer)] = normal(rows, columns)
    return parameters


class Replica:
    """One rank's copy of the model: parameters in fp32, arithmetic in bf16."""

    # What is saved of which linear.
    SAVED = {"qkv": (), "proj": (), "fc1": ("weight", "grad"),
             "fc2": ("input",)}

    def __init__(self, directory, quant_type, rank):
        self.saver = Saver(directory, quant_type, rank)
        self.quantise = QUANTISERS[quant_type]
        self.parameters = {name: value.clone().requires_grad_()
                           for name, value in initial_parameters().items()}
        self.optimiser = torch.optim.Adam(self.parameters.values(),
                                          lr=LEARNING_RATE)

    def linear(self, x, name, layer):
        weight = self.parameters["%s%d" % (name, layer)].to(torch.bfloat16)
        site = (self.quantise, self.saver, layer,
                self.SAVED[name] if self.saver.enabled else ())
        return SavingLinear.apply(x, weight, site)

    def attention(self, x, layer):
        s, b, _ = x.shape
        width = HIDDEN // HEADS
        query, key, value = self.linear(x, "qkv", layer).view(
            s, b, 3, HEADS, width).unbind(2)
        scale = 1 / math.sqrt(width)
        pre = ("attention", layer, "forward", "pre", "FA")
        post = ("attention", layer, "forward", "post", "FA")
        extras = dict(batch_size=b, softmax_scale=scale,
                      attn_mask_type="AttnMaskType.causal")
        for name, tensor in (("query", query), ("key", key),
                             ("value", value)):
            self.saver.save(pre, name, tensor, **extras)
        scores = torch.einsum("sbhd,tbhd->bhst", query, key) * scale
        future = torch.ones(s, s, dtype=torch.bool).triu(1)
        weights = scores.float().masked_fill(future, -math.inf).softmax(-1)
        weights = weights.to(torch.bfloat16)
        self.saver.save(post, "attention_weights", weights, **extras)
        output = torch.einsum("bhst,tbhd->sbhd", weights, value)
        output = output.reshape(s, b, HIDDEN)
        self.saver.save(post, "output", output, **extras)
        return self.linear(output, "proj", layer)

    def loss(self, tokens):
        """tokens [SEQUENCE + 1, b]: predicts each token from those before."""
        p = self.parameters
        x = F.embedding(tokens[:-1], p["embedding"]) + p["position"][:, None]
        x = x.to(torch.bfloat16)
        for layer in range(1, LAYERS + 1):
            x = x + self.attention(F.layer_norm(x, (HIDDEN,)), layer)
            y = self.linear(F.layer_norm(x, (HIDDEN,)), "fc1", layer)
            x = x + self.linear(F.gelu(y), "fc2", layer)
        logits = F.layer_norm(x, (HIDDEN,)).float() @ p["head"].t()
        return F.cross_entropy(logits.flatten(0, 1), tokens[1:].flatten())

    def lose_scale(self):
        """The fault: one row of a weight comes back without its scale."""
        with torch.no_grad():
            weight = self.parameters["fc1%d" % FAULT["layer"]]
            weight[FAULT["row"]] *= FAULT["factor"]


# --- the training -------------------------------------------------------------

def batch(rank, iteration, sample, size):
    """Sequences that count modulo the vocabulary in steps of 1 to 3."""
    generator = torch.Generator().manual_seed(
        1000 * iteration + 10 * rank + sample)
    start = torch.randint(VOCABULARY, (1, size), generator=generator)
    step = torch.randint(1, 4, (1, size), generator=generator)
    return (start + step * torch.arange(SEQUENCE + 1)[:, None]) % VOCABULARY


def accumulate(replica, plan, rank, iteration):
    """Gradients of all samples of one step; returns the mean loss."""
    replica.optimiser.zero_grad()
    saver, total = replica.saver, 0.0
    for sample in plan["samples"]:
        saver.iteration, saver.sample = iteration, sample
        saver.enabled = rank in plan["ranks"] \
            and iteration in plan["iterations"]
        loss = replica.loss(batch(rank, iteration, sample or 0,
                                  BATCHES[sample or 0]))
        loss.backward()
        total += loss.item() / len(plan["samples"])
    return total


def all_reduce(replicas):
    """Averages the gradients; returns their norm."""
    squares = 0.0
    for name in replicas[0].parameters:
        gradients = [r.parameters[name].grad for r in replicas]
        mean = torch.stack(gradients).mean(0)
        squares += mean.double().pow(2).sum().item()
        for gradient in gradients:
            gradient.copy_(mean)
    return math.sqrt(squares) if squares >= 0 else math.nan


def train(directory, quant_type):
    plan = PLANS[quant_type]
    replicas = [Replica(directory, quant_type, rank) for rank in range(RANKS)]
    log = []
    for iteration in range(ITERATIONS):
        if iteration == FAULT["iteration"]:
            replicas[FAULT["rank"]].lose_scale()
        losses = [accumulate(replica, plan, rank, iteration)
                  for rank, replica in enumerate(replicas)]
        norm = all_reduce(replicas)
        skipped = not math.isfinite(norm)
        if not skipped:
            for replica in replicas:
                for parameter in replica.parameters.values():
                    parameter.grad *= min(1.0, CLIP / (norm + 1e-6))
                replica.optimiser.step()
        log.append((iteration, *losses, norm, skipped))
    return log


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    for quant_type in PLANS:
        for iteration, *losses, norm, skipped in train(sys.argv[1],
                                                       quant_type):
            print("%-6s iteration %d  loss %s  gradient norm %.4g%s" % (
                quant_type, iteration,
                " ".join("%.4f" % loss for loss in losses), norm,
                "  step skipped" if skipped else ""))


if __name__ == "__main__":
    main()
