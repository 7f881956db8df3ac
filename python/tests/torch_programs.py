"""Policies in a differentiable loop that declare their edges, and what literal detaches make of the same."""
import torch
from backcut._tape import mapped
from torch import nn

ROWS, WIDTH, HEADS = 3, 6, 2
CUTS = ["FF", "FD", "F_SG", "SEG-4", "F_A0.5", "KF", "K_SG", "KD", "K_SEG-3", "RSEG-3", "RT-0.5", "URT-0.5",
        "FF:place=A0.5", "K_SG:speed=F"]
DEEP = ["K2F", "K4F", "K4_SEG-8", "K3D:speed=A0.5", "K3F:place=F"]
DRAW = (7, 3)


class Policy(nn.Module):
    """`kind`: gru, lstm, attention (a list of entries) or segment (a cache that is read as it is stored)."""

    def __init__(self, kind, width=WIDTH):
        super().__init__()
        torch.manual_seed(1)
        self.kind, self.width = kind, width
        line = lambda n, m: nn.Linear(n, m, bias=False)
        self.embed, self.head = nn.Linear(3, width), line(width, 1)
        if kind in ("gru", "lstm"):
            self.x, self.h = nn.Linear(width, 4 * width), line(width, 4 * width)
        else:
            self.q, self.k, self.v = line(width, width), line(width, width), line(width, width)

    def start(self, rows):
        zeros = torch.zeros(rows, self.width, dtype=self.embed.weight.dtype)
        return {"h": zeros, "c": zeros} if self.kind == "lstm" else zeros

    def forward(self, tape, kept, x, t):
        n = torch.tanh(self.embed(x))
        if self.kind == "gru":
            gates, of = self.x(n).chunk(4, -1), tape.projected("h", self.h(kept), t - 1).chunk(4, -1)
            keep, reset = torch.sigmoid(gates[0] + of[0]), torch.sigmoid(gates[1] + of[1])
            kept = keep * kept + (1 - keep) * torch.tanh(gates[2] + reset * of[2])
            return kept, kept
        if self.kind == "lstm":
            of = tape.projected("hc.h", self.h(kept["h"]), t - 1)
            i, f, g, o = (self.x(n) + of).chunk(4, -1)
            # Nothing linear reads `c`, so its product with the gate stands for what FD makes constant.
            c = torch.sigmoid(f) * tape.projected("hc.c", kept["c"] * 1.0, t - 1) + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            return {"h": h, "c": c}, h
        tape.store("block.keys", n, self.k, t)
        tape.store("block.values", n, self.v, t)
        k, v = tape.read("block.keys", t), tape.read("block.values", t)
        scores = torch.einsum("bd,bjd->bj", self.q(n), k) / self.width**0.5
        return kept, n + torch.einsum("bj,bjd->bd", torch.softmax(scores, -1), v)


def rollout(policy, tape, steps, rows=ROWS):
    """A point mass that the policy steers against a wind: the loss of all steps."""
    made = torch.Generator().manual_seed(5)
    dtype = policy.embed.weight.dtype
    place, wind = torch.randn(2, rows, generator=made, dtype=torch.float64).to(dtype)
    body, kept, total = {"place": place, "speed": torch.zeros_like(place)}, policy.start(rows), 0.0
    for t in tape.steps(steps):
        x = torch.stack([body["place"], body["speed"], torch.sin(t + wind)], -1)
        kept, out = policy(tape, kept, x, t)
        push = policy.head(out)[:, 0]
        speed = 0.8 * body["speed"] + 0.3 * (push + wind)
        body = {"place": body["place"] + 0.3 * speed, "speed": speed}
        total = total + tape.loss((body["place"]**2 + 0.01 * push**2).mean())
        if policy.kind in ("gru", "lstm"):
            kept = tape.carry("h" if policy.kind == "gru" else "hc", kept, t)
        body = tape.state("body", body, t)
    return total / steps


class Blocks(nn.Module):
    """Two blocks of causal attention over all steps at once."""

    def __init__(self, width=WIDTH, heads=HEADS):
        super().__init__()
        torch.manual_seed(2)
        self.heads, self.embed = heads, nn.Linear(3, width)
        self.blocks = nn.ModuleList(nn.ModuleDict({name: nn.Linear(width, width) for name in "qkvo"}) for _ in range(2))

    def forward(self, attention, x):
        n = torch.tanh(self.embed(x))
        split = lambda y: y.reshape(*y.shape[:2], self.heads, -1).transpose(1, 2)
        for i, of in enumerate(self.blocks):
            seen = attention(f"b{i}", split(of["q"](n)), n, lambda n, of=of: (split(of["k"](n)), split(of["v"](n))))
            n = n + torch.tanh(of["o"](seen.transpose(1, 2).reshape(n.shape)))
        return (n**2).mean()


class Literal:
    """What a tape offers, with a detach wherever the engine's rule says that credit ends. A path that may pass k state
    edges has k copies of the rollout, each of which reads its states of the one before (`earlier`)."""

    def __init__(self, credit, earlier=None):
        self.credit, self.earlier, self.handed, self.entries = credit, earlier, {}, {}

    def steps(self, count):
        return range(count)

    def loss(self, value):
        return value

    def mixed(self, x, share):
        share = float(share)
        return x if share == 1 else x.detach() if share == 0 else x.detach() + share * (x - x.detach())

    def carry(self, name, h, t):
        return mapped(h, name, lambda x, leaf: self.mixed(x, self.credit.stored[leaf][t]))

    def projected(self, name, x, t):
        return x if t < 0 else self.mixed(x, self.credit.weights[name][t])

    def state(self, name, s, t):
        def leaf(x, leaf):
            self.handed[leaf, t] = x
            factor, counts = self.credit.states[leaf]
            if counts and self.credit.most is not None:
                return self.mixed(self.earlier.handed[leaf, t], factor) if self.earlier else x.detach()
            return self.mixed(x, factor)
        return mapped(s, name, leaf)

    def store(self, name, n, project, t):
        self.entries.setdefault(name, []).append((project(n), project(n.detach())))

    def pair(self, near, far, stored, weights):
        return near.detach() + stored * (near - near.detach()) + (weights - stored) * (far - far.detach())

    def read(self, name, t):
        return torch.stack([self.pair(near, far, float(self.credit.stored[name][t, j]), float(self.credit.weights[name][t, j]))
                            for j, (near, far) in enumerate(self.entries[name])], 1)

    def attention(self, name, q, n, project):
        steps, sides = q.shape[-2], [project(n), project(n.detach())]

        def pairs(side, i):
            of = lambda which: torch.from_numpy(which[f"{name}.{side}"][:steps, :steps]).to(q)[..., None]
            near, far = (sides[which][i][..., None, :, :] for which in (0, 1))
            return self.pair(near, far, of(self.credit.stored), of(self.credit.weights))
        scores = torch.einsum("bhtd,bhtsd->bhts", q, pairs("keys", 0)) / q.shape[-1]**0.5
        seen = scores.masked_fill(~torch.ones(steps, steps, dtype=torch.bool).tril(), -torch.inf)
        return torch.einsum("bhts,bhtsd->bhtd", torch.softmax(seen, -1), pairs("values", 1))


def literal(tape, cut, run, draw=DRAW):
    """The loss of a rollout with detaches in it."""
    credit, earlier = tape.record.edges.credit(cut, draw), None
    for _ in range(credit.most or 0):
        run(earlier := Literal(credit, earlier))
    return run(Literal(credit, earlier))


def off(found, wanted):
    """The largest difference of any component, relative to the wanted gradient's length."""
    flat = lambda tensors: torch.cat([torch.zeros(0), *(x.flatten() for x in tensors if x is not None)])
    zeros = lambda tensors, like: [torch.zeros_like(b) if a is None else a for a, b in zip(tensors, like)]
    wanted = zeros(wanted, found)
    return float((flat(found) - flat(wanted)).abs().max() / flat(wanted).norm())
