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
        self.rule = next(rule for rule in ("adamw", "adam", "sgd") if rule in self.optimizer)
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

    def family(self, prefix):
        """{NAME: array} of the tensors `prefix/NAME`."""
        start = prefix + "/"
        return {n[len(start):]: t for n, t in self.tensors.items() if n.startswith(start)}


class Cut:
    """A backward graph, by its name: FF, FD, F_SG, SEG-8, F_A0.5, KF, K4_SEG-8, ...

    `depth`: how many steps a loss reaches through states, None for all of them.
    `segment`: steps per segment of memory, None for one segment. Inside a segment credit is full.
    `share`: of the credit that crosses segments, what a stored representation receives (its
    projections receive all of it); None if even keys and values are constants there.
    """

    def __init__(self, name):
        found = re.fullmatch(r"(F|K\d*)(F|D|_SG|_SEG-(\d+)|_A([\d.]+))",
                             "F_" + name if name.startswith("SEG-") else name)
        if not found:
            sys.exit(f"the examples do not know the cut {name}")
        state, memory, segment, share = found.groups()
        self.depth = None if state == "F" else int(state[1:] or 1)
        self.segment = None if memory == "F" else int(segment or 1)
        self.share = None if memory == "D" else float(share or 0)
