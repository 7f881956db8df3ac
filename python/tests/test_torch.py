"""PyTorch: optimizers held to PyTorch's own steps, and how far gradients go."""

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
