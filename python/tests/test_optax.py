"""Updates are made by optax itself: whatever the optimizer is, they have its own bits."""
import backcut
import numpy as np
import pytest

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
import jax.numpy as jnp  # noqa: E402
from backcut.jax import adam_state, gradients, measure, named, updates  # noqa: E402

KEY = jax.random.PRNGKey(0)
X = jax.random.normal(KEY, (6, 4), jnp.float32)
PARAMS = {"cell": {"w": jax.random.normal(KEY, (4, 5), jnp.float32), "b": jnp.zeros(5, jnp.float32)},
          "head": {"w": jax.random.normal(KEY, (5, 3), jnp.float32)}}
ARMS = {"full": 1.0, "cut": 0.0}


def loss(params, arm, x):
    h = jnp.tanh(x @ params["cell"]["w"] + params["cell"]["b"])
    kept = arm * h + (1 - arm) * jax.lax.stop_gradient(h)
    return ((kept @ params["head"]["w"] - 1)**2).mean() + 0.1 * (h**2).mean()


def matrices(params):
    return jax.tree_util.tree_map(lambda p: p.ndim > 1, params)


OPTIMIZERS = {
    "adam": lambda: optax.adam(1e-2),
    "adamw, defaults": lambda: optax.adamw(1e-2),
    "amsgrad": lambda: optax.amsgrad(1e-2),
    "adam, nesterov": lambda: optax.adam(1e-2, nesterov=True),
    "nadamw": lambda: optax.nadamw(1e-2),
    "adamax": lambda: optax.adamax(1e-2),
    "lamb": lambda: optax.lamb(1e-2),
    "radam": lambda: optax.radam(1e-2),
    "adabelief": lambda: optax.adabelief(1e-2),
    "yogi": lambda: optax.yogi(1e-2),
    "global clip, adam": lambda: optax.chain(optax.clip_by_global_norm(0.1), optax.adam(1e-2)),
    "clip of elements, adam": lambda: optax.chain(optax.clip(0.01), optax.adam(1e-2)),
    "four gradients to an update": lambda: optax.MultiSteps(optax.adam(1e-2), 4),
    "novograd": lambda: optax.novograd(1e-2),
    "muon": lambda: optax.contrib.muon(1e-2),
    "masked": lambda: optax.masked(optax.adamw(1e-2), matrices),
    "two groups": lambda: optax.multi_transform(
        {True: optax.adam(1e-2), False: optax.sgd(1e-1)}, matrices),
    "schedule": lambda: optax.adamw(optax.cosine_decay_schedule(1e-2, 20), weight_decay=0.1),
    "sgd, nesterov": lambda: optax.sgd(1e-2, momentum=0.9, nesterov=True),
    "rmsprop": lambda: optax.rmsprop(1e-2, momentum=0.9),
    "adafactor": lambda: optax.adafactor(1e-2, min_dim_size_to_factor=2),
    "lion": lambda: optax.lion(1e-3),
}
# What `adam_state` may say of an optax state: Adam and AdamW with these settings, and nothing else.
SETTINGS = {"rate": 1e-2, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8}
KNOWN = {"adam": ("adam", {"decay": 0.0}, None), "adamw, defaults": ("adamw", {"decay": 1e-4}, None),
         "global clip, adam": ("adam", {"decay": 0.0}, 0.1)}


def trained(tx, count=5):
    @jax.jit
    def step(params, state):
        made, state = tx.update(jax.grad(loss)(params, 1.0, X), state, params)
        return optax.apply_updates(params, made), state

    params, state = PARAMS, tx.init(PARAMS)
    for _ in range(count):
        params, state = step(params, state)
    return params, state


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("compiled", [False, True])
def test_the_applied_update_is_optaxs_own_to_the_last_bit(name, compiled):
    tx = OPTIMIZERS[name]()
    step = jax.jit(tx.update) if compiled else tx.update
    params, state = trained(tx)
    kept = jax.tree_util.tree_map(np.array, state)
    found = gradients(loss, ARMS, params, X)
    made = updates(step if compiled else tx, state, params, found)
    own = {}
    for arm, value in ARMS.items():
        gradient = jax.jit(jax.grad(lambda p, value=value: loss(p, value, X)))(params)
        own[arm] = named(step(gradient, state, params)[0])
        assert all(np.array_equal(own[arm][leaf], made[arm][leaf]) and made[arm][leaf].dtype == np.float32
                   for leaf in own[arm]), arm
    same = jax.tree_util.tree_map(lambda a, b: np.array_equal(a, b), kept, state)
    assert all(jax.tree_util.tree_leaves(same))

    said = measure(loss, ARMS, params, X, tx=step if compiled else tx, state=state)
    flat = {arm: np.concatenate([own[arm][leaf].ravel() for leaf in named(params)]).astype(np.float64) for arm in own}
    a, b = flat["full"], flat["cut"]
    close = lambda quantity, value: said.value(f"applied.{quantity}", "cut") == pytest.approx(value, rel=1e-12)
    assert close("norm", np.linalg.norm(b))
    if name == "four gradients to an update":  # the sixth gradient waits for the eighth
        assert not a.any() and said.value("applied.cosine", "cut") is None
    else:
        assert close("ratio", np.linalg.norm(b) / np.linalg.norm(a))
        assert close("difference", np.linalg.norm(a - b) / np.linalg.norm(a))
        assert close("cosine", a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    with pytest.raises(backcut.Error, match="makes its own updates"):
        said.value("rho.median", "cut")


def test_the_fourth_of_four_gradients_makes_the_update():
    tx = OPTIMIZERS["four gradients to an update"]()
    params, state = trained(tx, 3)
    found = measure(loss, ARMS, params, X, tx=tx, state=state)
    assert found.value("applied.norm", "full") > 0 and found.value("applied.cosine", "cut") < 1


@pytest.mark.parametrize("name, count", [*((name, 5) for name in OPTIMIZERS), *((name, 0) for name in KNOWN)])
def test_adams_state_is_held_to_what_the_optimizer_does(name, count):
    tx = OPTIMIZERS[name]()
    params, state = trained(tx, count)
    kind, decay, clip = KNOWN.get(name, ("adam", {"decay": 0.0}, None))
    call = lambda clip=clip: adam_state(state, kind, clip, tx=tx, params=params, **SETTINGS, **decay)
    with pytest.warns(DeprecationWarning, match="measure"):
        if name not in KNOWN:
            with pytest.raises(backcut.Error, match="is not what made the updates|of another optimizer|Adam's states|lacks"):
                call()
            return
        optimizer = call()
    grads = gradients(loss, ARMS, params, X)
    own = backcut.compare(named(params), grads, optimizer)
    made = backcut.compare(named(params), grads, optimizer, updates=updates(tx, state, params, grads))
    quantities = lambda found: set(zip(found.table["quantity"], found.table["arm"], found.table["part"]))
    assert quantities(own) == quantities(made)
    assert made.value("applied.cosine", "cut") == pytest.approx(own.value("applied.cosine", "cut"), abs=1e-6)
    assert (made.value("rho.median", "cut") is None) == (count == 0)
    if clip is not None and count:  # Adam's first update has no length to clip
        with pytest.warns(DeprecationWarning), pytest.raises(backcut.Error, match="is not what made the updates"):
            call(clip=None)


def test_nothing_is_guessed():
    params, state = trained(optax.adamw(1e-2))
    with pytest.warns(DeprecationWarning), pytest.raises(backcut.Error, match="nobody said kind, beta1"):
        adam_state(state, rate=1e-2)
    with pytest.warns(DeprecationWarning), pytest.raises(backcut.Error, match="nadam, adamax, lamb"):
        adam_state(state, "adamw", **SETTINGS, decay=1e-4)
    with pytest.raises(backcut.Error, match="`chain` with ScaleByAdamState"):
        measure(loss, ARMS, params, X, tx=optax.adamw(1e-2), state=state).value("rho.median", "cut")
    with pytest.raises(backcut.Error, match="no tree like the parameters"):
        updates(optax.adamw(1e-2), state, params, {"full": {"other": X}})
