"""The update of a quadrotor or a vessel in JAX; timed, one thread.

    backcut export --noise 0.20 --out export.safetensors
    python examples/update_jax.py export.safetensors [CUT] [UPDATES]

The policy and the cuts are in `policy_jax.py`, the systems in `quadrotor_jax.py` and `vessel_jax.py`.
"""
import os
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
import jax
import jax.numpy as jnp

from export_file import Cut, Export
from policy_jax import loss
from quadrotor_jax import Quadrotor
from vessel_jax import Vessel

SYSTEMS = {"quadrotor": Quadrotor, "vessel": Vessel}


def load(export):
    """Parameters and task."""
    if export.system not in SYSTEMS:
        sys.exit(f"update_jax.py knows {' and '.join(SYSTEMS)}, not {export.system}")
    jax.config.update("jax_enable_x64", export.header["precision"] == "f64")
    return jax.tree.map(jnp.asarray, export.family("param")), SYSTEMS[export.system](export)


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
    params, task = load(export)
    f = jax.jit(jax.value_and_grad(lambda p: loss(p, task, Cut(name, export.draw())), has_aux=True))
    (total, of_row), found = f(params)
    return float(total), jax.device_get(of_row), jax.device_get(found)


def main(path, name="FF", updates="100"):
    export = Export(path)
    if export.rule != "adamw" or export.optimizer["clip"] == "none" or "groups" in export.optimizer:
        sys.exit("only AdamW with a clip and without groups is timed here")
    params, task = load(export)
    zeros = {n: jnp.zeros_like(p) for n, p in params.items()}
    moments = (zeros, zeros)

    @jax.jit
    def update(params, moments, count):
        f = lambda p: loss(p, task, Cut(name))
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
