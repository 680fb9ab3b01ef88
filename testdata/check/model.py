"""A classifier trained in mixed precision; two lines of it are mistakes."""
import torch
from torch import nn
from torch.amp import GradScaler, autocast
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, width=64, depth=4):
        super().__init__()
        self.stem = nn.Linear(16, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def train(model, loader, device="cuda"):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = GradScaler(device)
    for inputs, labels in loader:
        inputs = inputs.to(device)
        labels = labels.to(device)
        optimizer.zero_grad(set_to_none=True)
        with autocast(device):
            outputs = model(inputs)
            # The head was slow in fp32, so somebody cast it by hand: what
            # follows runs in 16 bits whatever autocast would have chosen.
            scores = outputs.squeeze(1)
            scores = scores.half()
            loss = loss_of(scores, labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


@torch.no_grad()
def evaluate(model, loader, device="cuda"):
    right = total = 0
    for inputs, labels in loader:
        outputs = model(inputs.to(device)).squeeze(1)
        right += ((outputs > 0).cpu() == (labels > 0.5)).sum().item()
        total += len(labels)
    return right / max(total, 1)


def loss_of(scores, labels):
    """The mean loss of one batch."""
    chances = torch.sigmoid(scores)
    return F.binary_cross_entropy(chances, labels)

if __name__ == "__main__":
    train(Model().cuda(), [])
