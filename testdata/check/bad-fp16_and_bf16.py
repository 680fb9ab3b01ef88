# SPDX-License-Identifier: MIT
from transformers import TrainingArguments

arguments = TrainingArguments("out", fp16=True, bf16=True)  # HERE
settings = {  # HERE
    "train_batch_size": 8,
    "fp16": {"enabled": True},
    "bf16": {"enabled": True},
}
