"""The quadrotor's update in JAX, written from its definition; timed, one thread.

    backcut export --noise 0.20 --out export.safetensors
    python examples/update_jax.py export.safetensors [CUT] [UPDATES]

A cut is placed as a stop-gradient when a key and value are stored: FD stores constants, F_SG stores
projections of a constant, so nothing is projected twice.
"""
import os
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
import jax
import jax.numpy as jnp

from export_file import Cut, Export

DT, GRAVITY, HORIZON = 0.05, 9.81, 10
RATE_GAIN = (16.6, 16.6, 5.0)
stop = jax.lax.stop_gradient


def linear(params, name, x):
    return x @ params[f"{name}.weight"] + params[f"{name}.bias"][0]


def layer_norm(params, name, x):
    centred = x - x.mean(-1, keepdims=True)
    scale = jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return centred * scale * params[f"{name}.gain"][0] + params[f"{name}.bias"][0]


def rotation(attitude):
    """Body to world: Rz(yaw) Ry(pitch) Rx(roll)."""
    (sr, sp, sy), (cr, cp, cy) = jnp.sin(attitude).T, jnp.cos(attitude).T
    rows = [[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr]]
    return jnp.stack([jnp.stack(row, -1) for row in rows], -2)


def observe(state, noise, position, velocity, sigma):
    """The 105 entries; `position`, `velocity`: the ten reference points ahead; no sigma is hidden."""
    p, attitude, v, rates = jnp.split(state, 4, -1)
    to_world = rotation(attitude)
    reading = jnp.zeros_like(v) if sigma is None else v + sigma * noise
    body = jnp.einsum("bji,bj->bi", to_world, reading)
    relative = velocity - reading[:, None]
    relative = jnp.zeros_like(relative) if sigma is None else relative
    ahead = jnp.concatenate([position - p[:, None], velocity, relative], -1)
    columns = to_world[:, :2].reshape(len(p), 6)  # rows of body-to-world: columns of world-to-body
    return jnp.concatenate([reading, columns, body, rates, ahead.reshape(len(p), -1)], -1)


def move(state, action):
    p, attitude, v, w = jnp.split(state, 4, -1)
    thrust = 15 * action[:, :1] - 7.5 + GRAVITY
    command = action[:, 1:] - 0.5
    acceleration = rotation(attitude)[:, :, 2] * thrust - jnp.array([0, 0, GRAVITY], state.dtype)
    (r, q, _), (w0, w1, w2) = attitude.T, w.T
    along = jnp.sin(r) * w1 + jnp.cos(r) * w2
    rate = jnp.stack([w0 + jnp.tan(q) * along, jnp.cos(r) * w1 - jnp.sin(r) * w2,
                      along / jnp.cos(q)], -1)
    return jnp.concatenate([p + DT * v + DT**2 / 2 * acceleration, attitude + DT * rate,
                            v + DT * acceleration,
                            w + DT * jnp.array(RATE_GAIN, state.dtype) * (command - w)], -1)


def attend(q, k, v, visible):
    """q: [row][head][d]; k, v: [row][position][head][d]; visible: [position]."""
    scores = jnp.einsum("bhd,bjhd->bhj", q, k) / q.shape[-1] ** 0.5
    weights = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf), -1)
    return jnp.einsum("bhj,bjhd->bhd", weights, v).reshape(len(q), -1)


def loss(params, inputs, cut, settings):
    """Summed over rows and steps, and the loss of each row."""
    policy, sigma = settings["policy"], settings["velocity"]
    sigma = None if sigma == "hidden" else sigma
    steps, heads, width = policy["steps"], policy["heads"], policy["width"]
    rows = len(inputs["initial_state"])
    window = settings["window"] or steps
    positions = jnp.arange(steps)

    # Later queries read a stored key or value from `far` across segments, from `near` within one.
    kept = {"F": ("near",), "D": ("far",), 1: ("far",)}.get(cut.memory, ("far", "near"))

    def remember(cache, name, n, t, is_near):
        """The cache with this step's key or value in it, and what the query reads."""
        project = lambda x: linear(params, name, x).reshape(rows, heads, -1)
        own = project(n)
        new = {"near": lambda: own,
               "far": lambda: stop(own) if cut.memory == "D" else project(stop(n))}
        cache = {side: cache[side].at[:, t].set(new[side]()) for side in kept}
        near = cache.get("near", own[:, None])
        return cache, jnp.where(is_near[:, None, None], near, cache.get("far", near))

    def step(carry, at):
        state, caches = carry
        t, noise, position, velocity = at
        token = observe(state, noise, position, velocity, sigma)
        h = linear(params, "embedding", token) + params["position"][t]
        visible = (positions <= t) & (positions > t - window)
        if cut.memory == "F":
            is_near = positions <= t
        else:
            length = 1 if cut.memory == "D" else cut.memory
            is_near = positions // length == t // length
        new_caches = []
        for layer in range(policy["layers"]):
            block = f"block{layer}"
            n = layer_norm(params, f"{block}.norm1", h)
            keys, k = remember(caches[layer][0], f"{block}.w_k", n, t, is_near)
            values, v = remember(caches[layer][1], f"{block}.w_v", n, t, is_near)
            new_caches.append((keys, values))
            q = linear(params, f"{block}.w_q", n).reshape(rows, heads, -1)
            h = h + linear(params, f"{block}.w_o", attend(q, k, v, visible))
            wide = jax.nn.gelu(linear(params, f"{block}.feed1", layer_norm(params, f"{block}.norm2", h)),
                               approximate=True)
            h = h + linear(params, f"{block}.feed2", wide)
        action = jax.nn.sigmoid(linear(params, "head", layer_norm(params, "norm", h)))
        moved = move(state, action)
        p, _, v, w = jnp.split(moved, 4, -1)
        cost = (10 * ((p - position[:, 0]) ** 2).sum(-1) + ((v - velocity[:, 0]) ** 2).sum(-1)
                + 0.1 * (w**2).sum(-1) + 5 * (action[:, 0] - 0.5) ** 2
                + 0.1 * ((action[:, 1:] - 0.5) ** 2).sum(-1))
        handed = stop(moved) if cut.one_step else moved
        return (handed, tuple(new_caches)), cost

    def windows(reference):
        """[step][row][10][3]: at step t the points t+1 ... t+10."""
        index = positions[:, None] + 1 + jnp.arange(HORIZON)
        return reference[:, index].transpose(1, 0, 2, 3)

    empty = jnp.zeros((rows, steps, heads, width // heads), inputs["initial_state"].dtype)
    caches = (({side: empty for side in kept},) * 2,) * policy["layers"]
    over_time = (positions, inputs["noise"].transpose(1, 0, 2), windows(inputs["reference_position"]),
                 windows(inputs["reference_velocity"]))
    _, costs = jax.lax.scan(step, (inputs["initial_state"], caches), over_time)
    return costs.sum(), costs.sum(0)


def clip_and_adamw(params, moments, count, gradient, optimizer):
    """Parameters and moments after step number `count`, and the clipping factor."""
    adamw = optimizer["adamw"]
    norm = jnp.sqrt(sum((g**2).sum() for g in gradient.values()))
    factor = jnp.minimum(1.0, optimizer["clip"] / norm)
    b1, b2 = adamw["beta1"], adamw["beta2"]
    first = {n: b1 * moments[0][n] + (1 - b1) * factor * g for n, g in gradient.items()}
    second = {n: b2 * moments[1][n] + (1 - b2) * (factor * g) ** 2 for n, g in gradient.items()}
    after = {}
    for name, theta in params.items():
        m, v = first[name] / (1 - b1**count), second[name] / (1 - b2**count)
        step = m / (jnp.sqrt(v) + adamw["eps"])
        after[name] = theta * (1 - adamw["rate"] * adamw["decay"]) - adamw["rate"] * step
    return after, (first, second), factor


def gradient(export, name):
    """Loss, row losses and gradient under a cut, as numpy arrays."""
    if export.header["precision"] == "f64":
        jax.config.update("jax_enable_x64", True)
    params, inputs = (jax.tree.map(jnp.asarray, export.family(f)) for f in ("param", "input"))
    f = jax.jit(jax.value_and_grad(lambda p: loss(p, inputs, Cut(name), export.settings), has_aux=True))
    (total, of_row), found = f(params)
    return float(total), jax.device_get(of_row), jax.device_get(found)


def main(path, name="FF", updates="100"):
    export = Export(path)
    params, inputs = (jax.tree.map(jnp.asarray, export.family(f)) for f in ("param", "input"))
    zeros = {n: jnp.zeros_like(p) for n, p in params.items()}
    moments = (zeros, zeros)

    @jax.jit
    def update(params, moments, count):
        f = lambda p: loss(p, inputs, Cut(name), export.settings)
        (total, _), g = jax.value_and_grad(f, has_aux=True)(params)
        params, moments, _ = clip_and_adamw(params, moments, count, g, export.optimizer)
        return params, moments, total

    params, moments, total = update(params, moments, 1.0)  # compiles
    total.block_until_ready()
    times = []
    for count in range(2, int(updates) + 2):
        start = time.perf_counter()
        params, moments, total = update(params, moments, float(count))
        total.block_until_ready()
        times.append(time.perf_counter() - start)
    print(f"JAX {jax.__version__}, {name}: median {1e3 * sorted(times)[len(times) // 2]:.2f} ms per update")


if __name__ == "__main__":
    main(*sys.argv[1:])
