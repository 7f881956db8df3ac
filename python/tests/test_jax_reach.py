"""How far gradients go in JAX loops, right ones and deliberately wrong ones."""
import backcut
import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from backcut.jax import Cache, carry, reach  # noqa: E402

STEPS = 12
X = jnp.asarray(np.random.default_rng(0).normal(size=(STEPS, 3)), jnp.float32)
W = jnp.asarray(np.random.default_rng(1).normal(size=(3, 3)) / 3, jnp.float32)


def recurrent(between):
    """Losses of a small recurrent loop; `between(h, t)` is what stands between two steps."""
    def losses(store):
        h, found = jnp.zeros(3), []
        for t in range(STEPS):
            h = store("h", t, jnp.tanh(X[t] + W @ h))
            found.append((h**2).sum())
            h = between(h, t)
        return jnp.stack(found)
    return losses


@pytest.mark.parametrize("cut, words", [
    ("FF", "full"), ("F_SG", "own step only (F_SG or FD)"), ("SEG-4", "SEG-4"), ("SEG-5", "SEG-5"),
    ("F_A0.5", "full"),
])
def test_cuts_are_named(cut, words):
    found = reach(recurrent(lambda h, t: carry(cut, h, t)))
    assert found.words() == f"{words} at `h`"
    if cut == "F_SG":
        with pytest.raises(backcut.Error, match="look alike"):
            found.check(cut)
    else:
        found.check(cut)


def test_an_offset_is_named():
    stop = lambda h, t: jax.lax.stop_gradient(h) if t % 4 == 2 else h
    assert reach(recurrent(stop)).words() == "SEG-4 with offset 3 at `h`"
    with pytest.raises(backcut.Error, match="with offset 3"):
        reach(recurrent(stop)).check("SEG-4")


def test_a_detach_too_many_is_no_cut():
    stop = lambda h, t: jax.lax.stop_gradient(h) if t in (3, 7, 9) else h
    found = reach(recurrent(stop))
    assert "no cut that has a name" in found.words()
    with pytest.raises(backcut.Error, match="the loss of step 10 does not reach step 8"):
        found.check("SEG-4")


def test_a_flag_without_effect_is_full():
    def ignored(h, t, truncate=4):
        return h if truncate else jax.lax.stop_gradient(h)
    found = reach(recurrent(ignored))
    with pytest.raises(backcut.Error, match="full; the loss of step 4 reaches step 0"):
        found.check("SEG-4")


@pytest.mark.parametrize("kept", [False, True])
def test_a_state_that_is_kept_across_updates_is_seen(kept):
    half = STEPS // 2
    between = lambda h, t: jax.lax.stop_gradient(h) if t == half - 1 and not kept else h
    found = reach(recurrent(between), updates=[half])
    want = "kept across updates (the loss of step 6 reaches step 0" if kept else "full at `h`"
    assert found.words().startswith(want)
    with pytest.raises(backcut.Error, match="updates that begin at"):
        reach(recurrent(between), updates=[STEPS])


def test_it_works_inside_scan_and_is_as_strong_as_the_gradient():
    def losses(store):
        def step(h, at):
            x, t = at
            h = store("h", t, jnp.tanh(x + W @ h))
            return carry("SEG-4", h, t), (h**2).sum()
        return jax.lax.scan(step, jnp.zeros(3), (X, jnp.arange(STEPS)))[1]
    scanned = reach(losses)
    assert scanned.words() == "SEG-4 at `h`"
    looped = reach(recurrent(lambda h, t: carry("SEG-4", h, t)))
    assert np.allclose(scanned.states["h"], looped.states["h"], rtol=1e-5, equal_nan=True)
    # The own step: the loss is |h|^2, its gradient 2 h.
    h = jnp.tanh(X[0])
    assert scanned.states["h"][0, 0] == pytest.approx(float(jnp.linalg.norm(2 * h)), rel=1e-5)


@pytest.mark.parametrize("cut, at_h, at_key", [
    ("FF", "full", "full"), ("FD", "own step only (F_SG or FD)", "own step only (F_SG or FD)"),
    ("F_SG", "own step only (F_SG or FD)", "full"), ("SEG-4", "SEG-4", "full"),
])
def test_a_cache_and_what_is_projected_from_it(cut, at_h, at_key):
    """F_SG and FD differ in what their projections receive: then keys are reached, or they are not."""
    cache = Cache(cut, STEPS, axis=0)

    def losses(store):
        keys, found = cache.empty((3,)), []
        for t in range(STEPS):
            n = store("h", t, jnp.tanh(X[t]))
            keys, read = cache.store(keys, n, lambda n: n @ W, t)
            seen = jnp.where((jnp.arange(STEPS) <= t)[:, None], read, 0)
            found.append((seen.sum(0)**2).sum())
        return jnp.stack(found)
    found = reach(losses)
    assert found.verdict("h").words == at_h
    # Keys themselves: noted when they are made for later queries.
    def of_keys(store):
        keys, found = cache.empty((3,)), []
        for t in range(STEPS):
            made = lambda n: store("k", t, n @ W)
            keys, read = cache.store(keys, jnp.tanh(X[t]), made, t)
            seen = jnp.where((jnp.arange(STEPS) <= t)[:, None], read, 0)
            found.append((seen.sum(0)**2).sum())
        return jnp.stack(found)
    assert reach(of_keys).verdict("k").words == at_key


def test_several_states_are_named_apart():
    def losses(store):
        h, c, found = jnp.zeros(3), jnp.zeros(3), []
        for t in range(STEPS):
            h = store("h", t, jnp.tanh(X[t] + W @ h))
            c = store("cache.1", t, c + X[t])
            found.append((h**2).sum() + (c**2).sum())
            h = carry("SEG-3", h, t)
        return jnp.stack(found)
    found = reach(losses)
    assert found.words() == "SEG-3 at `h`; full at `cache.1`"
    drawn = found._repr_svg_()
    assert drawn.count("loss of step t") == 4 and "SEG-3" in drawn


def test_what_can_not_be_measured_is_an_error():
    with pytest.raises(backcut.Error, match="nothing was stored"):
        reach(lambda store: jnp.ones(3))
    with pytest.raises(backcut.Error, match="one loss per step"):
        reach(lambda store: store("h", 0, jnp.ones(3)).sum())
    with pytest.raises(backcut.Error, match="shapes"):
        reach(lambda store: jnp.stack([store("h", t, jnp.ones(t + 1)).sum() for t in range(2)]))


def test_a_window_has_no_name_but_words():
    def losses(store):
        seen, found = [], []
        for t in range(STEPS):
            seen.append(store("h", t, X[t]))
            found.append((sum(seen[-3:])**2).sum())
        return jnp.stack(found)
    found = reach(losses)
    assert found.words().startswith("nothing is cut where the forward reads it; the forward reads 3 steps")
    found.check("FF", window=3)
    with pytest.raises(backcut.Error, match="can not be seen"):
        found.check("FF")


def test_what_is_smaller_than_a_float_is_not_zero():
    """A plain network over 256 steps: its gradient is below the smallest single after some hundred steps."""
    steps, w = 256, 0.4 * np.random.default_rng(1).normal(size=(4, 4)) / 2
    x = jnp.asarray(np.random.default_rng(0).normal(size=(steps, 4)), jnp.float32)

    def losses(store, cut="FF"):
        def step(h, at):
            t, x = at
            h = store("h", t, jnp.tanh(x + jnp.asarray(w, jnp.float32) @ carry(cut, h, t - 1)))
            return h, (h**2).sum()
        return jax.lax.scan(step, jnp.zeros(4), (jnp.arange(steps), x))[1]
    found = reach(losses)
    assert found.words() == "full at `h`" and found.states["h"][255, 0] < 1e-45
    assert found.states["h"][255, 254] > 1e-3
    found.check("FF")
    assert reach(lambda store: losses(store, "SEG-100")).words() == "SEG-100 at `h`"


def test_the_end_of_an_episode_is_no_cut():
    """A state that is reset where an episode ends, as recurrent PPO has it."""
    def losses(store, stop=lambda h: h):
        ends = jnp.asarray([t % 5 == 4 for t in range(STEPS)])
        def step(h, at):
            t, x, is_first = at
            h = store("h", t, jnp.tanh(x + W @ jnp.where(is_first, 0.0, stop(h))))
            return h, (h**2).sum()
        first = jnp.concatenate([jnp.ones(1, bool), ends[:-1]])
        return jax.lax.scan(step, jnp.zeros(3), (jnp.arange(STEPS), X, first))[1]
    found = reach(losses)
    assert found.words().startswith("nothing is cut where the forward reads it; the forward starts anew at step 5, 10")
    with pytest.raises(backcut.Error):
        found.check("SEG-5")
    cut = reach(lambda store: losses(store, jax.lax.stop_gradient))
    assert cut.verdict("h").cut is None and "starts anew" in cut.words()


def test_looking_leaves_what_was_jitted_as_it_was():
    cell = jax.jit(lambda h, x: jnp.tanh(jax.lax.stop_gradient(h) @ W + x))

    def losses(store, x=X):
        h, found = jnp.ones(3), []
        for t in range(4):
            h = store("h", t, cell(cell(h, x[t]), x[t]))
            found.append((h**2).sum())
        return jnp.stack(found)
    assert reach(losses).words() == "own step only (F_SG or FD) at `h`"
    wanted = jax.grad(lambda x: sum((jnp.tanh(jax.lax.stop_gradient(h) @ W + x)**2).sum() for h in [jnp.ones(3)]))(X[0])
    assert (jax.grad(lambda x: (cell(jnp.ones(3), x)**2).sum())(X[0]) == wanted).all()


def test_a_scanned_module_that_is_reset_is_looked_into():
    """A recurrent policy as flax code has it: `nn.scan` over a cell, a reset where an episode begins."""
    nn = pytest.importorskip("flax.linen", reason="flax is not installed")

    class Cell(nn.Module):
        store: object

        @nn.compact
        def __call__(self, h, at):
            x, first, t = at
            h, _ = nn.GRUCell(features=4)(jnp.where(first[:, None], 0.0, h), x)
            h = self.store("h", t, h)
            return h, h

    class Net(nn.Module):
        store: object

        @nn.compact
        def __call__(self, x, first):
            scan = nn.scan(Cell, variable_broadcast="params", split_rngs={"params": False}, in_axes=0)
            return scan(self.store)(jnp.zeros((2, 4)), (x, first, jnp.arange(STEPS)))[1]
    x = jnp.stack([X, -X], 1)
    none = jnp.zeros((STEPS, 2), bool)
    params = Net(lambda name, t, h: h).init(jax.random.PRNGKey(0), x, none)
    look = lambda first: reach(lambda store: (Net(store).apply(params, x, first)**2).mean((1, 2)))
    assert look(none).words() == "full at `h`"
    found = look(none.at[5].set(True))
    assert found.verdict("h").cut is None and "starts anew at step 5, as at an episode's end" in found.words()
    for cut in ("SEG-7", "SEG-5", "FF"):
        with pytest.raises(backcut.Error):
            found.check(cut)
