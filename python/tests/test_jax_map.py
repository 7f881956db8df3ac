"""What every single edge carries in JAX, held to closing edges one by one."""
import backcut
import numpy as np
import pytest

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402
from backcut.jax import Tape, edge_map  # noqa: E402
from backcut.jax_map import _gates, _slope  # noqa: E402
from tape_programs import loop, parallel, params_of  # noqa: E402

STEPS = 6


def dot(a, b):
    return sum(float((a[name] * b[name]).sum()) for name in a)


@pytest.mark.parametrize("name", ["gru", "attention", "parallel"])
def test_closing_one_edge_takes_what_the_map_says(name):
    loss = parallel(STEPS) if name == "parallel" else loop(name)
    params = params_of("attention" if name == "parallel" else name)
    found, tape = edge_map(loss, params, steps=STEPS), Tape.of(loss, params, steps=STEPS).under("FF")
    whole = jax.jit(jax.grad(lambda params: loss(params, Tape(STEPS))[0]))(params)
    closed = 0
    for edge, gate in _gates(tape).items():
        for t, j in [(1, 0), (4, 3), (5, 1)]:
            if gate.ndim == 1 and t != j + 1:
                assert np.isnan(found.gradient[edge][t, j])
                continue
            shut = gate.at[j if gate.ndim == 1 else (t, j)].set(0.0)
            without = _slope(loss, params, tape, {**_gates(tape), edge: shut}, ())
            assert found.gradient[edge][t, j] == pytest.approx(1 - dot(without, whole) / dot(whole, whole), abs=1e-12)
            closed += 1
    assert closed >= 6 and abs(found.strongest(1)[0][3]) > 1e-3
    assert "Singles do not add up" in repr(found) and found.svg().startswith("<svg")


def test_a_held_out_loss_through_clip_and_optimizer_has_the_slope_of_central_differences():
    optax = pytest.importorskip("optax")
    x = jnp.asarray(np.random.default_rng(1).normal(size=(2, STEPS, 3)))
    params = {"w": jnp.asarray(np.random.default_rng(0).normal(size=(3, 3)))}

    def loss(params, tape, x):
        def step(h, at):
            t, x = at
            h = jnp.tanh(x + tape.carry("h", h, t - 1) @ params["w"])
            return h, (h[0] - 0.3)**2
        return jax.lax.scan(step, jnp.zeros(3), (jnp.arange(STEPS), x))[1].mean()
    tx = optax.chain(optax.clip_by_global_norm(0.1), optax.adam(1e-2))
    state = tx.update({"w": params["w"] / 9}, tx.init(params), params)[1]
    found = edge_map(loss, params, x[0], steps=STEPS, tx=tx, state=state, held_out=(x[1],))
    tape = Tape.of(loss, params, x[0], steps=STEPS).under("FF")

    def after(gate):
        grads = _slope(loss, params, tape, {"h": gate}, (x[0],))
        made = tx.update(grads, state, params)[0]
        return float(loss({"w": params["w"] + made["w"]}, Tape(STEPS), x[1]))
    for j in (0, 3):
        down, up = (after(jnp.ones(STEPS).at[j].add(by)) for by in (-1e-4, 1e-4))
        assert found.held["h"][j + 1, j] == pytest.approx((down - up) / 2e-4, rel=1e-5, abs=1e-10)
    before = float(loss(params, Tape(STEPS), x[1]))
    assert found.drop == pytest.approx(before - after(jnp.ones(STEPS)), rel=1e-9)
    with pytest.raises(backcut.Error, match="needs that loss and the optimizer"):
        edge_map(loss, params, x[0], steps=STEPS, tx=tx, state=state)
    with pytest.raises(backcut.Error, match="nothing leads from step to step"):
        edge_map(lambda params, tape: params["w"].sum(), params, steps=STEPS)
