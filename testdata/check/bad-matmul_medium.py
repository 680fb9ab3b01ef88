# SPDX-License-Identifier: MIT
import torch

torch.set_float32_matmul_precision("medium")  # HERE
