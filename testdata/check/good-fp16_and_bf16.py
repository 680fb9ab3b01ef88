# SPDX-License-Identifier: MIT
from transformers import TrainingArguments

arguments = TrainingArguments("out", fp16=False, bf16=True)
settings = {
    "train_batch_size": 8,
    "fp16": {"enabled": False},
    "bf16": {"enabled": True},
}
