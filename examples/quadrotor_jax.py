"""The quadrotor in JAX, written from its definition: a task for `policy_jax.py`."""
import jax
import jax.numpy as jnp

DT, GRAVITY, HORIZON = 0.05, 9.81, 10
RATE_GAIN = (16.6, 16.6, 5.0)


def rotation(attitude):
    """Body to world: Rz(yaw) Ry(pitch) Rx(roll)."""
    (sr, sp, sy), (cr, cp, cy) = jnp.sin(attitude).T, jnp.cos(attitude).T
    rows = [[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr]]
    return jnp.stack([jnp.stack(row, -1) for row in rows], -2)


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


class Quadrotor:
    def __init__(self, export):
        policy, inputs = export.settings["policy"], export.family("input")
        self.steps, self.heads, self.layers = policy["steps"], policy["heads"], policy["layers"]
        self.embedding = policy.get("embedding", "plain")
        if self.embedding not in ("plain", "normalised", "scaled", "apg"):
            raise SystemExit(f"quadrotor_jax.py does not know this policy: {policy}")
        self.mixer = policy.get("mixer", "attention")
        self.window, self.prefix, self.condition = export.settings["window"], 0, None
        sigma = export.settings["velocity"]
        self.sigma = None if sigma == "hidden" else sigma
        self.initial = jnp.asarray(inputs["initial_state"])
        self.rows = len(self.initial)
        self.parts = {name: slice(3 * i, 3 * i + 3)
                      for i, name in enumerate(("position", "attitude", "velocity", "rates"))}
        # [step][row][10][3]: at step t the points t+1 ... t+10.
        ahead = jnp.arange(self.steps)[:, None] + 1 + jnp.arange(HORIZON)
        windows = lambda name: jnp.asarray(inputs[name])[:, ahead].transpose(1, 0, 2, 3)
        self.over_time = {"noise": jnp.asarray(inputs["noise"]).transpose(1, 0, 2),
                          "position": windows("reference_position"),
                          "velocity": windows("reference_velocity")}

    def token(self, state, at):
        """The 105 entries; no sigma is hidden."""
        p, attitude, v, rates = jnp.split(state, 4, -1)
        to_world = rotation(attitude)
        reading = jnp.zeros_like(v) if self.sigma is None else v + self.sigma * at["noise"]
        body = jnp.einsum("bji,bj->bi", to_world, reading)
        relative = at["velocity"] - reading[:, None]
        relative = jnp.zeros_like(relative) if self.sigma is None else relative
        ahead = jnp.concatenate([at["position"] - p[:, None], at["velocity"], relative], -1)
        columns = to_world[:, :2].reshape(len(p), 6)  # rows of body-to-world: columns of world-to-body
        return jnp.concatenate([reading, columns, body, rates, ahead.reshape(len(p), -1)], -1)

    def step(self, state, output, at):
        action = jax.nn.sigmoid(output)
        moved = move(state, action)
        p, _, v, w = jnp.split(moved, 4, -1)
        cost = (10 * ((p - at["position"][:, 0]) ** 2).sum(-1)
                + ((v - at["velocity"][:, 0]) ** 2).sum(-1) + 0.1 * (w**2).sum(-1)
                + 5 * (action[:, 0] - 0.5) ** 2 + 0.1 * ((action[:, 1:] - 0.5) ** 2).sum(-1))
        return moved, cost
