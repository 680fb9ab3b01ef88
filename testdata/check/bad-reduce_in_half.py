# SPDX-License-Identifier: MIT
import torch
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.fsdp import MixedPrecision


def wrap(model):
    model.register_comm_hook(
        None, default_hooks.fp16_compress_hook)  # HERE
    return MixedPrecision(param_dtype=torch.bfloat16,
                          reduce_dtype=torch.bfloat16)  # HERE
