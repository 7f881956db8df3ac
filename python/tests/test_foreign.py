"""Small replicas of programs that people really have, and what may be said of them: no name that is not the only
explanation, and no check that passes on what it can not see."""
import math

import backcut
import pytest

torch = pytest.importorskip("torch")
from backcut.torch import reach  # noqa: E402
from torch import nn  # noqa: E402

STEPS = 10
CUTS = ("FF", "FD", "F_SG", "SEG-3", "SEG-4", "SEG-8", "F_A0.5", "KF", "K4F")


@pytest.fixture(autouse=True)
def drawn():
    torch.manual_seed(0)
    torch.set_num_threads(1)


def passing(result):
    """The cuts whose check passes."""
    found = []
    for cut in CUTS:
        try:
            result.check(cut)
            found.append(cut)
        except backcut.Error as error:
            assert "`" in str(error)
    return found


def stepped(layer, select, detach=None, both=True):
    """A recurrent layer of PyTorch's that is called once per step, its state handed on."""
    head, x, state = nn.Linear(4, 2), torch.randn(STEPS, 1, 2, 3), None
    with reach() as r:
        r.watch(layer, "h", select)
        for t in range(STEPS):
            output, state = layer(x[t], state)
            r.loss((head(output)**2).sum())
            if detach and (t + 1) % detach == 0:
                state = tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()
    return r.result


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("detach, words, checks", [
    (None, "full", ["FF"]), (4, "SEG-4", ["SEG-4"]), (1, "own step only (F_SG)", ["F_SG"])])
def test_layers_that_are_called_per_step(layer, detach, words, checks):
    found = stepped(layer(3, 4), None, detach)
    assert found.words() == f"{words} at `h`" and passing(found) == checks


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("detach", [None, 4, 1])
def test_an_output_that_nobody_reads_later_has_no_name(layer, detach):
    found = stepped(layer(3, 4), lambda output: output[0], detach)
    assert found.verdict("h").cut is None and "no later step reads it" in found.words() and passing(found) == []
    assert "output[1]" in found.words()


def test_one_part_of_a_state_is_not_the_state():
    for detach, words in [(None, "full"), (4, "SEG-4 by itself")]:
        found = stepped(nn.LSTM(3, 4), lambda output: output[1][0], detach)
        assert found.words().startswith(f"{words} at `h`")
        assert passing(found) == (["FF"] if detach is None else [])
    assert "credit also passes by what was not noted" in found.words()


@pytest.mark.parametrize("noted, words", [
    ("both", "not all of it by test_foreign.py"), ("h", "own step only (F_SG) by itself at `h`; credit also passes by what was not noted")])
def test_a_state_of_which_one_part_is_detached(noted, words):
    cell, head, state = nn.LSTMCell(3, 4), nn.Linear(4, 2), None
    with reach() as r:
        for x in torch.randn(STEPS, 2, 3):
            h, c = cell(x, state)
            r.state("h", (h, c) if noted == "both" else h)
            r.loss((head(h)**2).sum())
            state = h.detach(), c
    assert r.result.words().startswith(words) and passing(r.result) == []
    if noted == "h":
        way = r.result.ways[0]
        assert (way.loss, way.step) == (2, 1) and 0 < way.share < 1
    else:
        assert r.result.verdict("h").cut is None


class RecurrentActorCritic(nn.Module):
    """As recurrent PPO processes a sequence: a layer per step, its states zeroed where an episode starts."""

    def __init__(self):
        super().__init__()
        self.actor, self.critic = nn.LSTM(3, 4), nn.LSTM(3, 4)
        self.policy, self.value = nn.Linear(4, 2), nn.Linear(4, 1)

    def sequence(self, features, state, starts, lstm):
        outputs = []
        for x, start in zip(features, starts):
            output, state = lstm(x[None], tuple((1.0 - start).view(1, -1, 1) * s for s in state))
            outputs.append(output)
        return torch.cat(outputs)

    def losses(self, features, starts):
        empty = (torch.zeros(1, features.shape[1], 4),) * 2
        value = self.value(self.sequence(features, empty, starts, self.critic)).squeeze(-1)
        policy = torch.log_softmax(self.policy(self.sequence(features, empty, starts, self.actor)), -1)
        advantage = (torch.randn_like(value) - value).detach()
        return [-(advantage[t] * policy[t, :, 0]).mean() + (value[t] - 1).pow(2).mean() for t in range(len(features))]


@pytest.mark.parametrize("ends, words, checks", [
    ([], "full", ["FF"]), ([3], "nothing is cut where the forward reads it; the forward starts anew at step 3", [])])
def test_recurrent_ppos_loop(ends, words, checks):
    model, starts = RecurrentActorCritic(), torch.zeros(STEPS, 5)
    starts[ends] = 1.0
    with reach() as r:
        r.watch(model.actor, "actor")
        r.watch(model.critic, "critic")
        for loss in model.losses(torch.randn(STEPS, 5, 3), starts):
            r.loss(loss)
    assert all(r.result.verdict(name).words.startswith(words) for name in ("actor", "critic"))
    assert "padding" not in r.result.words()
    assert passing(r.result) == checks


@pytest.mark.parametrize("noted", ["output", "input"])
def test_a_fused_layer_with_padding(noted):
    gru, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 2)
    x = torch.randn(6, 54, 3)
    is_real = torch.arange(54) < 8
    with reach() as r:
        if noted == "input":
            x = r.state("x", x, time=1)
        output, h = gru(x)
        if noted == "output":
            r.state("h", h)
        for t in range(54):
            r.loss(((head(output[:, t])**2).mean() * is_real[t]))
    if noted == "output":
        assert r.result.words().startswith("no name: 1 state and 54 losses")
    else:
        assert r.result.words() == "full, as far as losses read it; losses of steps 8, 9, 10, ... read nothing (padding?) at `x`"
    assert passing(r.result) == []


def test_a_fused_layer_by_what_it_reads():
    gru = nn.GRU(3, 4, batch_first=True)
    with reach() as r:
        x = r.state("x", torch.randn(6, STEPS, 3), time=1)
        for t, output in enumerate(gru(x)[0].unbind(1)):
            r.loss((output**2).mean())
    assert r.result.words() == "full at `x`" and passing(r.result) == ["FF"]


@pytest.mark.parametrize("detached", [False, True])
@pytest.mark.parametrize("noted", ["hook", "steps"])
def test_one_parallel_causal_attention(detached, noted):
    embed, q, k, v = (nn.Linear(3 if i == 0 else 4, 4, bias=False) for i in range(4))
    x = torch.randn(2, STEPS, 3)
    mask, own = torch.tril(torch.ones(STEPS, STEPS, dtype=torch.bool)), torch.eye(STEPS, dtype=torch.bool)
    with reach() as r:
        n = embed(x)
        n = r.state("n", n) if noted == "hook" else r.state("n", n, time=1)
        keys, values = k(n), v(n)
        far_k, far_v = (keys.detach(), values.detach()) if detached else (keys, values)
        near, far = ((q(n) @ side.mT / 2).masked_fill(~mask, -math.inf) for side in (keys, far_k))
        weights = torch.softmax(torch.where(own, near, far), -1)
        out = (weights * own) @ values + (weights * ~own) @ far_v
        for t in range(STEPS):
            r.loss((out[:, t]**2).mean())
    if noted == "hook":
        assert r.result.words().startswith(f"no name: 1 state and {STEPS} losses") and passing(r.result) == []
    elif detached:
        assert r.result.words() == "own step only (FD) at `n`" and passing(r.result) == ["FD"]
    else:
        assert r.result.words() == "full at `n`" and passing(r.result) == ["FF"]


class Extra(nn.Module):
    """Two layers of attention over memories of bounded length, as Transformer-XL has them, one step to a segment."""

    def __init__(self, length, publish):
        super().__init__()
        self.embed, self.length, self.publish = nn.Linear(3, 4), length, publish
        self.layers = nn.ModuleList(nn.MultiheadAttention(4, 2, batch_first=True) for _ in range(2))

    def forward(self, x, mems, r):
        h = self.embed(x)[:, None]
        hidden = [h]
        r.state("emb", h)
        for i, (layer, mem) in enumerate(zip(self.layers, mems)):
            whole = torch.cat([mem, h], 1)
            h = h + layer(h, whole, whole, need_weights=False)[0]
            hidden.append(h)
            r.state(f"layer{i}", h)
        if self.publish:
            with torch.no_grad():
                return h, [torch.cat([m, n], 1)[:, -self.length:].detach() for m, n in zip(mems, hidden)]
        return h, [torch.cat([m, n], 1)[:, -self.length:] for m, n in zip(mems, hidden)]


@pytest.mark.parametrize("length", [2, 100])
@pytest.mark.parametrize("publish", [False, True])
def test_memories_of_a_transformer_xl(length, publish):
    model, mems = Extra(length, publish), [torch.zeros(2, 0, 4)] * 2
    with reach() as r:
        for x in torch.randn(STEPS, 2, 3):
            h, mems = model(x, mems, r)
            r.loss((h**2).mean())
    emb, layer0, layer1 = (r.result.verdict(name) for name in ("emb", "layer0", "layer1"))
    assert layer1.cut is None and "no later step reads it" in layer1.words and passing(r.result) == []
    if publish and length == 100:
        assert (emb.words, layer0.words) == ("own step only (F_SG)",) * 2
        r.result.check("F_SG", "emb")
    elif publish:
        assert emb.cut is None and layer0.cut is None
        assert all("cut by test_foreign.py" in v.words or "the forward reads" in v.words for v in (emb, layer0))
    elif length == 100:
        assert (emb.words, layer0.words) == ("full", "full")
    else:
        assert emb.words.startswith("nothing is cut where the forward reads it; the forward reads 5 steps")
        assert layer0.words.startswith("nothing is cut where the forward reads it; the forward reads 3 steps")
        r.result.check("FF", "emb", window=5)
        with pytest.raises(backcut.Error, match="can not be seen"):
            r.result.check("FF", "emb", window=6)


@pytest.mark.parametrize("noted, detach, words, checks", [
    ("n", False, "full", ["FF"]), ("n", True, "own step only (FD)", ["FD"]),
    ("keys", False, "full", ["FF"]), ("keys", True, "own step only", None)])
def test_a_cache_of_keys_and_values(noted, detach, words, checks):
    embed, q, k, v = (nn.Linear(3 if i == 0 else 4, 4) for i in range(4))
    keys, values = torch.zeros(2, 0, 4), torch.zeros(2, 0, 4)
    with reach() as r:
        for x in torch.randn(STEPS, 2, 3):
            n = torch.tanh(embed(x))[:, None]
            if noted == "n":
                r.state("n", n)
            keys, values = torch.cat([keys, k(n)], 1), torch.cat([values, v(n)], 1)
            out = torch.softmax(q(n) @ keys.mT / 2, -1) @ values
            if noted == "keys":
                r.state("keys", (keys[:, -1:], values[:, -1:]))
            r.loss((out**2).mean())
            if detach:
                keys, values = keys.detach(), values.detach()
    if noted == "n":
        assert r.result.words() == f"{words} at `n`" and passing(r.result) == checks
    else:
        # The slices were made to be noted: nobody reads them.
        assert r.result.verdict("keys").cut is None and passing(r.result) == []


def test_memories_that_a_library_detaches_itself():
    """As x-transformers keeps memories: constant when they are handed out, whatever one does with them then."""
    layer, mem = nn.MultiheadAttention(4, 2, batch_first=True), torch.zeros(2, 1, 4)
    with reach() as r:
        for x in torch.randn(STEPS, 2, 1, 4):
            h = x + layer(x, torch.cat([mem, x], 1), torch.cat([mem, x], 1), need_weights=False)[0]
            mem = r.state("mems", h.detach())
            r.loss((h**2).mean())
    assert r.result.words() == "no credit at all (constant when stored, first at step 0) at `mems`"
    assert passing(r.result) == []


@pytest.mark.parametrize("kept", [False, True])
def test_an_episode_that_ends_in_every_row(kept):
    cell, head, h = nn.GRUCell(3, 4), nn.Linear(4, 2), torch.zeros(2, 4)
    with reach() as r:
        r.watch(cell, "h")
        for t, x in enumerate(torch.randn(STEPS, 2, 3)):
            done = torch.tensor([[t == 2], [t == 2 or kept]]).float() * (not kept) + torch.tensor([[t == 2], [False]]).float() * kept
            h = cell(x, h)
            r.loss((head(h)**2).sum())
            h = h * (1 - done)
    if kept:  # another row shows what an ended episode hides
        assert r.result.words() == "full at `h`" and passing(r.result) == ["FF"]
    else:
        assert r.result.words().startswith("nothing is cut where the forward reads it; the forward starts anew at step 3")
        assert r.result.verdict("h").cut is None and passing(r.result) == []


@pytest.mark.parametrize("size, steps", [(0.25, 256), (0.02, 60)])
def test_credit_smaller_than_any_number_is_not_cut(size, steps):
    w, h = torch.eye(3) * size, torch.zeros(2, 3)
    x = torch.randn(steps, 2, 3, requires_grad=True)
    with reach() as r:
        for t in range(steps):
            h = r.state("h", torch.tanh(x[t] + h @ w))
            if t % 16 == steps % 16 - 1 or t == steps - 1:
                r.loss((h**2).sum(), step=t)
    found = r.result.words()
    assert "nothing is cut where the forward reads it" in found and "smaller than the smallest number" in found or (
        found == "full at `h`"), found
    assert r.result.verdict("h").cut in (None, "FF") and "SEG-4" not in passing(r.result)


@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize("noted", [False, True])
def test_memory_in_a_differentiable_simulator(detach, noted):
    cell, head = nn.GRUCell(4, 6), nn.Linear(6, 2)
    p, v, h = torch.randn(3, 2), torch.randn(3, 2), torch.zeros(3, 6)
    with reach() as r:
        for _ in range(STEPS):
            h = r.state("h", cell(torch.cat([p, v], 1), h.detach() if detach else h))
            v = v + 0.3 * head(h)
            p = p + 0.3 * v
            if noted:
                r.physical("body", (p, v))
            r.loss((p**2).sum())
    if noted:
        memory = "own step only (F_SG)" if detach else "full"
        assert r.result.words() == f"{memory} at `h`; full at `body`"
        assert passing(r.result) == (["F_SG"] if detach else ["FF"])
    elif detach:
        assert r.result.words().startswith("own step only (F_SG) by itself at `h`; credit also passes by what was not noted")
        assert r.result.verdict("h").cut is None and passing(r.result) == []
    else:
        assert r.result.words() == "full at `h`" and passing(r.result) == ["FF"]


def test_physical_steps_are_counted():
    cell, head = nn.GRUCell(2, 6), nn.Linear(6, 2)
    with reach() as r:
        p, h = torch.randn(3, 2), torch.zeros(3, 6)
        for _ in range(STEPS):
            h = r.state("h", cell(p.detach(), h))
            p = r.physical("p", p.detach() + 0.3 * head(h))
            r.loss((p**2).sum())
    assert passing(r.result) == ["KF"]


def test_burn_in_and_values_without_gradients():
    """Nothing that is not memory is called a cut: targets, advantages, a burn-in without gradients."""
    cell, head, h = nn.GRUCell(3, 4), nn.Linear(4, 1), torch.zeros(2, 4)
    x = torch.randn(STEPS + 4, 2, 3)
    with torch.no_grad():
        for t in range(4):
            h = cell(x[t], h)
    with reach() as r:
        r.watch(cell, "h")
        for t in range(4, STEPS + 4):
            h = cell(x[t], h)
            value = head(h)
            advantage = (1.0 - value).detach()
            r.loss((-(value * advantage) + (value - advantage)**2).mean())
    assert r.result.words() == "full at `h`" and passing(r.result) == ["FF"]


@pytest.mark.parametrize("way", ["data", "numpy", "no_grad", "buffer", "function"])
def test_whatever_stops_credit_it_is_never_called_an_open_edge(way):
    class Wall(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, slope):
            return None

    cell, head, h = nn.GRUCell(3, 4), nn.Linear(4, 1), torch.zeros(2, 4)
    with reach() as r:
        r.watch(cell, "h")
        for t, x in enumerate(torch.randn(STEPS, 2, 3)):
            h = cell(x, h)
            r.loss((head(h)**2).sum())
            if (t + 1) % 4 == 0:
                if way == "data":
                    h = h.data
                elif way == "numpy":
                    h = torch.from_numpy(h.detach().numpy().copy())
                elif way == "no_grad":
                    with torch.no_grad():
                        h = h * 1.0
                elif way == "buffer":
                    kept = torch.zeros(1, 2, 4)
                    kept[0] = h.detach()
                    h = kept[0]
                else:
                    h = Wall.apply(h)
    seen = way in ("data", "no_grad", "buffer")
    assert r.result.verdict("h").cut == ("SEG-4" if seen else None), r.result.words()
    assert passing(r.result) == (["SEG-4"] if seen else [])
    assert seen or "something stops it that can not be seen" in r.result.words()


@pytest.mark.parametrize("what", ["checkpoint", "autocast", "compile"])
@pytest.mark.parametrize("detach", [False, True])
def test_what_people_wrap_around_a_step(what, detach):
    cell, head = nn.GRUCell(3, 4), nn.Linear(4, 1)
    run = torch.compile(cell, backend="aot_eager") if what == "compile" else cell
    if what == "checkpoint":
        from torch.utils.checkpoint import checkpoint
        run = lambda x, h: checkpoint(cell, x, h, use_reentrant=False)

    def look():
        h = torch.zeros(2, 4)
        with reach() as r, torch.autocast("cpu", enabled=what == "autocast"):
            for t, x in enumerate(torch.randn(STEPS, 2, 3)):
                h = r.state("h", run(x, h))
                r.loss((head(h)**2).sum())
                if detach and t % 4 == 3:
                    h = h.detach()
        return r.result
    if what == "checkpoint" and detach:
        with pytest.raises(backcut.Error, match="checkpointing off"):
            look()
    elif what == "compile" and detach:
        assert "something stops it that can not be seen" in look().words() and passing(look()) == []
    else:
        assert look().words() == f"{'SEG-4' if detach else 'full'} at `h`"


def test_the_program_does_not_notice():
    """The numbers, what requires a gradient, and the gradients are those of the program alone."""
    def program():
        torch.manual_seed(3)
        cell, head, h, total, seen = nn.GRUCell(3, 4), nn.Linear(4, 1), torch.zeros(2, 4), 0.0, []
        drop = nn.Dropout(0.3)
        kept = torch.zeros(STEPS, 2, 4)
        for t, x in enumerate(torch.randn(STEPS, 2, 3)):
            h = cell(x, h)
            value = head(drop(h))
            with torch.no_grad():
                target = drop(h).mean() + value * 2
                kept[t] = h
            target = target + 1
            seen += [target.requires_grad, target.sum().item(), kept.mean().numpy()]
            loss = ((value - target)**2).mean() + (kept[t].clone() * h).sum()
            total = total + loss
            yield h, loss
            h = h.detach() if t % 3 == 2 else h
        total.backward(retain_graph=True)
        yield [float(total), *seen], [p.grad for p in [*cell.parameters(), *head.parameters()]]

    with reach() as r:
        *steps, (said, grads) = program()
        for h, loss in steps:
            r.state("h", h)
            r.loss(loss)
    *_, (alone, own) = program()
    assert said == alone and all(torch.equal(a, b) for a, b in zip(grads, own))


def test_a_loss_at_the_end_alone():
    cell, h = nn.GRUCell(3, 4), torch.zeros(2, 4)
    for step, words in [(None, f"no name: {STEPS} states and 1 losses"), (STEPS - 1, "full")]:
        with reach() as r:
            h = torch.zeros(2, 4)
            for t, x in enumerate(torch.randn(STEPS, 2, 3)):
                h = r.state("h", cell(x, h))
            r.loss((h**2).sum(), step=step)
        assert r.result.words().startswith(words)


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_a_share_is_not_the_whole(share):
    from backcut.torch import carry
    cell, head, h = nn.GRUCell(3, 4), nn.Linear(4, 1), torch.zeros(2, 4)
    with reach() as r:
        r.watch(cell, "h")
        for t, x in enumerate(torch.randn(STEPS, 2, 3)):
            h = cell(x, h)
            r.loss((head(h)**2).sum())
            h = carry(f"F_A{share}", h, t)
    assert r.result.words() == f"{share} of it at every crossing (F_A{share}) at `h`"
    assert passing(r.result) == (["F_A0.5"] if share == 0.5 else [])


@pytest.mark.parametrize("cut, words", [("FF", "full"), ("SEG-4", "SEG-4"), ("F_SG", "own step only (F_SG or FD)")])
def test_a_tapes_cut_is_seen(cut, words):
    cell, head, h, tape = nn.GRUCell(3, 4), nn.Linear(4, 1), torch.zeros(2, 4), backcut.torch.Tape(cut)
    with reach() as r:
        for t in tape.steps(STEPS):
            h = r.state("h", cell(torch.randn(2, 3), h))
            r.loss((head(h)**2).sum())
            h = tape.carry("h", h)
    assert r.result.words() == f"{words} at `h`"
