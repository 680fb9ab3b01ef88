# SPDX-License-Identifier: MIT
import torch

settings = torch.backends.cuda.matmul
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
