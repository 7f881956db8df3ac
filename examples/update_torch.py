"""The quadrotor's update in PyTorch (eager), written from its definition; timed, one thread. Other systems
are not here: `update_jax.py` has the vessel.

    backcut export --noise 0.20 --out export.safetensors
    python examples/update_torch.py export.safetensors [CUT] [UPDATES]

A cut is where `detach` stands: on the stored key and value (FD), on the stored representation (F_SG,
SEG-L across segments, F_A a share of it), on the state handed to the next step (K). Where a loss may reach
K steps the rollout is computed in K copies, as more rows: a copy takes its state from the copy before,
the first one a constant, and the loss is the last one's.
"""
import sys
import time

import torch
from torch.nn import functional

from export_file import Cut, Export

DT, GRAVITY, HORIZON = 0.05, 9.81, 10
RATE_GAIN = (16.6, 16.6, 5.0)


def linear(params, name, x):
    return torch.addmm(params[f"{name}.bias"], x, params[f"{name}.weight"])


def layer_norm(params, name, x):
    gain, bias = params[f"{name}.gain"][0], params[f"{name}.bias"][0]
    return functional.layer_norm(x, (x.shape[-1],), gain, bias, 1e-5)


def rotation(attitude):
    """Body to world: Rz(yaw) Ry(pitch) Rx(roll)."""
    (sr, sp, sy), (cr, cp, cy) = attitude.sin().unbind(-1), attitude.cos().unbind(-1)
    rows = [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr,
            sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr,
            -sp, cp * sr, cp * cr]
    return torch.stack(rows, -1).reshape(-1, 3, 3)


def observe(state, noise, position, velocity, sigma):
    """The 105 entries; `position`, `velocity`: the ten reference points ahead; no sigma is hidden."""
    p, attitude, v, rates = state.split(3, -1)
    to_world = rotation(attitude)
    reading = torch.zeros_like(v) if sigma is None else v + sigma * noise
    body = torch.einsum("bji,bj->bi", to_world, reading)
    relative = velocity - reading[:, None]
    relative = torch.zeros_like(relative) if sigma is None else relative
    ahead = torch.cat([position - p[:, None], velocity, relative], -1)
    columns = to_world[:, :2].reshape(len(p), 6)  # rows of body-to-world: columns of world-to-body
    return torch.cat([reading, columns, body, rates, ahead.reshape(len(p), -1)], -1)


def move(state, action):
    p, attitude, v, w = state.split(3, -1)
    thrust = 15 * action[:, :1] - 7.5 + GRAVITY
    command = action[:, 1:] - 0.5
    acceleration = rotation(attitude)[:, :, 2] * thrust - state.new_tensor([0, 0, GRAVITY])
    (r, q, _), (w0, w1, w2) = attitude.unbind(-1), w.unbind(-1)
    along = r.sin() * w1 + r.cos() * w2
    rate = torch.stack([w0 + q.tan() * along, r.cos() * w1 - r.sin() * w2, along / q.cos()], -1)
    return torch.cat([p + DT * v + DT**2 / 2 * acceleration, attitude + DT * rate,
                      v + DT * acceleration, w + DT * state.new_tensor(RATE_GAIN) * (command - w)], -1)


def cost(state, action, position, velocity):
    """What a step costs each row."""
    p, _, v, w = state.split(3, -1)
    return (10 * ((p - position) ** 2).sum(-1) + ((v - velocity) ** 2).sum(-1) + 0.1 * (w**2).sum(-1)
            + 5 * (action[:, 0] - 0.5) ** 2 + 0.1 * ((action[:, 1:] - 0.5) ** 2).sum(-1))


class Memory:
    """What one layer has stored: per position, keys and values for later queries across segments and inside the
    segment."""

    def __init__(self, cut, window, project):
        self.cut, self.window, self.project, self.entries = cut, window, project, []

    def read(self, n):
        """Stores what is made of `n`; keys and values that its own query reads."""
        near = [project(n) for project in self.project]
        if self.cut.segment is None:
            far = near
        elif self.cut.share is None:
            far = [x.detach() for x in near]
        else:
            far = [project(n.detach() + self.cut.share * (n - n.detach())) for project in self.project]
        t = len(self.entries)
        self.entries.append((far, near))
        is_near = lambda j: self.cut.segment is None or j // self.cut.segment == t // self.cut.segment
        read = [self.entries[j][is_near(j)] for j in range(max(0, t + 1 - self.window), t + 1)]
        return (torch.stack([pair[i] for pair in read], 2) for i in (0, 1))


def loss(params, inputs, cut, settings):
    """The loss of each row, summed over steps."""
    if cut.parts or cut.base.factor:
        sys.exit(f"{cut.name} is drawn or has parts: check it in JAX")
    batch = len(inputs["initial_state"])
    copies = min(cut.depth or 1, settings["policy"]["steps"])
    inputs = {name: torch.cat([x] * copies) for name, x in inputs.items()}
    policy, sigma = settings["policy"], settings["velocity"]
    sigma = None if sigma == "hidden" else sigma
    steps, heads, layers = policy["steps"], policy["heads"], policy["layers"]
    window = settings["window"] or steps
    state, rows = inputs["initial_state"], len(inputs["initial_state"])
    total = 0
    project = lambda name: lambda x: linear(params, name, x).reshape(rows, heads, -1)
    memories = [Memory(cut.base, window, [project(f"block{layer}.{w}") for w in ("w_k", "w_v")]) for layer in range(layers)]
    for t in range(steps):
        position = inputs["reference_position"][:, t + 1:t + 1 + HORIZON]
        velocity = inputs["reference_velocity"][:, t + 1:t + 1 + HORIZON]
        token = observe(state, inputs["noise"][:, t], position, velocity, sigma)
        h = linear(params, "embedding", token) + params["position"][t]
        for layer in range(layers):
            block = f"block{layer}"
            n = layer_norm(params, f"{block}.norm1", h)
            k, v = memories[layer].read(n)
            q = linear(params, f"{block}.w_q", n).reshape(rows, heads, 1, -1)
            out = functional.scaled_dot_product_attention(q, k, v).reshape(rows, -1)
            h = h + linear(params, f"{block}.w_o", out)
            n = layer_norm(params, f"{block}.norm2", h)
            wide = functional.gelu(linear(params, f"{block}.feed1", n), approximate="tanh")
            h = h + linear(params, f"{block}.feed2", wide)
        action = linear(params, "head", layer_norm(params, "norm", h)).sigmoid()
        state = move(state, action)
        total = total + cost(state, action, position[:, 0], velocity[:, 0])
        if cut.depth:
            state = torch.cat([state[:batch].detach(), state[:-batch]])
    return total[-batch:]


def load(export):
    if export.system != "quadrotor":
        sys.exit(f"update_torch.py knows the quadrotor, not {export.system}; try update_jax.py")
    beyond = {"mixer", "embedding", "key_bias"} & export.settings["policy"].keys()
    if beyond:
        sys.exit(f"update_torch.py does not know policy.{', policy.'.join(sorted(beyond))}; try update_jax.py")
    params = {n: torch.from_numpy(p).requires_grad_() for n, p in export.family("param").items()}
    return params, {n: torch.from_numpy(x) for n, x in export.family("input").items()}


def gradient(export, name):
    """Loss, row losses and gradient under a cut, as numpy arrays."""
    params, inputs = load(export)
    of_row = loss(params, inputs, Cut(name), export.settings)
    of_row.sum().backward()
    found = {n: p.grad.numpy() for n, p in params.items()}
    return float(of_row.sum().detach()), of_row.detach().numpy(), found


def main(path, name="FF", updates="20"):
    torch.set_num_threads(1)
    export = Export(path)
    if export.rule != "adamw" or export.optimizer["clip"] == "none" or "groups" in export.optimizer:
        sys.exit("only AdamW with a clip and without groups is timed here")
    params, inputs = load(export)
    adamw, clip = export.optimizer["adamw"], export.optimizer["clip"]
    optimizer = torch.optim.AdamW(params.values(), lr=adamw["rate"], betas=(adamw["beta1"], adamw["beta2"]),
                                  eps=adamw["eps"], weight_decay=adamw["decay"])
    times = []
    for _ in range(int(updates) + 1):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss(params, inputs, Cut(name), export.settings).sum().backward()
        torch.nn.utils.clip_grad_norm_(params.values(), clip)
        optimizer.step()
        times.append(time.perf_counter() - start)
    times = sorted(times[1:])  # the first one warms up
    print(f"PyTorch {torch.__version__}, {name}: median {1e3 * times[len(times) // 2]:.2f} ms per update")


if __name__ == "__main__":
    main(*sys.argv[1:])
