"""Chunks that begin at stored states: what is the cut, and what is another forward."""
import backcut
import numpy as np
import pytest

torch = pytest.importorskip("torch")
from backcut.torch import rechunked  # noqa: E402
from torch import nn  # noqa: E402

STEPS, LENGTH = 12, 4


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.cell, self.head = nn.LSTMCell(3, 4), nn.Linear(4, 1)
        self.x = torch.randn(STEPS, 2, 3)

    def run(self, state, first, last):
        total = 0.0
        for t in range(first, last):
            state = self.cell(self.x[t], state)
            total = total + ((self.head(state[0]) - 1)**2).mean()
        return total, state

    def stored(self):
        state, found = (torch.zeros(2, 4), torch.zeros(2, 4)), {}
        with torch.no_grad():
            for t in range(STEPS):
                if t % LENGTH == 0:
                    found[t] = state
                state = self.run(state, t, t + 1)[1]
        return found


def grown_stale(agent, updates):
    stored, optimizer = agent.stored(), torch.optim.Adam(agent.parameters(), 0.02)
    for _ in range(updates):
        optimizer.zero_grad()
        agent.run(stored[0], 0, STEPS)[0].backward()
        optimizer.step()
    return stored, optimizer


def gradient(agent, loss):
    found = torch.autograd.grad(loss, list(agent.parameters()))
    return np.concatenate([g.double().numpy().ravel() for g in found])


def test_fresh_states_leave_the_cut_alone():
    agent = Agent()
    found = rechunked(agent, agent.run, agent.stored(), STEPS)
    shares = found.shares()
    assert found.state == 0 and shares["another forward"] < 1e-6 and shares["the cut"] > 0.01
    assert shares["both"] == pytest.approx(shares["the cut"], rel=1e-4)


def test_stale_states_are_told_from_the_cut():
    agent = Agent()
    stored, optimizer = grown_stale(agent, 3)
    found = rechunked(agent, agent.run, stored, STEPS, optimizer, clip=0.5, burn_in=2)
    whole = gradient(agent, agent.run(stored[0], 0, STEPS)[0])
    state, total = stored[0], 0.0
    for first in range(0, STEPS, LENGTH):
        loss, state = agent.run(tuple(x.detach() for x in state), first, first + LENGTH)
        total = total + loss
    cut = gradient(agent, total)
    chunks = gradient(agent, sum(agent.run(stored[t], t, t + LENGTH)[0] for t in stored))
    length, shares = np.linalg.norm(whole), found.shares()
    assert shares["the cut"] == pytest.approx(np.linalg.norm(cut - whole) / length, rel=1e-4)
    assert shares["another forward"] == pytest.approx(np.linalg.norm(chunks - cut) / length, rel=1e-4)
    assert shares["both"] == pytest.approx(np.linalg.norm(chunks - whole) / length, rel=1e-4)
    assert 0 < found.state < 1 and "of the whole gradient" in repr(found)
    # A burn-in makes states that are nearer to the fresh ones.
    nearer = found.of_cut.value("gradient.difference", "burn-in")
    assert 0 < nearer < found.of_cut.value("gradient.difference", "chunks")
    assert found.of_whole.value("applied.cosine", "chunks") < 1


def test_stored_states_that_do_not_fit_are_errors():
    agent = Agent()
    for stored in ({}, {4: None}, {0: None, 12: None}):
        with pytest.raises(backcut.Error, match="stored states of steps"):
            rechunked(agent, agent.run, stored, STEPS)
