"""Every stop_gradient of an unchanged JAX program as a switch."""
from pathlib import Path

import backcut
import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from backcut.jax import switches  # noqa: E402

STEPS = 12
HERE = Path(__file__).name


def value(params, h):
    return (h @ params["v"])[0]


def program(params, x, y, stop=jax.lax.stop_gradient, truncated=jax.lax.stop_gradient):
    """A recurrent actor and critic: a truncation, a baseline and a target; in remat, jit, cond and scan."""
    @jax.jit
    def advantage(err, v):
        return err - jax.lax.stop_gradient(v)

    def step(h, at):
        t, x, y = at
        h = jax.lax.cond(t % 4 == 0, lambda h: truncated(h), lambda h: h, h)
        h = jnp.tanh(x @ params["x"] + h @ params["h"])
        err = jax.nn.logsumexp((h @ params["out"] - y)**2)
        return h, advantage(err, value(params, h)) + 0.5 * (value(params, h) - stop(err))**2
    each = jax.lax.scan(jax.checkpoint(step), jnp.zeros(4), (jnp.arange(STEPS), x, y))[1]
    return each.mean()


@pytest.fixture(scope="module")
def given():
    drawn = np.random.default_rng(0)
    array = lambda *shape: jnp.asarray(drawn.normal(size=shape), jnp.float32)
    params = {"x": array(3, 4), "h": array(4, 4) / 2, "v": array(4, 1), "out": array(4, 2)}
    return params, (array(STEPS, 3), array(STEPS, 2)), (array(STEPS, 3), array(STEPS, 2))


def test_they_are_named_by_line_and_opened_one_at_a_time(given):
    params, batch, other = given
    optax = pytest.importorskip("optax")
    tx = optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(0.1))
    state = tx.init(params)
    own = lambda x: jax.lax.stop_gradient(x)  # a line of its own for what is handed in
    line = own.__code__.co_firstlineno
    loss = lambda params, x, y: program(params, x, y, stop=own, truncated=own)
    found = switches(loss, params, *batch, tx=tx, state=state, held_out=other)
    names = [switch.name for switch in found.switches]
    assert sorted(names)[-1] == f"{HERE}:{line}" and len(names) == 2
    assert {switch.name: switch.places for switch in found.switches}[f"{HERE}:{line}"] == 2
    assert found.elsewhere == 1 and "1 more in libraries were left alone" in repr(found)
    plain = jax.jit(jax.grad(loss))(params, *batch)
    assert all((plain[name] == found.gradients["as it is"][name]).all() for name in plain)
    # Opened: as if that line were not there.
    opened = jax.jit(jax.grad(lambda params: program(params, *batch, stop=lambda x: x, truncated=lambda x: x)))(params)
    for name in opened:
        assert np.allclose(found.gradients[f"{HERE}:{line}"][name], opened[name], rtol=1e-5, atol=1e-6)
    made = tx.update(opened, state, params)[0]
    moved = {name: params[name] + made[name] for name in params}
    assert found.held_out[f"{HERE}:{line}"] == pytest.approx(float(loss(moved, *other)), rel=1e-5)
    assert found.comparison.value("gradient.difference", f"{HERE}:{line}") > 0.1
    assert "held-out loss" in repr(found) and "applied.cosine" in repr(found)


def test_closed_switches_leave_the_gradient_as_it_was(given):
    params, batch, _ = given
    found = switches(program, params, *batch)
    plain = jax.jit(jax.grad(program))(params, *batch)
    assert all((plain[name] == found.gradients["as it is"][name]).all() for name in plain)
    # The rewritten program has other fusions, so its sums may round otherwise, and it says so.
    assert found.rounding < 1e-6 and len(found.switches) == 3 and found.silent == ()
    everything = switches(program, params, *batch, libraries=True)
    assert len(everything.switches) == 4 and everything.elsewhere == 0


def test_a_stop_that_nothing_waits_at_is_said_so(given):
    params, batch, _ = given
    loss = lambda params, x, y: ((jax.lax.stop_gradient(x) @ params["x"])**2).mean()
    found = switches(loss, params, *batch)
    assert len(found.silent) == 1 and "no credit waits at" in repr(found)


def test_what_has_no_switch_is_an_error(given):
    params, batch, _ = given
    with pytest.raises(backcut.Error, match="no stop_gradient of its own"):
        switches(lambda params, x, y: (x @ params["x"]).sum(), params, *batch)
    with pytest.raises(backcut.Error, match="not one number"):
        switches(lambda params, x, y: (program(params, x, y), x), params, *batch)
    with pytest.raises(backcut.Error, match="nobody makes one"):
        switches(program, params, *batch, held_out=batch)
