"""Policies in a differentiable loop that declare their edges, and what literal stop-gradients make of the same."""
import functools

import jax
import jax.numpy as jnp
import numpy as np

ROWS, WIDTH, HEADS = 3, 6, 2
CUTS = ["FF", "FD", "F_SG", "SEG-2", "SEG-3", "F_A0.5", "KF", "K_SG", "KD", "K_SEG-3"]
DRAWN = ["RSEG-3", "RT-0.5", "URT-0.5"]


def drawn(seed, *shapes):
    made = np.random.default_rng(seed)
    return {name: jnp.asarray(made.normal(size=shape) / shape[0]**0.5) for name, shape in dict(shapes).items()}


def gru(params, memory, h, x, t):
    """The engine's gated recurrent unit; what weights make of `h` is declared, for FD."""
    h = memory.carry("h", h, t - 1)
    by = lambda part, h: memory.projected("h", h @ params[f"{part}_h"], t - 1)
    keep = jax.nn.sigmoid(x @ params["keep_x"] + by("keep", h))
    reset = jax.nn.sigmoid(x @ params["reset_x"] + by("reset", h))
    new = jnp.tanh(x @ params["new_x"] + by("new", reset * h))
    made = keep * h + (1 - keep) * new
    return made, made


def lstm(params, memory, pair, x, t):
    pair = memory.carry("hc", pair, t - 1)
    h, c = pair["h"], pair["c"]
    gates = x @ params["gates_x"] + jnp.concatenate(
        [memory.projected("hc.h", h @ params["gates_h"], t - 1)], -1)
    i, f, g, o = jnp.split(gates, 4, -1)
    c = jax.nn.sigmoid(f) * memory.projected("hc.c", c * 1.0, t - 1) + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return {"h": h, "c": c}, h


def attention(params, memory, caches, x, t):
    """One step of attention over a cache."""
    keys, values = caches
    n = jnp.tanh(x @ params["embed"])
    keys = memory.store("block.keys", keys, n, lambda n: n @ params["k"], t)
    values = memory.store("block.values", values, n, lambda n: n @ params["v"], t)
    k, v = memory.read("block.keys", keys, t), memory.read("block.values", values, t)
    scores = jnp.einsum("bd,bjd->bj", n @ params["q"], k) / WIDTH**0.5
    seen = jnp.where(jnp.arange(memory.steps) <= t, scores, -jnp.inf)
    return (keys, values), n + jnp.einsum("bj,bjd->bd", jax.nn.softmax(seen, -1), v)


POLICIES = {"gru": gru, "lstm": lstm, "attention": attention}


def params_of(name):
    square = (WIDTH, WIDTH)
    inner = {"gru": {f"{part}_{of}": (3, WIDTH) if of == "x" else square
                     for part in ("keep", "reset", "new") for of in "xh"},
             "lstm": {"gates_x": (3, 4 * WIDTH), "gates_h": (WIDTH, 4 * WIDTH)},
             "attention": {"embed": (3, WIDTH), "q": square, "k": square, "v": square}}[name]
    return drawn(0, *inner.items(), ("head", (WIDTH, 1)))


def empty(name, memory):
    zeros = jnp.zeros((ROWS, WIDTH))
    if name == "attention":
        return memory.cache(zeros.shape, zeros.dtype), memory.cache(zeros.shape, zeros.dtype)
    return {"h": zeros, "c": zeros} if name == "lstm" else zeros


def loop(name):
    """`loss(params, memory)`: a point mass that the policy steers against a wind, by scan."""
    start, wind = np.random.default_rng(7).normal(size=(2, ROWS))

    def loss(params, memory):
        def step(carried, t):
            kept, body = carried
            body = memory.state("body", body, t - 1)
            x = jnp.stack([body["place"], body["speed"], jnp.sin(t + jnp.asarray(wind))], -1)
            kept, out = POLICIES[name](params, memory, kept, x, t)
            push = (out @ params["head"])[:, 0]
            speed = 0.8 * body["speed"] + 0.3 * (push + wind)
            place = body["place"] + 0.3 * speed
            return (kept, {"place": place, "speed": speed}), (place**2 + 0.01 * push**2).mean()
        body = {"place": jnp.asarray(start), "speed": jnp.zeros(ROWS)}
        each = jax.lax.scan(step, (empty(name, memory), body), jnp.arange(memory.steps))[1]
        return each.mean(), each
    return loss


def parallel(steps):
    """`loss(params, memory)`: two blocks of causal attention over all steps at once."""
    x = jnp.asarray(np.random.default_rng(3).normal(size=(ROWS, steps, 3)))

    def loss(params, memory):
        n = jnp.tanh(x @ params["embed"])
        for block in ("a", "b"):
            split = lambda y: y.reshape(*y.shape[:-1], HEADS, -1)
            project = lambda n: (split(n @ params["k"]), split(n @ params["v"]))
            seen = memory.attention(block, split(n @ params["q"]), n, project)
            n = n + jnp.tanh(seen.reshape(n.shape))
        each = ((n @ params["head"])**2).mean((0, 2))
        return each.mean(), each
    return loss


@functools.partial(jax.jit, static_argnums=(0, 3))
def literal_slopes(loss, params, tables, steps):
    """The loss and its gradient by literal stop-gradients; compiled once for all cuts."""
    return jax.value_and_grad(lambda params: loss(params, Literal(tables, steps))[0])(params)


def tables_of(credit):
    """What the engine's rule leaves of edges, as numbers."""
    assert credit.most in (None, 0)
    states = {name: 0.0 if counts and credit.most == 0 else factor for name, (factor, counts) in credit.states.items()}
    return {"stored": dict(credit.stored), "weights": dict(credit.weights), "states": states}


class Literal:
    """What a tape offers, with a stop_gradient wherever the engine's rule says that credit ends."""

    def __init__(self, tables, steps):
        self.tables, self.steps = tables, steps

    def _mixed(self, x, share):
        stop = jax.lax.stop_gradient(x)
        return jnp.where(share == 1, x, jnp.where(share == 0, stop, stop + share * (x - stop)))

    def _carried(self, which, name, tree, t):
        def leaf(path, x):
            key = ".".join([name, *(str(entry.key) for entry in path)])
            table = jnp.asarray(self.tables[which][key])
            return self._mixed(x, jnp.where(t < 0, 1.0, table[jnp.maximum(t, 0)]))
        return jax.tree_util.tree_map_with_path(leaf, tree)

    def carry(self, name, h, t):
        return self._carried("stored", name, h, t)

    def projected(self, name, x, t):
        return self._carried("weights", name, x, t)

    def state(self, name, s, t):
        def leaf(path, x):
            return self._mixed(x, jnp.where(t < 0, 1.0, self.tables["states"][f"{name}.{path[0].key}"]))
        return jax.tree_util.tree_map_with_path(leaf, s)

    def cache(self, shape, dtype):
        return [jnp.zeros((shape[0], self.steps, *shape[1:]), dtype)] * 2

    def store(self, name, cache, n, project, t):
        made = project(n), project(jax.lax.stop_gradient(n))
        return [side.at[:, t].set(x) for side, x in zip(cache, made)]

    def _sides(self, name):
        """Shares of every pair: of the side through the stored value, and of the one through its weights alone."""
        stored, weights = (jnp.asarray(self.tables[which][name])[:self.steps, :self.steps]
                           for which in ("stored", "weights"))
        return stored, weights - stored

    def read(self, name, cache, t):
        (near, far), shares = cache, [side[t][:, None] for side in self._sides(name)]
        kept = [share * (x - jax.lax.stop_gradient(x)) for share, x in zip(shares, (near, far))]
        return jax.lax.stop_gradient(near) + kept[0] + kept[1]

    def attention(self, name, q, n, project):
        """Every pair reads a key and a value of its own."""
        sides = [project(n), project(jax.lax.stop_gradient(n))]

        def pairs(side, index):
            shares = [share[None, :, :, None, None] for share in self._sides(f"{name}.{side}")]
            near, far = (sides[which][index][:, None] for which in (0, 1))
            return (jax.lax.stop_gradient(near) + shares[0] * (near - jax.lax.stop_gradient(near))
                    + shares[1] * (far - jax.lax.stop_gradient(far)))
        scores = jnp.einsum("btnh,btsnh->bnts", q, pairs("keys", 0)) / q.shape[-1]**0.5
        weights = jax.nn.softmax(jnp.where(jnp.tri(self.steps, dtype=bool), scores, -jnp.inf), -1)
        return jnp.einsum("bnts,btsnh->btnh", weights, pairs("values", 1))


def off(found, wanted):
    """The largest difference of any component, relative to the wanted gradient's length."""
    flat = lambda tree: np.concatenate([np.asarray(x, np.float64).ravel() for x in jax.tree_util.tree_leaves(tree)])
    return np.abs(flat(found) - flat(wanted)).max() / np.linalg.norm(flat(wanted))
