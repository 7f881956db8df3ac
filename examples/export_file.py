"""Loads what `backcut export` writes, as numpy arrays; shared by the examples beside it."""
import json
import re
import sys

from safetensors import safe_open


class Export:
    """Tensors by family, and the description in the metadata."""

    def __init__(self, path, kind="export"):
        with safe_open(path, framework="numpy") as file:
            self.header = json.loads(file.metadata()["backcut"])
            self.tensors = {name: file.get_tensor(name) for name in file.keys()}
        if self.header["kind"] != kind:
            sys.exit(f"{path} is a file of the kind {self.header['kind']}, not {kind}")
        assert self.header["format"] in (1, 2), "written by a newer backcut"
        self.config = self.header["config"]
        self.system = self.config["system"]["name"]
        self.settings = self.config["system"]["settings"]
        self.optimizer = self.config["optimizer"]
        self.rule = next(key for key in self.optimizer if key not in ("clip", "schedule", "groups"))
        # With a schedule, the rate of the update that is exported.
        rule = self.optimizer[self.rule]
        rule["rate"] = self.header.get("rate", rule["rate"])

    def rate_and_decay(self, name):
        """Of a parameter: the first group whose pattern fits has a factor of the rate or its own decay."""
        rule = self.optimizer[self.rule]
        for group in self.optimizer.get("groups", []):
            if re.fullmatch(".*".join(map(re.escape, group["parameters"].split("*"))), name):
                return rule["rate"] * group.get("rate", 1.0), group.get("decay", rule["decay"])
        return rule["rate"], rule["decay"]

    def draw(self):
        """The key of what cuts leave to chance in this update."""
        offset = 10**9 if self.config["stream"] == "b" else 0
        return mixed(mixed((self.config["seed"] + offset) & MASK) ^ self.header["update"])

    def family(self, prefix):
        """{NAME: array} of the tensors `prefix/NAME`."""
        start = prefix + "/"
        return {n[len(start):]: t for n, t in self.tensors.items() if n.startswith(start)}


MASK = 2**64 - 1


def mixed(x):
    """The finaliser of splitmix64 after one increment."""
    z = (x + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class Credit:
    """What later steps give to what an earlier step stored: F, D, SG, SEG-8, A0.5, RSEG-8, RT-0.1 or URT-0.1.

    `segment`: steps per segment of memory, None for one segment. Inside a segment credit is full.
    `share`: of the credit that crosses segments, what a stored representation receives (its
    projections receive all of it); None if even keys and values are constants there.
    `factor(j, t)`: the share from step t to step j, for what an update draws; None for the others.
    """

    def __init__(self, text, draw):
        found = re.fullmatch(r"F|D|SG|(R?)SEG-(\d+)|A([\d.]+)|(U?)RT-([\d.]+)", text)
        if not found:
            sys.exit(f"the examples do not know the credit {text}")
        shifted, segment, share, unbiased, chance = found.groups()
        self.segment = None if text == "F" else int(segment or 1)
        self.share = None if text == "D" else float(share or 0)
        self.factor = None
        if shifted:
            offset = mixed(draw) % self.segment
            self.factor = lambda j, t: float((j + offset) // self.segment == (t + offset) // self.segment)
        if chance:
            is_cut = lambda b: (mixed(draw ^ mixed(b)) >> 11) / 2**53 < float(chance)
            survives = 1 - float(chance) if unbiased else 1.0
            self.factor = lambda j, t: 0.0 if any(map(is_cut, range(j + 1, t + 1))) else survives ** (j - t)


class Cut:
    """A backward graph, by its name: FF, FD, F_SG, SEG-8, F_A0.5, KF, K4_SEG-8, FF:keys=D, RT-0.1, ...

    `depth`: how many steps a loss reaches through states, None for all of them. `memory(edge)`: the credit of
    an edge such as block0.keys. `share(edge)`: what a state's part or a declared value lets through, None if
    no part of the cut names it. `base`: the credit of memory that no part names.
    """

    def __init__(self, name, draw=0):
        base, *parts = name.split(":")
        is_short = re.match(r"R?SEG-|U?RT-", base)
        found = re.fullmatch(r"(F|K\d*)(?:([FD])|_(.+))", "F_" + base if is_short else base)
        if not found:
            sys.exit(f"the examples do not know the cut {name}")
        state, whole, credit = found.groups()
        self.depth = None if state == "F" else int(state[1:] or 1)
        self.parts = dict(part.split("=") for part in parts)
        self.name, self.draw, self.base = name, draw, Credit(whole or credit, draw)

    def part(self, edge):
        """What the longest part says that the edge's name begins or ends with."""
        fits = [p for p in self.parts if f"{edge}.".startswith(f"{p}.") or f".{edge}".endswith(f".{p}")]
        return self.parts[max(fits, key=lambda p: p.count("."))] if fits else None

    def memory(self, edge):
        part = self.part(edge)
        return self.base if part is None else Credit(part, self.draw)

    def share(self, edge):
        part = self.part(edge)
        return None if part is None else {"F": 1.0, "D": 0.0}.get(part) if part in "FD" else float(part[1:])
