"""Memory cuts in PyTorch, held to the engine's own gradients."""
import backcut
import pytest
from conftest import CUTS, SMALL, off

torch = pytest.importorskip("torch")
from backcut.torch import Cache, carry  # noqa: E402


@pytest.mark.parametrize("name", CUTS.split(","))
def test_attention_caches_have_the_engines_gradients(export, monkeypatch, name):
    import update_torch
    exported = export(*SMALL, "--cuts", CUTS, "--precision", "f64")

    class Memory:
        def __init__(self, cut, window, project):
            self.cache, self.project = [Cache(name, window) for _ in project], project

        def read(self, n):
            return [torch.stack(cache.store(n, p), 2) for cache, p in zip(self.cache, self.project)]

    monkeypatch.setattr(update_torch, "Memory", Memory)
    _, _, found = update_torch.gradient(exported, name)
    assert off(exported, name, found) < 1e-12


def gru(params, cut, block, x, h, t):
    """The engine's gated recurrent unit; `h` was handed over by step t - 1."""
    of = lambda part, x: x @ params[f"{block}.{part}.weight"]
    bias = lambda part: params[f"{block}.{part}.bias"][0] if f"{block}.{part}.bias" in params else 0.0
    linear = lambda part, x: of(part, x) + bias(part)
    seen = carry("F_SG" if cut == "FD" else cut, h, t - 1)
    # What FD makes a constant is the product with recurrent weights; the bias is none of it.
    by = lambda part: carry(cut, h, t - 1, lambda h: of(f"{part}_h", h)) + bias(f"{part}_h")
    keep = torch.sigmoid(linear("keep_x", x) + by("keep"))
    reset = torch.sigmoid(linear("reset_x", x) + by("reset"))
    new = torch.tanh(linear("new_x", x) + linear("new_h", reset * seen))
    return keep * seen + (1 - keep) * new


@pytest.mark.parametrize("name", CUTS.split(","))
def test_recurrent_states_have_the_engines_gradients(export, name):
    from update_torch import HORIZON, cost, layer_norm, linear, move, observe
    recurrent = ["--set", "policy.mixer=gru", "--set", "policy.layers=1"]
    exported = export(*SMALL, *recurrent, "--cuts", CUTS, "--precision", "f64")
    params = {n: torch.from_numpy(p).requires_grad_() for n, p in exported.family("param").items()}
    inputs = {n: torch.from_numpy(x) for n, x in exported.family("input").items()}
    state, total, block = inputs["initial_state"], 0, "block0"
    memory = torch.zeros(len(state), params["position"].shape[-1], dtype=state.dtype)
    for t in range(exported.settings["policy"]["steps"]):
        ahead = [inputs[f"reference_{what}"][:, t + 1:t + 1 + HORIZON] for what in ("position", "velocity")]
        token = observe(state, inputs["noise"][:, t], *ahead, exported.settings["velocity"])
        h = linear(params, "embedding", token) + params["position"][t]
        memory = gru(params, name, block, layer_norm(params, f"{block}.norm1", h), memory, t)
        h = h + linear(params, f"{block}.w_o", memory)
        wide = linear(params, f"{block}.feed1", layer_norm(params, f"{block}.norm2", h))
        h = h + linear(params, f"{block}.feed2", torch.nn.functional.gelu(wide, approximate="tanh"))
        action = linear(params, "head", layer_norm(params, "norm", h)).sigmoid()
        state = move(state, action)
        total = total + cost(state, action, *(x[:, 0] for x in ahead)).sum()
    total.backward()
    assert off(exported, name, {n: p.grad.numpy() for n, p in params.items()}) < 1e-12


def test_cuts_that_a_memory_can_not_make_are_refused():
    with pytest.raises(backcut.Error, match="physical states"):
        Cache("K4F")
    with pytest.raises(backcut.Error, match="project"):
        carry("FD", torch.ones(2), 0)


def test_a_tree_is_cut_whole_and_infinities_stay():
    x = torch.tensor([1.0, -torch.inf], requires_grad=True)
    for cut, share in [("FF", 1.0), ("F_SG", 0.0), ("F_A0.5", 0.5)]:
        h = carry(cut, {"a": [x * 1, None], "b": (x * 2,)}, 0)
        assert torch.equal(h["a"][0], x) and h["a"][1] is None and torch.equal(h["b"][0], x * 2)
        slopes = torch.autograd.grad((h["a"][0] + h["b"][0] + 0 * x.nan_to_num()).sum(), x)[0]
        assert slopes.tolist() == [3 * share] * 2
