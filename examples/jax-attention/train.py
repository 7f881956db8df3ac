"""An attention policy in JAX that steers against a wind it can not see, differentiated through the simulator.

    python3 train.py                 # by hand: trains one arm and prints the result
    backcut study run study.toml     # as a study: started once per unit

Lines marked `# +` were added for backcut; the rest is the script as it was.
"""
import functools

import jax
import jax.numpy as jnp

import backcut                                                                        # +
from backcut.jax import Cache, measure, reach                                         # +

STEPS, ROWS, WIDTH, RATE = 16, 32, 16, 3e-3


def init(key):
    shapes = {"embed": (3, WIDTH), "q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "head": (WIDTH, 1)}
    keys = jax.random.split(key, len(shapes))
    return {name: jax.random.normal(k, shape) / shape[0]**0.5 for k, (name, shape) in zip(keys, shapes.items())}


def losses(params, cut, key, store=lambda name, t, x: x, states=lambda x: x):
    """The cost of every step: distance from the origin and effort, under a wind that is drawn anew."""
    start, wind = jax.random.normal(key, (2, ROWS))
    cache = Cache(cut, STEPS)                                                         # + was: keys.at[:, t].set(...)
    keys = values = cache.empty((ROWS, WIDTH))                                        # +

    def step(carried, t):
        place, speed, last = states(carried[0])
        keys, values = carried[1]
        n = store("stored", t, jnp.tanh(jnp.stack([place, speed, last], -1) @ params["embed"]))
        keys, k = cache.store(keys, n, lambda n: n @ params["k"], t)                  # +
        values, v = cache.store(values, n, lambda n: n @ params["v"], t)              # +
        scores = jnp.einsum("bd,bjd->bj", n @ params["q"], k) / WIDTH**0.5
        weights = jax.nn.softmax(jnp.where(jnp.arange(STEPS) <= t, scores, -jnp.inf), -1)
        push = (n + jnp.einsum("bj,bjd->bd", weights, v)) @ params["head"]
        speed = 0.8 * speed + 0.3 * (push[:, 0] + wind)
        place = place + 0.3 * speed
        return ((place, speed, push[:, 0]), (keys, values)), (place**2 + 0.01 * push[:, 0]**2).mean()

    zeros = jnp.zeros(ROWS)
    return jax.lax.scan(step, ((start, zeros, zeros), (keys, values)), jnp.arange(STEPS))[1]


def total(params, cut, key):
    return losses(params, cut, key).mean()


@jax.jit
def adam(grads, state, params):
    """What Adam adds to the parameters, and its next state: an `update` as optax has it."""
    count, mu, nu = state
    count = count + 1
    mu = {n: 0.9 * mu[n] + 0.1 * g for n, g in grads.items()}
    nu = {n: 0.999 * nu[n] + 0.001 * g**2 for n, g in grads.items()}
    step = lambda n: RATE * (mu[n] / (1 - 0.9**count)) / (jnp.sqrt(nu[n] / (1 - 0.999**count)) + 1e-8)
    return {n: -step(n) for n in params}, (count, mu, nu)


def main():
    unit = backcut.unit(seed=1, updates=400, settings={"cut": "SEG-4"})               # +
    cut = unit.settings["cut"]                                                        # +
    key = jax.random.PRNGKey(unit.seed)
    params = init(key)
    state = 0.0, *[{n: jnp.zeros_like(p) for n, p in params.items()}] * 2

    by_memory = lambda store: losses(params, cut, key, store, jax.lax.stop_gradient)  # + states are constants
    print("by memory alone:", reach(by_memory).words())                               # +

    gradient = jax.jit(jax.grad(functools.partial(total, cut=cut)))
    for update in range(unit.updates):
        grads = gradient(params, key=jax.random.fold_in(key, update))
        added, state = adam(grads, state, params)
        params = {n: p + added[n] for n, p in params.items()}
        if update % 50 == 0:
            unit.progress(update)                                                     # +

    arms = {name: name for name in ("FF", "FD", "SEG-4")}                             # +
    found = measure(total, arms, params, jax.random.fold_in(key, 10**6), tx=adam, state=state)              # +
    unit.findings(found, ["gradient.cosine", "gradient.ratio", "applied.cosine"])     # +

    held_out = jax.random.split(jax.random.PRNGKey(10**6 + unit.seed), 16)
    error = jax.jit(jax.vmap(lambda key: total(params, "FF", key)))(held_out).mean()
    unit.finish(float(error))                                                         # + was: a print


if __name__ == "__main__":
    main()
