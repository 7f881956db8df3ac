"""What the guides show runs, in the order in which they show it."""
import re
import types

import backcut
import numpy as np
import pytest
from conftest import ROOT

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

STEPS = 32


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(3, 4), nn.Linear(4, 1)

    def each(self, x, detach=16):
        h, found = torch.zeros(2, 4), []
        for t in range(len(x)):
            h = self.cell(x[t], h)
            found.append((self.head(h)**2).mean())
            h = h.detach() if detach and t % detach == detach - 1 else h
        return found


def losses(model, *rest):
    if isinstance(model, Net):
        return model.each(rest[0])
    import jax.numpy as jnp  # of the guide's example in JAX
    h, found = jnp.zeros(2), []
    for t in range(4):
        h = rest[1]("h", t, jnp.tanh(model + h))
        found.append((h**2).sum())
    return jnp.stack(found)


@pytest.fixture
def at_hand():
    torch.manual_seed(0)
    net, x = Net(), torch.randn(STEPS, 2, 3)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    loss = lambda net, detach: sum(net.each(x, detach))

    def train(detach=0):
        optimizer.zero_grad()
        loss(net, detach).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

    def run(state, first, last):
        found = 0.0
        for t in range(first, last):
            state = net.cell(x[t], state)
            found = found + (net.head(state)**2).mean()
        return found, state

    critic = nn.Linear(3, 1)
    rng = np.random.default_rng(0)
    frame = {"seed": list(range(1, 9)), "cut@0.2": (1 + 0.1 * rng.normal(size=8)).tolist(), "full@0.2": [0.5] * 8}
    return {"backcut": backcut, "found": backcut.compare({"w": np.ones(2)}, {"full": {"w": np.ones(2)}}), "net": net, "x": x, "y": None, "losses": losses, "loss": loss, "optimizer": optimizer,
            "trainer": types.SimpleNamespace(optimizer=optimizer, policy=net, train=train),
            "arms": {"full": lambda: loss(net, 0), "cut": lambda: loss(net, 8)}, "updates": 201, "train_step": train,
            "writer": lambda numbers, step: None, "critic": critic, "target": critic(x[0]).detach(), "h": torch.zeros(2, 4),
            "t": 7, "n": torch.randn(2, 4), "w_k": nn.Linear(4, 4), "split": lambda k: k, "frame": frame,
            "agent": net, "run": run, "stored": {t: torch.zeros(2, 4) for t in range(0, 24, 8)}}


@pytest.mark.parametrize("guide", ["python", "rechunking"])
def test_examples_of_a_guide_run(guide, at_hand):
    text = (ROOT / "docs" / f"{guide}.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) > (0 if guide == "rechunking" else 5)
    for block in blocks:
        if "jax" in block:
            jax = pytest.importorskip("jax")
            optax = pytest.importorskip("optax")
            tx, params = optax.adam(1e-2), jax.numpy.ones(2)
            own = {**at_hand, "params": params, "batch": None, "tx": tx, "state": tx.init(params),
                   "loss": lambda params, arm, batch: (params**2).sum()}
            exec(compile(block, guide, "exec"), own)
            continue
        own = dict(at_hand)
        exec(compile(block.replace("found.table.to_pandas()", "found.table").replace("report.rows.to_pandas()", ""),
                     f"{guide}: {block.splitlines()[0]}", "exec"), own)
        if "r.result.check" in block:
            assert own["r"].result.words() == "SEG-16 at `h`"
        if "rechunked" in block:
            assert set(own["found"].shares()) == {"the cut", "another forward", "both"}
