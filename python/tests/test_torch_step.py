"""Updates made by the optimizer itself: to the last bit its own, and nothing moved by making them."""
import copy

import backcut
import pytest

torch = pytest.importorskip("torch")
from backcut._step import steps  # noqa: E402

OPTIMIZERS = {
    "SGD": {"lr": 0.1}, "SGD momentum": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    "Adam": {"lr": 0.01}, "Adam amsgrad": {"lr": 0.01, "amsgrad": True}, "AdamW": {"lr": 0.01}, "NAdam": {},
    "RAdam": {}, "Adamax": {}, "RMSprop": {"lr": 0.01, "momentum": 0.5, "centered": True}, "Rprop": {},
    "Adagrad": {"lr": 0.1}, "Adadelta": {}, "ASGD": {}, "Adafactor": {},
}


def net(dtype=torch.float32):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 2)).to(dtype)


def loss(module, arm=0):
    x = torch.sin(torch.arange(40.0)).reshape(8, 5).to(next(module.parameters()))
    return ((module(x) - arm) ** 2).mean()


def slopes(module, arm):
    return dict(zip(dict(module.named_parameters()), torch.autograd.grad(loss(module, arm), list(module.parameters()))))


def trained(kind, settings, dtype=torch.float32, updates=3):
    module = net(dtype)
    groups = [{"params": [p for p in module.parameters() if p.dim() > 1]},
              {"params": [p for p in module.parameters() if p.dim() < 2], "weight_decay": 0.2}]
    optimizer = getattr(torch.optim, kind.split()[0])(groups, **settings)
    for _ in range(updates):
        optimizer.zero_grad()
        loss(module).backward()
        optimizer.step()
    return module, optimizer


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("updates", [0, 3])
def test_an_update_is_the_optimizers_own_to_the_last_bit(kind, updates):
    module, optimizer = trained(kind, OPTIMIZERS[kind], updates=updates)
    state = copy.deepcopy(optimizer.state_dict())
    kept = [p.detach().clone() for p in module.parameters()]
    pending = loss(module)
    made = steps(dict(module.named_parameters()), optimizer, {arm: slopes(module, arm) for arm in (0, 1)}, clip=0.05)
    assert all(torch.equal(p, q) for p, q in zip(module.parameters(), kept))
    assert torch.utils._pytree.tree_all(lambda x: x, torch.utils._pytree.tree_map(
        lambda a, b: torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b, state, optimizer.state_dict()))
    pending.backward()  # the graph of before is as good as it was
    for arm in (0, 1):
        twin, other = trained(kind, OPTIMIZERS[kind], updates=updates)
        for p, g in zip(twin.parameters(), slopes(twin, arm).values()):
            p.grad = g
        torch.nn.utils.clip_grad_norm_(twin.parameters(), 0.05)
        other.step()
        for name, p in twin.named_parameters():
            assert torch.equal(p.detach() - dict(module.named_parameters())[name].detach(), made[arm].update[name])
            assert torch.equal(p.grad, made[arm].clipped[name])


def test_parameters_that_no_gradient_reaches_are_passed_over():
    module, optimizer = trained("AdamW", {"lr": 0.01})
    grads = slopes(module, 1)
    made = steps(dict(module.named_parameters()), optimizer, {"a": grads | {"0.weight": None}})["a"]
    assert made.clipped["0.weight"] is None and not made.update["0.weight"].any() and made.update["2.weight"].any()


def test_what_a_step_is_made_of_is_the_users():
    """Two optimizers, a clip of one's own, halves, a look at the loss where the step has led."""
    module = net(torch.bfloat16)
    ends = list(module.parameters())
    pair = [torch.optim.SGD(ends[:2], lr=0.5), torch.optim.Adam(ends[2:], lr=0.1)]
    own = lambda: torch.nn.utils.clip_grad_value_(module.parameters(), 0.01)
    made = steps(dict(module.named_parameters()), pair, {"a": slopes(module, 1)}, own, lambda: loss(module, 1).item())
    assert max(g.abs().max() for g in made["a"].clipped.values()) <= 0.01
    assert made["a"].after != loss(module, 1).item()
    assert {x.dtype for x in made["a"].update.values()} == {torch.float32}
    assert all(not optimizer.state for optimizer in pair)


def test_what_can_not_be_made_is_refused():
    module = net()
    with pytest.raises(backcut.Error, match="LBFGS"):
        steps(dict(module.named_parameters()), torch.optim.LBFGS(module.parameters()), {})
    with pytest.raises(backcut.Error, match=r"also changes a tensor of shape \(7, 5\)"):
        steps({"2.weight": module[2].weight}, torch.optim.SGD(module.parameters(), lr=1.0), {})
