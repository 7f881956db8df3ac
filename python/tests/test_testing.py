"""Assertions about backward graphs: that they pass where they should, and fail where not, or where they can not see."""
import subprocess
import sys
from importlib.metadata import entry_points

import backcut
import pytest

torch = pytest.importorskip("torch")
from backcut.testing import assert_no_credit, assert_reach  # noqa: E402
from backcut.torch import carry, edge  # noqa: E402
from torch import nn  # noqa: E402

STEPS = 10


class Net(nn.Module):
    def __init__(self, cut="FF"):
        super().__init__()
        self.cell, self.head, self.cut = nn.GRUCell(3, 4), nn.Linear(4, 1), cut

    def losses(self):
        h, found = torch.zeros(2, 4), []
        for t, x in enumerate(torch.randn(STEPS, 2, 3)):
            h = self.cell(x, h)
            found.append((self.head(h)**2).sum())
            h = carry(self.cut, h, t)
        return found


def test_a_module_a_function_and_a_result():
    net = Net("SEG-4")
    found = assert_reach(net, "SEG-4", losses=net.losses, watch={"h": net.cell})
    assert_reach(found, "SEG-4")
    with pytest.raises(AssertionError, match="not cut as FF says: SEG-4(.|\n)*loss of step t"):
        assert_reach(found, "FF")

    def run(r):
        h = torch.zeros(2, 4)
        for x in torch.randn(STEPS, 2, 3):
            h = r.state("h", net.cell(x, h))
            r.loss(h.sum())
    assert_reach(run, "FF")
    for subject, options, words in [(net, {}, "no loss"), (5, {}, "no backward graph")]:
        with pytest.raises(backcut.Error, match=words):
            assert_reach(subject, "FF", **options)


def test_an_assertion_that_can_not_see_fails():
    net = Net()
    with pytest.raises(AssertionError, match="can not be seen"):
        assert_reach(net, "FF", losses=lambda: [loss for loss in map(lambda x: net.head(net.cell(x)).sum(),
                                                                     torch.randn(STEPS, 2, 3))], watch={"h": net.cell})


def test_no_credit_between_two_things():
    actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    x = torch.randn(5, 3)
    value, policy = critic(x), actor(x)
    assert_no_credit((policy * (1 - value).detach()).sum(), to=critic)
    assert_no_credit(value.detach(), to=critic)
    assert_no_credit({"loss": policy}, to=[value])
    with pytest.raises(AssertionError, match="`weight`"):
        assert_no_credit((policy * (1 - value)).sum(), to=critic)
    # Numbers that would cancel in a sum do not.
    with pytest.raises(AssertionError, match="part 0"):
        assert_no_credit(torch.cat([value, -value]), to=value)
    for to, words in [(x, "requires no gradient"), ([], "no tensor")]:
        with pytest.raises(backcut.Error, match=words):
            assert_no_credit(policy, to=to)


def test_a_forbidden_edge_lets_no_credit_pass():
    w = torch.ones(3, requires_grad=True)
    for forbid, stopped in [(True, True), (True, False), (False, False)]:
        h, _ = edge("state", (w * 2, None), forbid=forbid)
        assert torch.equal(h, w * 2)
        loss = ((h.detach() if stopped else h) * w).sum()
        if forbid and not stopped:
            with pytest.raises(backcut.Error, match="credit arrives at `state`, where it is forbidden"):
                loss.backward()
        else:
            loss.backward()
    # What arrives as zeros is no credit.
    (edge("state", w * 2, forbid=True) * 0).sum().backward()


def test_pytest_has_them_as_fixtures(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import torch\n"
        "def test_a(assert_no_credit):\n    w = torch.ones(2, requires_grad=True)\n    assert_no_credit(w.detach(), to=w)\n"
        "def test_b(assert_reach):\n    cell = torch.nn.RNNCell(1, 1)\n"
        "    def run(r):\n        h = torch.zeros(1, 1)\n        for _ in range(4):\n"
        "            h = r.state('h', cell(torch.ones(1, 1), h))\n            r.loss(h.sum())\n"
        "            h = h.detach()\n    assert_reach(run, 'FF')\n")
    # An installed package names its plugin, and pytest refuses to hear of one twice.
    is_installed = any(e.name == "backcut" for e in entry_points(group="pytest11"))
    plugin = [] if is_installed else ["-p", "backcut.pytest_plugin"]
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, str(tmp_path)]
    said = subprocess.run(run, capture_output=True, text=True)
    assert "1 failed, 1 passed" in said.stdout and "own step only (F_SG)" in said.stdout, said.stderr
