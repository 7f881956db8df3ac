"""Loads what `backcut export` writes, as numpy arrays; shared by the examples beside it."""
import json

from safetensors import safe_open


class Export:
    """Tensors by family, and the description in the metadata."""

    def __init__(self, path):
        with safe_open(path, framework="numpy") as file:
            self.header = json.loads(file.metadata()["backcut"])
            self.tensors = {name: file.get_tensor(name) for name in file.keys()}
        assert self.header["kind"] == "export", "not an export"
        self.config = self.header["config"]
        self.settings = self.config["system"]["settings"]
        self.optimizer = self.config["optimizer"]
        # With a schedule, the rate of the update that is exported.
        self.optimizer["adamw"]["rate"] = self.header.get("rate", self.optimizer["adamw"]["rate"])

    def family(self, prefix):
        """{NAME: array} of the tensors `prefix/NAME`."""
        start = prefix + "/"
        return {n[len(start):]: t for n, t in self.tensors.items() if n.startswith(start)}


class Cut:
    """A backward graph: state 'F' or 'K'; memory 'F', 'D' or a segment length (F_SG is 1)."""

    def __init__(self, name):
        self.one_step = name[0] == "K"
        rest = name if name.startswith("SEG") else name[1:].lstrip("_")
        if rest.startswith("SEG-"):
            self.memory = int(rest[4:])
        else:
            self.memory = {"F": "F", "D": "D", "SG": 1}[rest]
