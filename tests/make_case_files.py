#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes testdata/case_nan_inf and testdata/case_ranks: two small training runs,
each with a fault that man/tprof-guide.7 explains. Needs torch (Debian 12's
python3-torch is enough):

    python3 tests/make_case_files.py testdata

Prints what each iteration saved. Same torch, same tensors; the bytes differ in
the storage keys, which are addresses.
"""
import os
import sys

import torch
import torch.nn.functional as F

BATCH = 8
counters = {}  # of saved tensors, by rank


def save(directory, tensor, quant_type, **labels):
    """As tensor_saver names and labels its files, counted per rank."""
    labels["phase"] = "post" if labels["tensor_name"] == "output" else "pre"
    labels.update(layer_type="linear", operation="forward",
                  component="linear", quant_type=quant_type)
    counters[labels["rank"]] = counters.get(labels["rank"], 0) + 1
    name = "20260201_%06d_%04d_iter%03d_linear_L%d_forward_%s_linear_%s_" \
        "rank%02d_group000_%s.pt" % (
            100000 + labels["iteration"], counters[labels["rank"]],
            labels["iteration"], labels["layer_idx"], labels["phase"],
            quant_type, labels["rank"], labels["tensor_name"])
    torch.save(dict(tensor=tensor.detach().clone(), metadata=labels),
               os.path.join(directory, name),
               _use_new_zipfile_serialization=False)


def begin(parent, name, width, layers):
    directory = os.path.join(parent, name)
    os.makedirs(directory, exist_ok=True)
    counters.clear()
    torch.manual_seed(20260201)
    return directory, [torch.randn(width, width) / width ** 0.5
                       for _ in range(layers)]


def nan_inf(parent):
    """Three residual layers learn to reproduce their input. A product is
    accumulated in fp32 and stored in fp16, as tensor cores do it. From
    iteration 9 on, a schedule multiplies the output gate of layer 2 where it
    should set it."""
    saved = {1: ("output",), 2: ("input", "weight", "output"),
             3: ("input", "output")}
    directory, weights = begin(parent, "case_nan_inf", 16, 3)
    weights = [torch.nn.Parameter(weight) for weight in weights]
    optimiser = torch.optim.Adam(weights, lr=0.003)
    gate = 1.0
    for iteration in range(14):
        gate *= 16.0 if iteration >= 9 else 1.0
        batch = torch.randn(BATCH, 16)
        x, amax = batch.half(), []
        for layer, weight in enumerate(weights, 1):
            normed = F.layer_norm(x.float(), (16,)).half()
            y = (normed.float() @ weight.half().float().t()).half()
            y = (y.float() * (gate if layer == 2 else 1.0)).half()
            x = x + y
            for name, tensor in (("input", normed),
                                 ("weight", weight.half()), ("output", y)):
                if name in saved[layer]:
                    save(directory, tensor, "fp16", iteration=iteration,
                         layer_idx=layer, tensor_name=name, rank=0)
            amax.append(y.abs().max().item())
        loss = F.mse_loss(F.layer_norm(x.float(), (16,)), batch)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        print("nan_inf iteration %2d  loss %.4f  amax of outputs %s" % (
            iteration, loss.item(), " ".join("%g" % a for a in amax)))


def ranks(parent):
    """Two data-parallel ranks. The weight of layer 1 lives in bf16, that of
    layer 2 in fp32; from iteration 10 on the gradients of layer 2 are no longer
    averaged, and in iteration 12 the learning rate falls to 1e-6, which is too
    little for bf16."""
    directory, weights = begin(parent, "case_ranks", 8, 2)
    models = [[torch.nn.Parameter(weights[0].bfloat16()),
               torch.nn.Parameter(weights[1].clone())] for _ in range(2)]
    for iteration in range(20):
        rate = 0.1 if iteration < 12 else 1e-6
        losses = []
        for rank, (first, second) in enumerate(models):
            for layer, weight in enumerate((first, second), 1):
                save(directory, weight, "bf16", iteration=iteration,
                     layer_idx=layer, tensor_name="weight", rank=rank)
            batch = torch.randn(BATCH, 8)
            y = F.gelu(batch @ first.float().t()) @ second.t()
            loss = F.mse_loss(y, batch)
            loss.backward()
            losses.append(loss.item())
        for layer in range(2):
            grads = [model[layer].grad.float() for model in models]
            if layer == 0 or iteration < 10:
                grads = [(grads[0] + grads[1]) / 2] * 2
            with torch.no_grad():
                for model, grad in zip(models, grads):
                    weight = model[layer]
                    weight.copy_(weight.float() - rate * grad)
                    weight.grad = None
        print("ranks iteration %2d  losses %.4f %.4f" % (iteration, *losses))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    nan_inf(sys.argv[1])
    ranks(sys.argv[1])


if __name__ == "__main__":
    main()
