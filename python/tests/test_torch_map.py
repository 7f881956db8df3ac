"""What every edge carries, held to closing it."""
import backcut
import numpy as np
import pytest

torch = pytest.importorskip("torch")
from backcut._step import steps  # noqa: E402
from backcut._torch_map import Gates  # noqa: E402
from backcut.torch import Tape  # noqa: E402
from torch_programs import Blocks, Policy, rollout  # noqa: E402

STEPS = 6


@pytest.fixture(autouse=True)
def double():
    threads = torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    yield
    torch.set_default_dtype(torch.float32)
    torch.set_num_threads(threads)


def flat(grads):
    return torch.cat([g.flatten() for g in grads.values() if g is not None])


def trained(kind, make=lambda params: torch.optim.AdamW(params, lr=0.01)):
    policy = Policy(kind)
    optimizer = make(policy.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        rollout(policy, Tape(), STEPS).backward()
        optimizer.step()
    return policy, optimizer


@pytest.mark.parametrize("kind", ["gru", "lstm", "attention", "parallel"])
def test_closing_any_single_edge_takes_what_the_map_says(kind):
    tape = Tape()
    if kind == "parallel":
        model = Blocks()
        loss = model(tape.attention, torch.randn(2, STEPS, 3))
    else:
        model = Policy(kind)
        loss = rollout(model, tape, STEPS)
    found, whole = tape.map(loss, model), flat(tape.gradients(loss, model, ["FF"])["FF"])
    every = found.strongest(10**6)
    counts = {"gru": 3 * 5, "lstm": 4 * 5, "attention": 2 * 5 + 2 * 15, "parallel": 4 * 15}
    assert len(every) == counts[kind]
    taken = lambda edges: float((whole - flat(tape.without(loss, model, edges))) @ whole / (whole @ whole))
    for name, t, j, share in every:
        assert taken([(name, t, j)]) == pytest.approx(share, abs=1e-13)
    # Together they take something else, and the map says so.
    edges = [edge[:3] for edge in every]
    assert abs(taken(edges) - sum(edge[3] for edge in every)) > 1e-5 and "do not add up" in repr(found)


@pytest.mark.parametrize("make", [
    lambda params: torch.optim.AdamW(params, lr=0.01), lambda params: torch.optim.SGD(params, lr=0.1, momentum=0.9),
    lambda params: torch.optim.RMSprop(params, lr=0.01)])
def test_through_clip_and_optimizer_it_is_the_slope_of_the_held_out_loss(make):
    policy, optimizer = trained("gru", make)
    tape, params = Tape(), dict(policy.named_parameters())
    loss = rollout(policy, tape, STEPS)
    held = lambda: rollout(policy, Tape(), STEPS + 2)
    found = tape.map(loss, policy, optimizer, 0.1, held)
    look = lambda grads: steps(params, optimizer, {"a": grads}, 0.1, lambda: float(held().detach()))["a"].after
    for name, t, j, _ in found.strongest(2):
        after = []
        for factor in (1 + 1e-4, 1 - 1e-4):
            gates = Gates(tape.record, loss.device)
            gates.of[name][j] = factor
            after.append(look(tape._one(loss, params, gates)))
        assert found.held[name][t, j] == pytest.approx(-(after[0] - after[1]) / 2e-4, rel=1e-5)
    assert found.drop == pytest.approx(float(held().detach()) - look(tape.gradients(loss, policy, ["FF"])["FF"]), rel=1e-9)
    assert "held-out loss" in repr(found)
    loss.backward()  # the graph stays


def test_a_map_is_drawn():
    policy, optimizer = trained("attention")
    tape = Tape()
    loss = rollout(policy, tape, STEPS)
    found = tape.map(loss, policy, optimizer, held=lambda: rollout(policy, Tape(), STEPS))
    table = found.gradient["block.keys"]
    assert table.shape == (STEPS, STEPS) and (np.isfinite(table) == np.tri(STEPS, k=-1, dtype=bool)).all()
    assert found.by_age("block.keys")[-1] == table[STEPS - 1, 0]
    drawn = found._repr_svg_()
    assert drawn.startswith("<svg") and "read by step t" in drawn and "do not add up" in drawn and "helps the held" in drawn


def test_what_has_no_map_is_refused():
    policy, _ = trained("gru")
    tape = Tape()
    loss = rollout(policy, tape, STEPS)
    held = lambda: rollout(policy, Tape(), STEPS)
    for call, words in [
        (lambda: tape.map(loss, policy, held=held), "needs that loss and the optimizer"),
        (lambda: tape.map(loss, policy, torch.optim.Adafactor(policy.parameters()), held=held), "can be differentiated"),
        (lambda: tape.map(loss, policy, torch.optim.SGD(policy.parameters()), lambda: None, held), "of one's own"),
        (lambda: tape.without(loss, policy, [("h", 3, 1)]), "no edge `h` from step 1 to step 3"),
        (lambda: Tape().map(loss, policy), "nothing leads from step to step"),
    ]:
        with pytest.raises(backcut.Error, match=words):
            call()
