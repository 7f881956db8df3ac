"""Memory cuts in JAX, held to the engine's own gradients."""
import backcut
import numpy as np
import pytest
from conftest import CUTS, SMALL, off

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402


@pytest.mark.parametrize("name", CUTS.split(","))
def test_attention_caches_have_the_engines_gradients(export, monkeypatch, name):
    import backcut.jax
    import policy_jax
    import update_jax
    exported = export(*SMALL, "--cuts", CUTS, "--precision", "f64")
    cache = backcut.jax.Cache(name, exported.settings["policy"]["steps"])

    def remember(params, credit, task, stored, place, n, t):
        project = lambda x: policy_jax.split_heads(policy_jax.linear(params, place, x), task.heads)
        return cache.store(stored, n, project, t)

    monkeypatch.setattr(policy_jax, "remember", remember)
    monkeypatch.setattr(policy_jax, "kept_sides", lambda credit: cache.sides)
    _, _, found = update_jax.gradient(exported, name)
    assert off(exported, name, found) < 1e-12


def gru(params, cut, block, x, h, t):
    """The engine's gated recurrent unit; `h` was handed over by step t - 1."""
    from policy_jax import linear
    seen = backcut.jax.carry("F_SG" if cut == "FD" else cut, h, t - 1)
    # What FD makes a constant is the product with recurrent weights; the bias is none of it.
    by = lambda part: (backcut.jax.carry(cut, h, t - 1, lambda h: h @ params[f"{block}.{part}_h.weight"])
                       + params[f"{block}.{part}_h.bias"][0])
    keep = jax.nn.sigmoid(linear(params, f"{block}.keep_x", x) + by("keep"))
    reset = jax.nn.sigmoid(linear(params, f"{block}.reset_x", x) + by("reset"))
    new = jnp.tanh(linear(params, f"{block}.new_x", x) + linear(params, f"{block}.new_h", reset * seen))
    return keep * seen + (1 - keep) * new


@pytest.mark.parametrize("name", CUTS.split(","))
def test_recurrent_states_have_the_engines_gradients(export, name):
    import policy_jax
    import update_jax
    recurrent = ["--set", "policy.mixer=gru", "--set", "policy.layers=1"]
    exported = export(*SMALL, *recurrent, "--cuts", CUTS, "--precision", "f64")
    params, task = update_jax.load(exported)
    linear, layer_norm = policy_jax.linear, policy_jax.layer_norm

    def loss(params):
        state, total = task.initial, 0.0
        width = params["position"].shape[-1]
        memory = [jnp.zeros((task.rows, width), state.dtype)] * task.layers
        for t in range(task.steps):
            at = {key: x[t] for key, x in task.over_time.items()}
            h = linear(params, "embedding", task.token(state, at)) + params["position"][t]
            for layer in range(task.layers):
                block = f"block{layer}"
                memory[layer] = gru(params, name, block, layer_norm(params, f"{block}.norm1", h), memory[layer], t)
                h = h + linear(params, f"{block}.w_o", memory[layer])
                h = policy_jax.feed_forward(params, block, h)
            state, cost = task.step(state, linear(params, "head", layer_norm(params, "norm", h)), at)
            total = total + cost.sum()
        return total

    found = jax.jit(jax.grad(loss))(params)
    assert off(exported, name, found) < 1e-12


def test_cuts_that_a_memory_can_not_make_are_refused():
    import backcut.jax
    with pytest.raises(backcut.Error, match="physical states"):
        backcut.jax.Cache("K4F", 8)
    with pytest.raises(backcut.Error, match="project"):
        backcut.jax.carry("FD", jnp.ones(2), 0)


def test_trees_have_names_and_adam_has_moments():
    import backcut.jax
    tree = {"block": [{"w": jnp.ones((2, 3))}, {"w": jnp.zeros(2)}], "b": jnp.ones(1)}
    assert sorted(backcut.jax.named(tree)) == ["b", "block.0.w", "block.1.w"]
    with pytest.raises(backcut.Error, match="two leaves"):
        backcut.jax.named({"a.b": jnp.ones(1), "a": {"b": jnp.ones(1)}})

    class Adam:  # optax.ScaleByAdamState, which needs no optax here
        def __init__(self, count):
            self.count, self.mu, self.nu = count, tree, tree

    settings = {"rate": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "decay": 0.01}
    with pytest.warns(DeprecationWarning, match="write backcut.jax.measure"):
        state = backcut.jax.adam_state((Adam(3), ()), "adamw", clip=1.0, **settings)
        assert (state.kind, state.step, state.clip, len(state.moments)) == ("adamw", 3, 1.0, 2)
        assert backcut.jax.adam_state(Adam(0), "adam", **settings).moments == []
        with pytest.raises(backcut.Error, match="nobody said beta1, beta2, eps, decay"):
            backcut.jax.adam_state(Adam(0), "adam", rate=1e-3)
        with pytest.raises(backcut.Error, match="holds 0"):
            backcut.jax.adam_state((), rate=1)
    loss = lambda params, scale: scale * (params["w"]**2).sum()
    arms = backcut.jax.gradients(loss, {"full": 1.0, "half": 0.5}, {"w": jnp.ones(3)})
    found = backcut.compare({"w": np.ones(3)}, arms)
    assert found.value("gradient.ratio", "half") == 0.5 and found.value("gradient.cosine", "half") == 1.0
