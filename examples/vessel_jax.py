"""The vessel in JAX, written from its definition: a task for `policy_jax.py`.

The state is latitude and longitude beyond the last observed position (rad) and the velocity north and
east (knots). Only differences of positions enter, so that rounding stays far below a millimetre.
"""
import sys

import jax.numpy as jnp
import numpy as np

RADIUS_KM, UNIT_KM = 6371.0, 100.0
NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)  # on [-1, 1]


def short_way(angle):
    return angle - 2 * np.pi * jnp.round(angle / (2 * np.pi))


class Vessel:
    def __init__(self, export):
        if np.any(export.tensors["output/beyond_pole"]):
            sys.exit("a vessel of this batch is held off a pole; the example has no such clamp")
        settings, constants = export.settings, export.header["constants"]
        self.is_pretraining = settings["phase"] == "pretrain"
        self.puts_out_velocity = settings["output"] == "velocity"
        self.arc = constants["km_per_knot"] / RADIUS_KM  # radians that a knot makes in a step
        self.velocity, self.change = constants["velocity_rms"], constants["change_rms"]
        self.sigma = settings["noise"] * self.velocity
        sizes = constants["sizes"]
        self.heads, self.layers, self.embedding = sizes["heads"], 2, "plain"
        self.steps = sizes["observed"] + sizes["predicted"]
        self.window, self.prefix = settings["window"], export.header["forward"]["prefix"]

        inputs = {name: jnp.asarray(x) for name, x in export.family("input").items()}
        track, velocities = inputs["positions"], inputs["velocities"]  # the track's origin first
        self.rows = len(track)
        self.parts = {"position": slice(0, 2), "velocity": slice(2, 4)}
        pivot = track[:, sizes["observed"]]  # the last observed position
        offset = short_way(track - pivot[:, None])
        before = jnp.concatenate([velocities[:, :1], velocities[:, :-1]], 1)
        # Every step of pretraining begins at the truth; a rollout follows it to the end of the prefix.
        given = self.steps if self.is_pretraining else self.prefix + 1
        constant = lambda x: jnp.broadcast_to(x, (self.steps, *x.shape))
        per_step = lambda x: x.transpose(1, 0, 2)
        self.over_time = {
            "noise": per_step(inputs["noise"]),
            "velocity": per_step(velocities),
            "end": per_step(offset[:, 1:]),
            "end_latitude": per_step(track[:, 1:, :1]),
            "pivot_latitude": constant(pivot[:, :1]),
            "given": per_step(jnp.concatenate([offset[:, :-1], before], -1)),
            "is_given": jnp.broadcast_to((jnp.arange(self.steps) < given)[:, None, None],
                                         (self.steps, self.rows, 1)),
        }
        self.initial = self.over_time["given"][0]
        points = jnp.broadcast_to(jnp.eye(sizes["key_points"], dtype=track.dtype),
                                  (self.rows, *[sizes["key_points"]] * 2))
        route = self.seen(short_way(inputs["route"] - pivot[:, None]), pivot[:, None, :1])
        self.condition = jnp.concatenate([route, points], -1)

    def seen(self, offset, pivot_latitude):
        """North and east of the pivot, in 100 km."""
        east = jnp.cos(pivot_latitude)
        return offset * RADIUS_KM / UNIT_KM * jnp.concatenate([jnp.ones_like(east), east], -1)

    def reading(self, state, at):
        return state[:, 2:] + self.sigma * at["noise"]

    def token(self, state, at):
        place = self.seen(state[:, :2], at["pivot_latitude"])
        return jnp.concatenate([self.reading(state, at) / self.velocity, place], -1)

    def move(self, state, action, pivot_latitude):
        """Along a rhumb line: a step north stretches longitudes by the mean secant of its latitudes."""
        turned = action * self.arc
        along = turned[:, :1] * jnp.asarray((NODES + 1) / 2, state.dtype)
        secants = 1 / jnp.cos(pivot_latitude + state[:, :1] + along)
        secant = secants @ jnp.asarray(WEIGHTS / 2, state.dtype)
        moved = jnp.stack([turned[:, 0], turned[:, 1] * secant], -1)
        return jnp.concatenate([state[:, :2] + moved, action], -1)

    def step(self, state, output, at):
        action = (output * self.velocity if self.puts_out_velocity
                  else self.reading(state, at) + output * self.change)
        moved = self.move(state, action, at["pivot_latitude"])
        if self.is_pretraining:
            cost = ((action - at["velocity"]) ** 2).sum(-1) / self.change**2
        else:
            off = short_way(moved[:, :2] - at["end"]) * RADIUS_KM
            cost = off[:, 0] ** 2 + (off[:, 1] * jnp.cos(at["end_latitude"][:, 0])) ** 2
        return moved, cost / (self.steps - self.prefix)
