"""Declared edges in JAX: one forward, and the backward graph of every cut, held to literal stop-gradients."""
import backcut
import numpy as np
import pytest

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402
from backcut.jax import Tape, replay  # noqa: E402
from tape_programs import CUTS, DRAWN, gru, literal_slopes, loop, off, parallel, params_of, tables_of  # noqa: E402

STEPS = 8


@pytest.mark.parametrize("name", ["gru", "lstm", "attention"])
def test_every_cut_is_that_of_literal_stop_gradients(name):
    loss, params = loop(name), params_of(name)
    part = {"gru": "FF:speed=A0.5", "lstm": "F_SG:hc.c=F", "attention": "KF:keys=SEG-3:values=D"}[name]
    cuts = [*CUTS, *DRAWN, part]
    found = replay(loss, cuts, params, steps=STEPS, draw=(5, 2))
    tape = Tape.of(loss, params, steps=STEPS)
    assert found.loss == float(jax.jit(lambda params: loss(params, Tape(STEPS))[0])(params))
    for cut in cuts:
        value, wanted = literal_slopes(loss, params, tables_of(tape.edges.credit(cut, (5, 2))), STEPS)
        assert off(found[cut], wanted) < 1e-15, cut
    assert off(found["F_SG"], found["FF"]) > 1e-3


def test_parallel_attention_has_the_credit_of_its_pairs():
    params = params_of("attention")
    loss, cuts = parallel(STEPS), ["FF", "FD", "F_SG", "SEG-3", "F_A0.5", "RT-0.5", "FF:keys=D", "SEG-2:b=F"]
    found = replay(loss, cuts, params, steps=STEPS, draw=(5, 2))
    tape = Tape.of(loss, params, steps=STEPS)
    assert list(found.declared) == ["a.keys", "a.values", "b.keys", "b.values"]
    for cut in cuts:
        value, wanted = literal_slopes(loss, params, tables_of(tape.edges.credit(cut, (5, 2))), STEPS)
        assert off(found[cut], wanted) < 1e-15, cut


def test_attention_reads_masks_and_halves_as_the_frameworks_own_does():
    def loss(params, memory, kind, mask):
        n = jnp.asarray(np.random.default_rng(3).normal(size=(2, STEPS, 2, 3)), kind)
        project = lambda n: (n @ params["k"].astype(kind), n @ params["v"].astype(kind))
        seen = (memory.attention("m", n, n, project, mask) if memory else jax.nn.dot_product_attention(
            n, *project(n), mask=mask, is_causal=True))
        return (seen.astype(float)**2).mean()
    square = np.random.default_rng(0).normal(size=(2, 3, 3))
    params = {"k": jnp.asarray(square[0]), "v": jnp.asarray(square[1])}
    window = jnp.asarray(np.tri(STEPS, dtype=bool) & ~np.tri(STEPS, k=-3, dtype=bool))[None, None]
    for kind, mask, near in [("float32", window, 1e-6), ("bfloat16", None, 2e-2)]:
        found = replay(lambda params, tape: loss(params, tape, kind, mask), ["FF", "SEG-2"], params, steps=STEPS)
        value, wanted = jax.jit(jax.value_and_grad(lambda params: loss(params, None, kind, mask)))(params)
        assert found.loss == float(value) and off(found["FF"], wanted) < near


def test_credit_through_so_many_states_is_that_of_nested_copies():
    """K4 by hand: copies of the whole loop, each of which reads the states of the one below; the lowest, constants."""
    params, depth = params_of("gru"), 4
    start, wind = (jnp.asarray(x) for x in np.random.default_rng(7).normal(size=(2, 3)))

    def literal(params, memory):
        def step(copies, t):
            below = [jax.lax.stop_gradient(copies[0][1])] + [body for _, body in copies[:-1]]
            made = []
            for (h, _), body in zip(copies, below):
                x = jnp.stack([body["place"], body["speed"], jnp.sin(t + wind)], -1)
                h, out = gru(params, memory, h, x, t)
                push = (out @ params["head"])[:, 0]
                speed = 0.8 * body["speed"] + 0.3 * (push + wind)
                place = body["place"] + 0.3 * speed
                made.append((h, {"place": place, "speed": speed}))
            return made, (place**2 + 0.01 * push**2).mean()
        copies = [(jnp.zeros((3, 6)), {"place": start, "speed": jnp.zeros(3)})] * depth
        return jax.lax.scan(step, copies, jnp.arange(STEPS))[1].mean(), None

    loss = loop("gru")
    cuts = ["K4F", "FF", "K4_SEG-3", "K4_SG"]
    found = replay(loss, cuts, params, steps=STEPS)
    tape = Tape.of(loss, params, steps=STEPS)
    for cut in ("K4F", "K4_SEG-3"):
        tables = {"stored": tape.edges.credit(cut).stored, "weights": tape.edges.credit(cut).weights}
        wanted = literal_slopes(literal, params, tables, STEPS)[1]
        assert off(found[cut], wanted) < 1e-15
    with pytest.raises(backcut.Error, match="counts the states that a path passes"):
        tape.under("K4F")


def test_a_cut_is_an_argument_of_jit_and_vmap_and_compiles_once():
    loss, params = loop("gru"), params_of("gru")
    tape, traced = Tape.of(loss, params, steps=STEPS), []

    @jax.jit
    def slope(params, tape):
        traced.append(1)
        return jax.grad(lambda params: loss(params, tape)[0])(params)
    cuts = ["FF", "SEG-2", "F_A0.5", "K_SG"]
    each = [slope(params, tape.under(cut)) for cut in cuts]
    assert len(traced) == 1
    stacked = jax.vmap(slope, (None, 0))(params, tape.under_each(cuts))
    found = replay(loss, cuts, params, steps=STEPS)
    from backcut.jax_tape import _many
    before = _many._cache_size()
    replay(loss, ["F_SG", "SEG-3", "KF", "FD"], params, steps=STEPS)
    assert _many._cache_size() == before
    for i, cut in enumerate(cuts):
        assert off(jax.tree_util.tree_map(lambda g: g[i], stacked), each[i]) < 1e-15
        assert off(found[cut], each[i]) < 1e-15
    alone = replay(loss, cuts, params, steps=STEPS, lanes=False)
    assert alone.loss == found.loss and off(alone["SEG-2"], each[1]) < 1e-15


def leaky(which):
    """An LSTM whose pair is declared, or one part of it alone."""
    def loss(params, tape):
        def step(pair, t):
            h, c = pair
            x = tape.taken("x", jnp.sin(t + jnp.arange(3.0)), tape.taken("t", t, t))
            h = tape.carry("h", h, t - 1)
            c = tape.carry("c", c, t - 1) if which == "both" else c
            i, f, o, g = jnp.split(jnp.concatenate([x, h]) @ params["w"], 4)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), (h**2).sum()
        each = jax.lax.scan(step, (jnp.zeros(2), jnp.zeros(2)), jnp.arange(6))[1]
        return each.sum(), each
    return loss, {"w": jnp.asarray(np.random.default_rng(0).normal(size=(5, 8)))}


def test_credit_that_nobody_declared_is_told():
    found = replay(leaky("h")[0], ["FF", "F_SG"], leaky("h")[1], steps=6)
    assert len(found.undeclared.pairs) == 15 and 0 < found.undeclared.share < 1
    assert "15 of 15 earlier steps receive credit by edges that were not declared" in repr(found)
    assert "first the loss of step 1 reaches step 0 (looked at: x, h)" in repr(found)
    clean = replay(leaky("both")[0], ["FF", "F_SG"], leaky("both")[1], steps=6)
    assert clean.undeclared.pairs == [] and clean.undeclared.whole[5, 0] > 0
    assert "no credit reaches earlier steps by edges that were not declared" in repr(clean)
    scalar = replay(lambda params, tape: leaky("h")[0](params, tape)[0], ["FF"], leaky("h")[1], steps=6)
    assert scalar.undeclared is None and "not looked at; return the loss and a vector" in repr(scalar)


def test_updates_are_made_by_optax_and_halves_compared():
    optax = pytest.importorskip("optax")
    def loss(params, tape, x):
        def step(h, at):
            t, x = at
            h = jnp.tanh(x + tape.carry("h", h, t - 1) @ params["w"]).astype(x.dtype)
            return h, (h.astype(jnp.float32)**2).mean()
        return jax.lax.scan(step, jnp.zeros(4, x.dtype), (jnp.arange(6), x))[1].mean()
    params = {"w": jnp.asarray(np.random.default_rng(0).normal(size=(4, 4)), jnp.bfloat16)}
    x = jnp.asarray(np.random.default_rng(1).normal(size=(6, 4)), jnp.bfloat16)
    tx = optax.chain(optax.clip_by_global_norm(0.1), optax.adam(1e-2))
    state = tx.init(params)
    found = replay(loss, ["FF", "F_SG"], params, x, steps=6, tx=tx, state=state)
    assert found["F_SG"]["w"].dtype == jnp.bfloat16
    wanted = np.asarray(tx.update(found["F_SG"], state, params)[0]["w"], np.float32)
    assert found.value("applied.norm", "F_SG") == pytest.approx(np.linalg.norm(wanted), rel=1e-6)
    tables = tables_of(Tape.of(loss, params, x, steps=6).edges.credit("F_SG"))
    _, literal = literal_slopes(lambda params, memory: (loss(params, memory, x), None), params, tables, 6)
    assert off(found["F_SG"], literal) < 2**-6


def test_flax_modules_carry_a_tape_through_their_scan():
    nn = pytest.importorskip("flax.linen", reason="flax is not installed")

    class Cell(nn.Module):
        @nn.compact
        def __call__(self, h, x, t, tape):
            h = tape.carry("h", h, t - 1)
            h, _ = nn.GRUCell(features=4)(h, x)
            return h, h

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x, tape):
            scan = nn.scan(Cell, variable_broadcast="params", split_rngs={"params": False},
                           in_axes=(0, 0, nn.broadcast))
            return scan()(jnp.zeros(4), x, jnp.arange(len(x)), tape)[1]
    x = jnp.asarray(np.random.default_rng(1).normal(size=(STEPS, 3)))
    model = Model()
    params = model.init(jax.random.PRNGKey(0), x, Tape(STEPS))
    loss = lambda params, tape: (lambda each: (each.sum(), each))((model.apply(params, x, tape)**2).sum(-1))
    found = replay(loss, ["FF", "SEG-4", "F_SG"], params, steps=STEPS)
    tables = tables_of(Tape.of(loss, params, steps=STEPS).edges.credit("SEG-4"))
    assert off(found["SEG-4"], literal_slopes(loss, params, tables, STEPS)[1]) < 1e-15
    assert found.undeclared.pairs == [] and found.undeclared.at == ("h",)


def test_what_a_tape_can_not_honour_is_refused_by_name():
    loss, params = leaky("both")
    for cut, why in [("FD", "makes a constant of what weights make of `h`"), ("KF", "no state edge"),
                     ("FF:nobody=D", "nobody"), ("RSEG-2", "none was drawn")]:
        with pytest.raises(backcut.Error, match=why):
            replay(loss, [cut], params, steps=6)
    with pytest.raises(backcut.Error, match="nothing was declared"):
        replay(lambda params, tape: params["w"].sum(), ["FF"], params, steps=6)
    with pytest.raises(backcut.Error, match="each once"):
        replay(loss, ["FF", "FF"], params, steps=6)
    with pytest.raises(backcut.Error, match="step 3 of a rollout of 3 steps"):
        replay(lambda params, tape: tape.carry("h", params["w"], 3).sum(), ["F_SG"], params, steps=3)
    with pytest.raises(backcut.Error, match="not finite"):  # nobody knows a traced step before it runs
        replay(loss, ["F_SG"], params, steps=3)
    with pytest.raises(backcut.Error, match="was not declared when this cut was asked for"):
        loop("gru")(params_of("gru"), Tape.of(loss, params, steps=6).under("F_SG"))
