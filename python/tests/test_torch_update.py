"""Updates that are measured are those that PyTorch's optimizers make, and library steps are recorded as they are."""
import copy
import warnings

import backcut
import numpy as np
import pytest

torch = pytest.importorskip("torch")
from backcut.torch import arms, measure, named  # noqa: E402
from torch import nn  # noqa: E402

torch.set_num_threads(1)

SETTINGS = {"SGD": {"lr": 0.1, "momentum": 0.9}, "Adam": {"lr": 0.01}, "AdamW": {"lr": 0.01}, "RMSprop": {"lr": 0.01},
            "LBFGS": {"lr": 0.1, "max_iter": 3}, "SparseAdam": {"lr": 0.01}}
ALL = [name for name, value in vars(torch.optim).items()
       if isinstance(value, type) and issubclass(value, torch.optim.Optimizer) and value is not torch.optim.Optimizer]


class Net(nn.Module):
    """A GRU whose first weights are an embedding, so that gradients can be sparse; Muon takes matrices alone."""

    def __init__(self, kind="AdamW"):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(7, 3, sparse=kind == "SparseAdam")
        if kind != "SparseAdam":
            self.cell = nn.GRUCell(3, 4, bias=kind != "Muon")
            self.head = nn.Linear(4, 2, bias=kind != "Muon")

    def losses(self, detach=0, steps=6):
        x = self.embed(torch.arange(2 * steps) % 7).reshape(steps, 2, 3)
        if not hasattr(self, "cell"):
            return [(row**2 + detach * row).sum() for row in x]
        h, found = torch.zeros(2, 4, dtype=x.dtype), []
        for t in range(steps):
            h = self.cell(x[t], h)
            found.append((self.head(h)**2 - self.head(h)).sum())
            h = h.detach() if detach and (t + 1) % detach == 0 else h
        return found

    def loss(self, detach=0):
        return sum(self.losses(detach))


ARMS = {"full": 0, "cut": 2}


def made(kind, groups=False):
    net = Net(kind)
    held = [{"params": list(net.embed.parameters())}, {"params": [*net.cell.parameters(), *net.head.parameters()],
                                                       "lr": 0.003}] if groups else net.parameters()
    return net, getattr(torch.optim, kind)(held, **SETTINGS.get(kind, {}))


def step(net, optimizer, detach, clip):
    def closure():
        optimizer.zero_grad()
        loss = net.loss(detach)
        loss.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(net.parameters(), clip)
        return loss
    optimizer.step(closure)


def moved(net, before):
    return np.linalg.norm(flat({name: after - before[name] for name, after in named(net).items()}))


def flat(tree):
    return np.concatenate([x.ravel() for x in tree.values()]).astype(np.float64)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("updates", [0, 3])
def test_every_optimizer_of_pytorch_makes_its_own_update(kind, updates):
    groups = kind not in ("LBFGS", "SparseAdam")
    clip = None if kind == "SparseAdam" else 0.5
    net, optimizer = made(kind, groups)
    for _ in range(updates):
        step(net, optimizer, 0, clip)
    before, state = named(net), copy.deepcopy(optimizer.state_dict())
    grads = [p.grad for p in net.parameters()]
    found = measure(net, {arm: (lambda d=d: net.loss(d)) for arm, d in ARMS.items()}, optimizer, clip=clip)
    assert all(np.array_equal(a, b) for a, b in zip(before.values(), named(net).values()))
    assert all(a is b for a, b in zip(grads, (p.grad for p in net.parameters())))
    assert str(state) == str(optimizer.state_dict())
    own = {}
    for arm, detach in ARMS.items():
        twin, other = made(kind, groups)
        for _ in range(updates):
            step(twin, other, 0, clip)
        step(twin, other, detach, clip)
        own[arm] = flat({name: after - before[name] for name, after in named(twin).items()})
    a, b = own["full"], own["cut"]
    close = lambda quantity, value: found.value(f"applied.{quantity}", "cut") == pytest.approx(value, rel=1e-12)
    assert a.any() and close("norm", np.linalg.norm(b)) and close("ratio", np.linalg.norm(b) / np.linalg.norm(a))
    assert close("difference", np.linalg.norm(a - b) / np.linalg.norm(a))
    if groups:
        with pytest.raises(backcut.Error, match="makes its own updates"):
            found.value("rho.median", "cut")


@pytest.mark.parametrize("kind, knows", [("AdamW", True), ("SGD", True), ("RMSprop", False)])
def test_what_only_a_rule_says_is_there_where_the_rule_is_known(kind, knows):
    net, optimizer = made(kind)
    for _ in range(3):
        step(net, optimizer, 0, None)
    found = measure(net, {"full": net.loss, "cut": lambda: net.loss(2)}, optimizer, clip=0.5)
    if knows:
        assert 0 < found.value("clip.factor", "cut") <= 1
    else:
        with pytest.raises(backcut.Error, match="RMSprop makes its own updates"):
            found.value("clip.factor", "cut")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, None])
def test_halves_and_mixed_precision(dtype):
    net = Net()
    net = net.to(dtype) if dtype else net
    if dtype is None:
        net.head.double()
        net.losses = lambda detach=0: [(net.head((net.embed.weight * (1 + detach)).sum(0).repeat(2)[:4].double())**2).sum()]
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01, eps=1e-3)
    before = named(net)
    found = measure(net, {"full": net.loss, "cut": lambda: net.loss(2)}, optimizer, clip=0.5)
    net.loss(2).backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    optimizer.step()
    assert found.value("applied.norm", "cut") == pytest.approx(moved(net, before), rel=1e-6)


def test_two_optimizers_a_clip_of_ones_own_and_accumulated_gradients():
    pair = nn.ModuleDict({"actor": Net(), "critic": Net()})
    optimizers = [torch.optim.Adam(pair["actor"].parameters(), 0.01), torch.optim.SGD(pair["critic"].parameters(), 0.1)]
    clip = lambda: nn.utils.clip_grad_value_(pair.parameters(), 0.2)
    losses = lambda d: [*pair["actor"].losses(d), *pair["critic"].losses(d)]
    found = measure(pair, {"full": lambda: sum(losses(0)), "cut": lambda: [sum(losses(2))]}, optimizers, clip)
    before = named(pair)
    sum(losses(2)).backward()
    clip()
    for optimizer in optimizers:
        optimizer.step()
    assert found.value("applied.norm", "cut") == pytest.approx(moved(pair, before), rel=1e-12)
    with pytest.raises(backcut.Error, match="Adam and SGD with a clip of its own makes its own"):
        found.value("rho.median", "cut")
    # One loss after the other, each with a graph of its own: the gradients add up.
    whole = measure(pair["actor"], {"whole": pair["actor"].loss, "parts": lambda: (
        pair["actor"].losses()[t] for t in range(6))})
    assert whole.value("gradient.difference", "parts") < 1e-6


def test_a_schedule_counts():
    net, optimizer = made("AdamW")
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: 0.5**update)
    lengths = []
    for _ in range(2):
        lengths.append(measure(net, {"full": net.loss}, optimizer).value("applied.norm", "full"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            schedule.step()
    assert lengths[1] == pytest.approx(lengths[0] / 2, rel=1e-4)


class Trainer:
    """A library's: one function that computes, clips and steps, over shuffled parts, with its clip imported by name."""

    def __init__(self, policy, kind=torch.optim.Adam):
        self.policy, self.optimizer, self.seen = policy, kind(policy.parameters(), lr=0.01), []
        self.drop = nn.Dropout(0.2)

    def train(self, detach, parts=3):
        from torch.nn.utils import clip_grad_norm_
        for t in np.random.permutation(parts):
            self.optimizer.zero_grad()
            loss = self.policy.loss(detach) * (1 + t) + self.drop(torch.ones(5)).sum() * self.policy.head.weight.sum()
            loss.backward()
            clip_grad_norm_(self.policy.parameters(), 0.5)
            self.optimizer.step()
        self.seen.append(detach)
        return loss.item()


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.RAdam])
@pytest.mark.parametrize("chosen", [0, 2])
def test_arms_around_a_librarys_own_step(kind, chosen):
    trainer = Trainer(Net(), kind)
    trainer.train(0)
    before, state = named(trainer.policy), copy.deepcopy(trainer.optimizer.state_dict())
    numbers = np.random.get_state()[1].copy(), torch.get_rng_state()
    with arms(trainer.optimizer, trainer.policy, step=chosen) as a:
        said = [a("full", lambda: trainer.train(0)), a("again", lambda: trainer.train(0)),
                a("cut", lambda: trainer.train(2))]
    assert said[0] == said[1] and a.steps == {"full": [3], "again": [3], "cut": [3]}
    assert all(np.array_equal(x, y) for x, y in zip(before.values(), named(trainer.policy).values()))
    assert str(state) == str(trainer.optimizer.state_dict())
    assert (np.random.get_state()[1] == numbers[0]).all() and torch.equal(torch.get_rng_state(), numbers[1])
    assert a.result.value("applied.difference", "again") == 0 and a.result.value("gradient.difference", "again") == 0
    assert a.result.value("gradient.cosine", "cut") < 1 and a.result.value("applied.difference", "cut") > 0
    if chosen == 0:
        twin = copy.deepcopy(trainer)
        order = np.random.permutation(3)
        loss = twin.policy.loss(2) * (1 + order[0]) + twin.drop(torch.ones(5)).sum() * twin.policy.head.weight.sum()
        twin.optimizer.zero_grad()
        loss.backward()
        raw = np.linalg.norm(np.concatenate([p.grad.numpy().ravel() for p in twin.policy.parameters()]))
        nn.utils.clip_grad_norm_(twin.policy.parameters(), 0.5)
        twin.optimizer.step()
        assert a.result.value("applied.norm", "cut") == pytest.approx(moved(twin.policy, before), rel=1e-6)
        assert a.result.value("gradient.norm", "cut") == pytest.approx(raw, rel=1e-6)
        if kind is torch.optim.Adam:
            assert a.result.value("clip.factor", "cut") == pytest.approx(0.5 / raw, rel=1e-3)


def test_arms_say_what_they_can_not_record():
    trainer = Trainer(Net())
    with pytest.raises(backcut.Error, match="made 3 steps of Adam, and step 3"):
        with arms(trainer.optimizer, trainer.policy, step=3) as a:
            a("full", lambda: trainer.train(0))
    with pytest.raises(backcut.Error, match="made 0 steps"):
        with arms(torch.optim.SGD(trainer.policy.parameters(), lr=1.0)) as a:
            a("full", lambda: trainer.train(0))
    with pytest.raises(backcut.Error, match="does not hold a tensor"):
        arms(trainer.optimizer, trainer.policy.cell)
    with arms(trainer.optimizer) as a:
        a("full", lambda: trainer.train(0))
        with pytest.raises(backcut.Error, match="recorded already"):
            a("full", lambda: trainer.train(0))
    assert a.result.value("applied.norm", "full") > 0
