"""A tape's cuts from one forward, held to literal detaches; and what it says of edges that nobody declared."""
import collections
import weakref

import backcut
import pytest

torch = pytest.importorskip("torch")
from backcut.torch import Tape  # noqa: E402
from torch_programs import CUTS, DEEP, DRAW, Blocks, Policy, literal, off, rollout  # noqa: E402

F = torch.nn.functional
STEPS = 9


@pytest.fixture(autouse=True)
def double():
    threads = torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    yield
    torch.set_default_dtype(torch.float32)
    torch.set_num_threads(threads)


@pytest.mark.parametrize("kind", ["gru", "lstm", "attention"])
def test_every_cut_of_one_forward_is_that_of_literal_detaches(kind):
    policy, tape = Policy(kind), Tape()
    run = lambda tape: rollout(policy, tape, STEPS)
    loss, names = run(tape), CUTS + DEEP
    params = list(policy.parameters())
    one_by_one, side_by_side = (tape.gradients(loss, policy, names, DRAW, lanes) for lanes in (False, True))
    for cut in names:
        other = literal(tape, cut, run)
        assert torch.equal(other, loss)
        wanted = torch.autograd.grad(other, params, allow_unused=True)
        assert off(list(one_by_one[cut].values()), wanted) < 1e-15
        assert off(list(side_by_side[cut].values()), wanted) < 1e-15
    assert off(list(one_by_one["F_SG"].values()), list(one_by_one["FF"].values())) > 1e-3
    assert str(tape.undeclared(loss, policy)).startswith("not declared: nothing")


def test_attention_over_all_steps_at_once_has_every_cut():
    blocks, x = Blocks(), torch.randn(3, STEPS, 3)
    tape = Tape()
    loss = blocks(tape.attention, x)
    plain = blocks(lambda name, q, n, project: F.scaled_dot_product_attention(q, *project(n), is_causal=True), x)
    assert torch.equal(loss, plain)
    names = [cut for cut in CUTS if cut[0] != "K" and ":" not in cut] + ["FF:b0.keys=D:values=SG"]
    for lanes in (False, True):
        found = tape.gradients(loss, blocks, names, DRAW, lanes)
        for cut in names:
            other = literal(tape, cut, lambda tape: blocks(tape.attention, x))
            wanted = torch.autograd.grad(other, list(blocks.parameters()), allow_unused=True)
            assert off(list(found[cut].values()), wanted) < 1e-15


@pytest.mark.parametrize("added", [False, True])
def test_a_mask_of_infinities_gives_no_nan(added):
    keep = torch.ones(STEPS, STEPS, dtype=torch.bool)
    keep[:, 2] = keep[4] = False  # what step 2 stored is seen by none, step 4 sees nothing
    mask = torch.zeros(STEPS, STEPS).masked_fill(~keep, -torch.inf) if added else keep
    n, w = torch.randn(2, STEPS, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
    tape = Tape()
    seen = tape.attention("a", n, n, lambda n: (n @ w, n), mask=mask)
    seen = seen[:, [t for t in range(STEPS) if t != 4]]
    for g in tape.gradients((seen**2).mean(), [n, w], ["FF", "F_SG", "SEG-3", "FD"], lanes=True).values():
        assert all(bool(x.isfinite().all()) for x in g.values()) and not g["0"][:, 2].isnan().any()
    h = torch.tensor([1.0, -torch.inf], requires_grad=True)
    carried = tape.carry("h", h, 0)
    carried[0] = 2.0  # it can be written into
    assert carried.tolist() == [2.0, -torch.inf]
    (slope,) = torch.autograd.grad(torch.softmax(carried, 0)[0], h)
    assert slope.isfinite().all()


def test_a_plain_backward_has_the_tapes_own_cut():
    policy = Policy("gru")
    run = lambda tape: rollout(policy, tape, STEPS)
    for cut in ("FF", "SEG-4", "KF"):
        tape = Tape(cut)
        policy.zero_grad()
        loss = run(tape)
        loss.backward(retain_graph=True)
        other = torch.autograd.grad(literal(tape, cut, run), list(policy.parameters()), allow_unused=True)
        assert off([p.grad for p in policy.parameters()], other) < 1e-15
    with pytest.raises(backcut.Error, match="replay"):
        run(Tape("K2F")).backward()


def test_a_decay_scales_a_states_credit_under_every_cut():
    w = torch.tensor(0.7, requires_grad=True)

    def run(tape, decay):
        s, total = torch.tensor(1.0), 0.0
        for t in tape.steps(5):
            s = torch.sin(w * s)
            total = total + tape.loss(s**2)
            s = tape.state("s", s, decay=decay)
        return total

    def own(decay):
        s, total = torch.tensor(1.0), 0.0
        for _ in range(5):
            s = torch.sin(w * s)
            total = total + s**2
            s = s.detach() + decay * (s - s.detach())
        return torch.autograd.grad(total, w)[0]
    tape = Tape()
    loss = run(tape, 0.4)
    assert float(torch.autograd.grad(loss, w, retain_graph=True)[0]) == pytest.approx(float(own(0.4)), rel=1e-14)
    for lanes in (False, True):
        found = tape.gradients(loss, [w], ["FF", "FF:s=A0.5", "KF", "K2F", "K9F"], lanes=lanes)
        assert [float(found[cut]["0"]) for cut in ("FF", "FF:s=A0.5", "KF", "K9F")] == pytest.approx(
            [float(own(decay)) for decay in (0.4, 0.2, 0.0, 0.4)], rel=1e-13)
        assert abs(float(found["K2F"]["0"]) - float(found["KF"]["0"])) > 0.01


Pair = collections.namedtuple("Pair", "h c")


def test_a_carried_state_may_be_any_tree():
    tape, x = Tape(), torch.randn(3, requires_grad=True)
    tree = {"pair": Pair(x * 1, [x * 2, None, 3]), "kept": collections.OrderedDict(a=x * 4)}
    back = tape.carry("m", tree, 0)
    assert type(back["pair"]) is Pair and back["pair"].c[1:] == [None, 3] and type(back["kept"]) is collections.OrderedDict
    loss = back["pair"].h.sum() + 10 * back["pair"].c[0].sum() + 100 * back["kept"]["a"].sum()
    # The next step reads it.
    tape.carry("m", tree, 1)
    found = tape.gradients(loss, [x], ["FF", "F_SG", "FF:m.pair.h=SG", "FF:kept.a=A0.5"])
    assert [float(g["0"][0]) if g["0"] is not None else 0.0 for g in found.values()] == [421, 0, 420, 221]
    with pytest.raises(backcut.Error, match="`m.1` is a object"):
        tape.carry("m", (x, object()), 2)


def recurrent(note, both=True, steps=6, carry_first=False, total=True):
    """An LSTM of which only the hidden half may be declared."""
    torch.manual_seed(0)
    cell, tape, pair, each = torch.nn.LSTMCell(4, 5), Tape(), None, []
    for t in tape.steps(steps):
        h, c = cell(torch.randn(3, 4), pair)
        handed = tape.carry("h", h)
        each.append(note(tape, ((handed if carry_first else h)**2).mean()))
        pair = handed, tape.carry("c", c) if both else c
    loss = torch.stack(each).mean()
    if total:
        loss = each[0]
        for one in each[1:]:
            loss = loss + one
    return tape, loss, cell


@pytest.mark.parametrize("total", [False, True])
@pytest.mark.parametrize("note", [lambda tape, x: x, lambda tape, x: tape.loss(x)])
def test_what_nobody_declared_is_found(note, total):
    tape, loss, cell = recurrent(note, total=total)
    assert str(tape.undeclared(loss, cell)) == ("not declared: nothing; every way to an earlier step is an edge that you "
                                                "declared")
    tape, loss, cell = recurrent(note, both=False, total=total)
    found = tape.replay(loss, cell, ["FF", "F_SG"])
    assert found.undeclared.pairs == ((1, 0), (2, 1), (3, 2), (4, 3), (5, 4))
    # The other half, declared, brings as much.
    tape, loss, cell = recurrent(note, total=total)
    by = tape.gradients(loss, cell, ["FF", "FF:c=SG"])
    flat = lambda g: torch.cat([x.flatten() for x in g.values()])
    share = float((flat(by["FF"]) - flat(by["FF:c=SG"])).norm() / flat(by["FF"]).norm())
    assert found.undeclared.share == pytest.approx(share, rel=1e-12) and 0 < share < 1
    said = repr(found).splitlines()
    assert said[0].startswith("one forward, 2 backward graphs; declared: h (what each step hands to the next, 6 times)")
    assert said[-1] == (f"not declared: {100 * found.undeclared.share:.0f}% of FF's gradient reaches earlier steps by edges "
                        "that you did not declare (first: step 1 -> 0, read by MulBackward0)")


def test_a_state_that_its_own_step_reads_after_handing_it_on_is_an_error():
    tape, loss, cell = recurrent(lambda tape, x: x, carry_first=True)
    with pytest.raises(backcut.Error, match="step 0 itself reads `h`, which it hands to the next one"):
        tape.replay(loss, cell, ["FF"])


def test_without_marks_nothing_is_said_of_what_is_not_declared():
    tape, x = Tape(), torch.randn(3, requires_grad=True)
    found = tape.replay((tape.carry("h", x, 0)**2).sum(), {"x": x}, ["FF"])
    assert found.undeclared is None and "not looked for" in repr(found)
    with pytest.raises(backcut.Error, match="no step has begun"):
        tape.carry("h", x)


def test_updates_are_the_optimizers_own():
    policy, tape = Policy("gru"), Tape()
    optimizer = torch.optim.RMSprop([{"params": policy.h.parameters(), "lr": 0.1}, {"params": policy.x.parameters()},
                                     {"params": policy.embed.parameters()}, {"params": policy.head.parameters()}])
    loss = rollout(policy, tape, STEPS)
    found = tape.replay(loss, policy, ["FF", "F_SG"], optimizer, clip=0.01)
    twin = Policy("gru")
    other = torch.optim.RMSprop([{"params": twin.h.parameters(), "lr": 0.1}, {"params": twin.x.parameters()},
                                 {"params": twin.embed.parameters()}, {"params": twin.head.parameters()}])
    rollout(twin, Tape(), STEPS).backward()
    torch.nn.utils.clip_grad_norm_(twin.parameters(), 0.01)
    other.step()
    moved = torch.cat([(a - b).flatten() for a, b in zip(twin.parameters(), policy.parameters())])
    assert found.value("applied.norm", "FF") == pytest.approx(float(moved.detach().norm()), rel=1e-12)
    assert found.value("applied.cosine", "F_SG") < 1
    loss.backward()  # the graph stays


@pytest.mark.parametrize("autocast", [False, True])
def test_halves_and_autocast(autocast):
    torch.set_default_dtype(torch.float32)
    blocks = Blocks() if autocast else Blocks().bfloat16()
    x = torch.randn(2, STEPS, 3).to(blocks.embed.weight)
    for lanes in (False, True):
        tape = Tape()
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = blocks(tape.attention, x)
            plain = blocks(lambda name, q, n, project: F.scaled_dot_product_attention(q, *project(n), is_causal=True), x)
        assert torch.equal(loss, plain)
        found = tape.replay(loss, blocks, ["FF", "FD", "SEG-4"], lanes=lanes)
        wanted = torch.autograd.grad(plain, list(blocks.parameters()))
        assert off([g.float() for g in found["FF"].values()], [g.float() for g in wanted]) < 0.02
        assert found.value("gradient.cosine", "FD") < 0.9999


def test_compiled_modules_are_replayed_one_cut_after_another():
    cell, tape, h, total = torch.nn.GRUCell(2, 3), Tape(), torch.zeros(1, 3), 0.0
    fast = torch.compile(lambda x, h: cell(x, h), backend="aot_eager")
    for t in tape.steps(4):
        h = fast(torch.full((1, 2), t + 1.0), h)
        total = total + (h**2).sum()
        h = tape.carry("h", h)
    found = tape.gradients(total, cell, ["FF", "F_SG", "SEG-2"])
    assert off(list(found["SEG-2"].values()), list(found["FF"].values())) > 1e-3
    # Inside a compiled function a tape breaks the graph, and goes on.
    whole = torch.compile(lambda tape, x, h: (tape.carry("h", cell(x, h), 0)**2).sum(), backend="aot_eager")
    tape = Tape()
    loss = whole(tape, torch.ones(1, 2), torch.zeros(1, 3))
    assert tape.gradients(loss, cell, ["FF"])["FF"]["weight_ih"].any()
    assert not tape.gradients(loss, cell, ["F_SG"])["F_SG"]["weight_ih"].any()


def test_a_graph_is_freed_with_its_tape():
    policy, tape = Policy("gru"), Tape()
    loss = rollout(policy, tape, 3)
    tape.gradients(loss, policy, ["FF", "K2F"])
    held_by_the_graph = weakref.ref(tape.record)
    del tape
    assert held_by_the_graph() is not None
    del loss
    assert held_by_the_graph() is None


def test_what_makes_no_sense_is_an_error():
    tape, x = Tape(), torch.randn(2, 3, requires_grad=True)
    tape.store("k", x, torch.nn.Linear(3, 3), 0)
    for call, words in [
        (lambda: tape.store("k", x, lambda n: n, 0), "twice"),
        (lambda: tape.read("k", 1), "stored nothing"),
        (lambda: tape.store("r", x, torch.nn.Dropout(), 0), "other numbers the second time"),
        (lambda: tape.edge("e", x, made=0), "not both"),
        (lambda: tape.carry("k", x, 0), "a name of its own"),
        (lambda: tape.gradients(x, [x], ["FF"]), "a loss of shape"),
        (lambda: tape.gradients(x.sum(), [x], ["FF:nobody=D"]), "nobody"),
        (lambda: tape.gradients(x.sum(), [x], []), "no cut"),
        (lambda: tape.gradients(x.sum(), [torch.zeros(1)], ["FF"]), "nothing learns"),
    ]:
        with pytest.raises(backcut.Error, match=words):
            call()
    with torch.no_grad():
        assert tape.carry("h", x, 0) is x


def test_memory_that_any_later_step_reads():
    """Entries read as they are stored, by a window; pairs by name; keys of which nobody knows what made them."""
    w, u = torch.tensor(1.3, requires_grad=True), torch.tensor(0.7, requires_grad=True)

    def run(tape, keep):
        total, made = 0.0, []
        for t in tape.steps(5):
            n = torch.sin(w * (t + 1)) * (made[-1].detach() if made else 1.0)
            made.append(n)
            if keep is None:
                tape.store("m", n)
                seen = (tape.read("m", axis=0, window=3) * u).sum()
                seen = seen + sum(tape.edge("pair", made[j], made=j, read=t) for j in range(t))
                seen = seen + sum(tape.projected("k", made[j] * u, j, read=t) for j in range(t))
            else:
                of = lambda which, j: made[j] if keep(which, t, j) else made[j].detach()
                seen = sum(of("m", j) * u for j in range(max(0, t - 2), t + 1))
                seen = seen + sum(of("pair", j) for j in range(t))
                seen = seen + sum(made[j] * u if keep("k", t, j) else (made[j] * u).detach() for j in range(t))
            total = total + seen**2
        return total
    tape = Tape()
    loss = run(tape, None)
    near = lambda which, t, j: t // 2 == j // 2
    cuts = {"FF": lambda *_: True, "F_SG:k=F": lambda which, t, j: which == "k" or t == j,
            "SEG-2:k=D": lambda which, t, j: t == j if which == "k" else near(which, t, j),
            "FF:pair=SG": lambda which, t, j: which != "pair"}
    for lanes in (False, True):
        found = tape.gradients(loss, [w, u], list(cuts), lanes=lanes)
        for cut, keep in cuts.items():
            other = run(Tape(), keep)
            assert float(other.detach()) == pytest.approx(float(loss.detach()), rel=1e-14)
            assert off(list(found[cut].values()), torch.autograd.grad(other, [w, u])) < 1e-14, cut
    with pytest.raises(backcut.Error, match="only store"):
        tape.gradients(loss, [w, u], ["SEG-2"])


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_loop_may_be_left_early(by_hand):
    cell, tape, h, each = torch.nn.GRUCell(2, 3), Tape(), torch.zeros(1, 3), []
    for t in range(9) if by_hand else tape.steps(9):
        if by_hand:
            tape.step(t)
        h = cell(torch.ones(1, 2), h)
        each.append((h**2).sum())
        if t == 3:
            break
        h = tape.carry("h", h)
    if by_hand:
        tape.step(None)
    assert str(tape.undeclared(torch.stack(each).mean(), cell)).startswith("not declared: nothing")
