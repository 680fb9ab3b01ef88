# SPDX-License-Identifier: MIT
import torch


class Trainer:
    def __init__(self, model):
        self.optimizer = torch.optim.AdamW(model.parameters(), eps=1e-6)
        self.scaler = torch.amp.GradScaler("cuda")

    def save(self, path):
        torch.save({"optimizer": self.optimizer.state_dict(),
                    "scaler": self.scaler.state_dict()}, path)
