# SPDX-License-Identifier: MIT
import torch

torch.backends.cuda.matmul.allow_tf32 = True  # HERE
torch.backends.cudnn.allow_tf32 = True  # HERE
torch.set_float32_matmul_precision("high")  # HERE
