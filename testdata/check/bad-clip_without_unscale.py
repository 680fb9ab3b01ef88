# SPDX-License-Identifier: MIT
from torch.nn.utils import clip_grad_norm_


class Trainer:
    def step(self, loss, optimizer):
        if self.use_amp:
            self.scaler.scale(loss).backward()
            clip_grad_norm_(self.model.parameters(), 1.0)  # HERE
            self.scaler.step(optimizer)
            self.scaler.update()
        else:
            loss.backward()
            clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
