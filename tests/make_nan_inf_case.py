#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes testdata/case_nan_inf: a small fp16 training run in which an activation
grows, overflows to Inf, and becomes NaN downstream. Needs torch (Debian 12's
python3-torch is enough):

    python3 tests/make_nan_inf_case.py testdata/case_nan_inf

Three residual layers learn to reproduce their input. A product is accumulated in
fp32 and stored in fp16, as tensor cores do it. From iteration FAULT on, a
schedule multiplies the output gate of layer 2 where it should set it. Prints
what each iteration saved.
"""
import os
import sys

import torch
import torch.nn.functional as F

HIDDEN, BATCH, LAYERS, ITERATIONS = 16, 8, 3, 14
FAULT = dict(layer=2, iteration=9, factor=16.0)
SAVED = {1: ("output",), 2: ("input", "weight", "output"),
         3: ("input", "output")}


def product(x, weight):
    return (x.float() @ weight.half().float().t()).half()


def save(directory, counter, iteration, layer, name, tensor):
    phase = "post" if name == "output" else "pre"
    labels = dict(layer_type="linear", operation="forward", quant_type="fp16",
                  tensor_name=name, layer_idx=layer, phase=phase,
                  component="linear", rank=0, iteration=iteration)
    path = "20260201_%06d_%04d_iter%03d_linear_L%d_forward_%s_linear_fp16_" \
        "rank00_group000_%s.pt" % (100000 + iteration, counter, iteration,
                                   layer, phase, name)
    torch.save(dict(tensor=tensor.detach().half().clone(), metadata=labels),
               os.path.join(directory, path),
               _use_new_zipfile_serialization=False)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    torch.manual_seed(20260201)
    os.makedirs(sys.argv[1], exist_ok=True)
    weights = [torch.nn.Parameter(torch.randn(HIDDEN, HIDDEN) / HIDDEN ** 0.5)
               for _ in range(LAYERS)]
    gates = [1.0] * LAYERS
    optimiser = torch.optim.Adam(weights, lr=0.003)
    counter = 0
    for iteration in range(ITERATIONS):
        if iteration >= FAULT["iteration"]:
            gates[FAULT["layer"] - 1] *= FAULT["factor"]
        batch = torch.randn(BATCH, HIDDEN)
        x, amax = batch.half(), []
        for layer, weight in enumerate(weights, 1):
            normed = F.layer_norm(x.float(), (HIDDEN,)).half()
            output = (product(normed, weight).float()
                      * gates[layer - 1]).half()
            x = x + output
            for name, tensor in (("input", normed), ("weight", weight),
                                 ("output", output)):
                if name in SAVED[layer]:
                    counter += 1
                    save(sys.argv[1], counter, iteration, layer, name, tensor)
            amax.append(output.abs().max().item())
        loss = F.mse_loss(F.layer_norm(x.float(), (HIDDEN,)), batch)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        print("iteration %2d  loss %.4f  amax of outputs %s" % (
            iteration, loss.item(), " ".join("%g" % a for a in amax)))


if __name__ == "__main__":
    main()
