"""PyTorch: optimizers held to PyTorch's own steps, and how far gradients go."""
import copy

import backcut
import numpy as np
import pytest

torch = pytest.importorskip("torch")
from backcut.torch import carry, gradients, measure, named, optimizer_state, reach  # noqa: E402

def module(seed=0):
    torch.manual_seed(seed)
    return torch.nn.ModuleDict({"cell": torch.nn.GRUCell(3, 4), "head": torch.nn.Linear(4, 2)}).double()


def losses(net, between, steps=12, state=None, note=lambda h: None):
    x = torch.sin(torch.arange(3.0 * steps).double()).reshape(steps, 1, 3)
    h, found = torch.zeros(1, 4).double() if state is None else state, []
    for t in range(steps):
        h = net["cell"](x[t], h)
        note(h)
        found.append((net["head"](h)**2).sum())
        h = between(h, t)
    return found, h


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.01),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.02),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.02),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("updates", [0, 3])
def test_the_applied_update_is_pytorchs(kind, updates):
    net = module()
    optimizer = OPTIMIZERS[kind](net.parameters())
    arms = {"full": lambda: sum(losses(net, lambda h, t: h)[0]),
            "cut": lambda: sum(losses(net, lambda h, t: carry("SEG-4", h, t))[0])}
    for _ in range(updates):
        optimizer.zero_grad()
        arms["full"]().backward()
        optimizer.step()
    found = measure(net, arms, optimizer, clip=0.5)
    norms = {}
    for arm in arms:
        twin, before = copy.deepcopy(net), named(net)
        other = OPTIMIZERS[kind](twin.parameters())
        # Newer PyTorch takes over the tensors themselves, and a step would write into them.
        other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        twin.zero_grad()
        between = (lambda h, t: h) if arm == "full" else (lambda h, t: carry("SEG-4", h, t))
        sum(losses(twin, between)[0]).backward()
        torch.nn.utils.clip_grad_norm_(twin.parameters(), 0.5)
        other.step()
        moved = np.concatenate([(after - before[n]).ravel() for n, after in named(twin).items()])
        norms[arm] = moved
        # clip_grad_norm_ adds 1e-6 to the norm it divides by.
        assert found.value("applied.norm", arm) == pytest.approx(np.linalg.norm(moved), rel=1e-5)
    apart = np.linalg.norm(norms["cut"] - norms["full"]) / np.linalg.norm(norms["full"])
    assert found.value("applied.difference", "cut") == pytest.approx(apart, rel=1e-4)


def test_measuring_leaves_gradients_alone():
    net = module()
    sum(losses(net, lambda h, t: h)[0]).backward()
    before = gradients(net)
    measure(net, {"full": lambda: sum(losses(net, lambda h, t: h.detach())[0])})
    assert all((before[name] == value).all() for name, value in gradients(net).items())


def test_optimizers_that_can_not_be_read_are_errors():
    net = module()
    for optimizer, words in [
        (torch.optim.RMSprop(net.parameters(), lr=1e-3), "RMSprop is not known"),
        (torch.optim.Adam(net.parameters(), amsgrad=True), "amsgrad"),
        (torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True), "nesterov"),
        (torch.optim.SGD([{"params": net["cell"].parameters()}, {"params": net["head"].parameters(), "lr": 0.5}],
                         lr=0.1), "differ in `lr`"),
    ]:
        with pytest.raises(backcut.Error, match=words):
            optimizer_state(optimizer, net)
    half = torch.optim.Adam(net["cell"].parameters())
    sum(losses(net, lambda h, t: h)[0]).backward()
    half.step()
    with pytest.raises(backcut.Error, match="none of `head.weight`"):
        optimizer_state(half, net)


@pytest.mark.parametrize("cut, words", [
    ("FF", "full"), ("F_SG", "own step only (F_SG)"), ("SEG-4", "SEG-4"), ("SEG-5", "SEG-5")])
def test_reach_names_cuts(cut, words):
    net = module()
    with reach() as r:
        r.watch(net["cell"], "h")
        for loss in losses(net, lambda h, t: carry(cut, h, t))[0]:
            r.loss(loss)
    assert r.result.words() == f"{words} at `h`"
    r.result.check(cut)
    assert r.result._repr_svg_().startswith("<svg")
    assert all(p.grad is None for p in net.parameters())


def test_a_detach_too_many_and_an_offset_are_seen():
    net = module()
    for stops, words in [((3, 7, 9), "no cut that has a name"), ((2, 6, 10), "SEG-4 with offset 3")]:
        with reach() as r:
            between = lambda h, t: h.detach() if t in stops else h
            for loss in losses(net, between, note=lambda h: r.state("h", h))[0]:
                r.loss(loss)
        assert words in r.result.words()
        with pytest.raises(backcut.Error, match="not cut as SEG-4 says"):
            r.result.check("SEG-4")


def test_a_flag_without_effect_is_seen():
    net = module()
    with reach() as r:
        r.watch(net["cell"], "h")
        for loss in losses(net, lambda h, t, truncate=4: h)[0]:
            r.loss(loss)
    with pytest.raises(backcut.Error, match="full"):
        r.result.check("SEG-4")


@pytest.mark.parametrize("kept", [False, True])
def test_a_state_that_is_kept_across_updates_is_seen(kept):
    net, state = module(), None
    with reach() as r:
        r.watch(net["cell"], "h")
        for update in range(2):
            if update:
                r.update()
            found, state = losses(net, lambda h, t: h, steps=5, state=state)
            for loss in found:
                r.loss(loss)
            sum(found).backward(retain_graph=True)
            state = state if kept else state.detach()
    want = "kept across updates (the loss of step 5 reaches step 0" if kept else "full at `h`"
    assert r.result.words().startswith(want)


def test_what_can_not_be_measured_is_an_error():
    net = module()
    with pytest.raises(backcut.Error, match="retain_graph"):
        with reach() as r:
            r.watch(net["cell"], "h")
            found = losses(net, lambda h, t: h)[0]
            for loss in found:
                r.loss(loss)
            sum(found).backward()
    with pytest.raises(backcut.Error, match="no loss"):
        with reach():
            pass
    with pytest.raises(backcut.Error, match="select"):
        with reach() as r:
            lstm = torch.nn.LSTMCell(3, 4)
            r.watch(lstm, "h", lambda output: None)
            lstm(torch.zeros(1, 3))
    with reach() as r:
        for h, loss in zip(torch.ones(3), torch.ones(3)):
            r.state("h", h)
            r.loss(loss)
    assert "constant when stored" in r.result.words()
