"""A GRU that repeats what it saw four steps ago, trained with `detach()` every k steps.

    python3 train.py                 # by hand: trains one arm and prints the result
    backcut study run study.toml     # as a study: started once per unit

Lines marked `# +` were added for backcut; the rest is the script as it was.
"""
import torch
from torch import nn

import backcut                                                                        # +
from backcut.torch import measure, reach                                              # +

STEPS, LAG, ROWS, WIDTH = 24, 4, 32, 24


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(1, WIDTH), nn.Linear(WIDTH, 1)


def batch(generator):
    x = torch.randn(STEPS, ROWS, 1, generator=generator)
    return x, torch.cat([torch.zeros(LAG, ROWS, 1), x[:-LAG]])


def losses(net, x, y, detach):
    """The loss of every step; `detach`: after so many steps the hidden state is a constant (0: never)."""
    h, found = torch.zeros(ROWS, WIDTH), []
    for t in range(STEPS):
        h = net.cell(x[t], h)
        found.append(nn.functional.mse_loss(net.head(h), y[t]))
        if detach and (t + 1) % detach == 0:
            h = h.detach()
    return found


def mean(found):
    return torch.stack(found).mean()


def main():
    unit = backcut.unit(seed=1, updates=150, settings={"detach": 8})                  # +
    detach = unit.settings["detach"]                                                  # + was: an option
    torch.set_num_threads(1)
    torch.manual_seed(unit.seed)
    net, draws = Net(), torch.Generator().manual_seed(unit.seed)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)

    with reach() as r:                                                                # +
        r.watch(net.cell, "h")                                                        # +
        for loss in losses(net, *batch(draws), detach):                               # +
            r.loss(loss)                                                              # +
    r.result.check(f"SEG-{detach}" if detach else "FF")                               # +

    for update in range(unit.updates):
        optimizer.zero_grad()
        mean(losses(net, *batch(draws), detach)).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        unit.progress(update + 1)                                                     # +

    x, y = batch(draws)                                                               # +
    arms = {f"every {k}" if k else "full": (lambda k=k: mean(losses(net, x, y, k))) for k in (0, 8, 4)}  # +
    found = measure(net, arms, optimizer, clip=1.0)                                   # +
    unit.findings(found, ["gradient.cosine", "gradient.ratio", "applied.cosine"])     # +

    held_out = torch.Generator().manual_seed(10**6 + unit.seed)
    with torch.no_grad():
        error = mean([mean(losses(net, *batch(held_out), 0)) for _ in range(8)])
    unit.finish(float(error))                                                         # + was: a print


if __name__ == "__main__":
    main()
