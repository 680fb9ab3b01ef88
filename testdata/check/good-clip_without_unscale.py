# SPDX-License-Identifier: MIT
from torch.nn.utils import clip_grad_norm_


class Trainer:
    def step(self, loss, optimizer):
        if self.use_amp:
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(optimizer)
        else:
            loss.backward()
        clip_grad_norm_(self.model.parameters(), 1.0)
        if self.use_amp:
            self.scaler.step(optimizer)
            self.scaler.update()
        else:
            optimizer.step()
