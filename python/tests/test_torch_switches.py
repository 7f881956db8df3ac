"""Detaches of an unchanged training step as switches: found where they stand, and opened as if they were not there."""
import contextlib
import sys

import backcut
import pytest

torch = pytest.importorskip("torch")
from backcut.torch import Tape, switches  # noqa: E402


def lines(*marks):
    """The numbers of this file's lines that end with a mark."""
    with open(__file__) as file:
        text = file.read().splitlines()
    return [next(i for i, line in enumerate(text, 1) if line.endswith(f"# {mark}")) for mark in marks]


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Program:
    """A policy that bootstraps, truncates and logs. `opened`: a mark whose stop is left out."""

    def __init__(self, opened=None):
        torch.manual_seed(0)
        self.opened = opened
        self.cell, self.out, self.value = torch.nn.GRUCell(3, 4), torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
        self.all = torch.nn.ModuleList([self.cell, self.out, self.value]).double()
        self.optimizer = torch.optim.Adam(self.all.parameters(), lr=0.01)
        self.log = []

    @torch.no_grad()  # decorated
    def target(self, h):
        return self.value(h) * 0.9

    def loss(self, offset=0.0):
        x = torch.sin(torch.arange(72.0).double() + offset).reshape(6, 4, 3)
        h, total = torch.zeros(4, 4).double(), 0.0
        is_open = lambda mark: self.opened == mark
        for t in range(6):
            if t == 3 and not is_open("truncation"):
                h = h.detach()  # truncation
            h = self.cell(x[t], h)
            v, error = self.value(h), (self.out(h) - 1) ** 2
            advantage = error - (v if is_open("baseline") else v.detach())  # baseline
            if is_open("block"):
                goal = torch.tanh(error) + 1
            else:
                with torch.no_grad():  # block
                    goal = torch.tanh(error) + 1
            later = self.value(h) * 0.9 if is_open("decorated") else self.target(h)
            old = h * 1
            if not is_open("in place"):
                old.detach_()  # in place
            fixed = (h * 2) if is_open("data") else (h * 2).data  # data
            self.log.append(error.detach().mean().numpy().copy())  # logged
            total = total + (advantage * (1 + old.mean() + fixed.sum())).mean() + ((v - goal) ** 2).mean() + (later * v).mean()
        return total / 6

    def step(self):
        self.optimizer.zero_grad()
        self.loss().backward()
        torch.nn.utils.clip_grad_norm_(self.all.parameters(), 0.5)
        self.optimizer.step()


MARKS = ["truncation", "baseline", "block", "decorated", "in place", "data"]


def test_a_program_keeps_every_bit_and_each_switch_is_the_program_without_it():
    plain, seen = Program(), Program()
    plain.step()
    with switches(seen.optimizer, clip=0.5, held=lambda: seen.loss(1.0)) as s:
        seen.step()
    for p, q in zip(plain.all.parameters(), seen.all.parameters()):
        assert torch.equal(p, q) and torch.equal(p.grad, q.grad)
    at = dict(zip([*MARKS, "logged"], lines(*MARKS, "logged")))
    assert {(x.line, x.reached) for x in s.switches} == {(line, mark != "logged") for mark, line in at.items()}
    assert {x.kind for x in s.switches} == {"detach", "detach_", "data", "no_grad"} and {x.file for x in s.switches} == {__file__}
    flat = lambda tensors: torch.cat([x.flatten() for x in tensors])
    base = Program()
    start = flat([p.detach() for p in base.all.parameters()])
    slope = flat(torch.autograd.grad(base.loss(), list(base.all.parameters())))
    moved = flat([p.detach() for p in plain.all.parameters()]) - start
    rows = {int(row["switch"].rsplit(":", 1)[1]): row for row in s.table}
    assert len(rows) == len(MARKS)
    for mark in MARKS:
        twin = Program(mark)
        other = flat(torch.autograd.grad(twin.loss(), list(twin.all.parameters())))
        twin.step()
        gone = flat([p.detach() for p in twin.all.parameters()]) - start
        row = rows[at[mark]]
        assert row["gradient"] == pytest.approx(float(other.norm() / slope.norm()), rel=1e-12)
        assert row["cosine"] == pytest.approx(float(other @ slope / other.norm() / slope.norm()), rel=1e-12)
        assert row["update"] == pytest.approx(float(gone.norm() / moved.norm()), rel=1e-9)
        assert row["update cosine"] == pytest.approx(float(gone @ moved / gone.norm() / moved.norm()), rel=1e-9)
        held = float(twin.loss(1.0).detach() - plain.loss(1.0).detach())
        # The twin's held-out loss leaves the detach out, which changes no number of it.
        assert row["held"] == pytest.approx(held, rel=1e-6, abs=1e-12)
        assert row["cosine"] < 1 - 1e-9
    assert f"no credit arrives at: detach test_torch_switches.py:{at['logged']} (6)" in repr(s)


def test_a_step_that_clips_otherwise_gets_no_word_on_updates():
    program = Program()
    with switches(program.optimizer) as s:
        program.step()
    assert "not what this clip makes" in repr(s) and "update" not in s.table.columns


def test_declared_edges_are_closed_beside_it():
    program, tape = Program(), Tape()
    x = torch.sin(torch.arange(72.0).double()).reshape(6, 4, 3)
    with switches(tape=tape) as s:
        h, total = torch.zeros(4, 4).double(), 0.0
        for t in tape.steps(6):
            h = program.cell(x[t], h)
            total = total + (program.out(h) ** 2).mean()
            h = tape.carry("h", h)
        total.backward()
    assert [row["switch"] for row in s.table] == ["close h"]
    by = tape.gradients(total, program.all, ["FF", "F_SG"])
    norm = lambda g: sum(float((x**2).sum()) for x in g.values() if x is not None) ** 0.5
    assert s.table["gradient"][0] == pytest.approx(norm(by["F_SG"]) / norm(by["FF"]), rel=1e-12)


def test_what_stands_in_a_programs_way_does_not_break_it():
    """In-place writes, leaves made of detached tensors, numpy, nested blocks, the mode as it would be."""
    w = torch.nn.Linear(2, 2)
    with switches() as s:
        h = w(torch.ones(1, 2))
        with torch.no_grad():
            assert not torch.is_grad_enabled()
            with torch.enable_grad():
                assert torch.is_grad_enabled()
            buffer = torch.zeros(1, 2)
            buffer.copy_(h)
            w.weight.mul_(1.0)
            assert not buffer.requires_grad
        leaf = h.detach().requires_grad_()
        ((leaf * buffer).sum() + h.detach().numpy().sum()).backward()
        assert leaf.grad is not None and torch.equal(leaf.grad, buffer)
        torch.nn.utils.clip_grad_norm_(w.parameters(), 1.0)
        torch.nn.init.zeros_(w.bias)
    assert [x.kind for x in s.switches if x.reached] == ["detach"]
    assert torch.is_grad_enabled() and torch.autograd.backward.__module__ == "torch.autograd"
    assert sys.modules["torch"].autograd.backward is torch.autograd.backward


def test_gradients_of_several_losses_add_up():
    program = Program()
    with switches() as s:
        h = program.cell(torch.ones(2, 3).double(), torch.zeros(2, 4).double())
        program.out(h).mean().backward()
        (program.value(h.detach()) ** 2).mean().backward()
    (row,) = s.table
    h = program.cell(torch.ones(2, 3).double(), torch.zeros(2, 4).double())
    params = list(program.all.parameters())
    both = torch.autograd.grad(program.out(h).mean() + (program.value(h) ** 2).mean(), params, retain_graph=True)
    stopped = torch.autograd.grad(program.out(h).mean() + (program.value(h.detach()) ** 2).mean(), params)
    norm = lambda tensors: sum(float((x**2).sum()) for x in tensors) ** 0.5
    assert row["gradient"] == pytest.approx(norm(both) / norm(stopped), rel=1e-12)


def test_a_switch_behind_an_update_is_not_opened():
    program = Program()
    with switches() as s:
        x, h = torch.ones(2, 3).double(), torch.zeros(2, 4).double()
        h = program.cell(x, program.cell(x, h))
        program.out(h).mean().backward()
        with torch.no_grad():
            program.cell.weight_hh.mul_(0.5)
            program.cell.weight_ih.mul_(0.5)
        kept = h.detach()
        program.out(program.cell(torch.ones(2, 3).double(), kept)).mean().backward()
    notes = {x.kind: x.note for x in s.switches}
    assert "changed since" in notes["detach"] and "changed since" in repr(s)


def test_what_can_not_be_asked_is_refused():
    with pytest.raises(backcut.Error, match="without an optimizer"):
        switches(clip=1.0)
    with switches() as s:
        with pytest.raises(backcut.Error, match="once the block has ended"):
            _ = s.table
    assert "0 places" in repr(s)


class Library(torch.nn.Module):
    """What PyTorch's own layers do on the way: fused LSTM, attention, checkpointing, straight-through samples."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.embed, self.lstm = torch.nn.Embedding(5, 4), torch.nn.LSTM(4, 6, batch_first=True)
        self.mix, self.out = torch.nn.MultiheadAttention(6, 2, batch_first=True), torch.nn.Linear(6, 3)
        self.norm = torch.nn.BatchNorm1d(6)
        self.register_buffer("average", torch.zeros(3))

    def forward(self, x, state):
        y, state = self.lstm(self.embed(x), state)
        mixed, _ = self.mix(y, y, y)
        z = torch.utils.checkpoint.checkpoint(lambda q: torch.tanh(self.out(q.detach() + q)), mixed, use_reentrant=False)
        drawn = torch.nn.functional.gumbel_softmax(z.mean(1), hard=True)
        with torch.no_grad():
            self.average.lerp_(drawn.float().mean(0), 0.1)
        loss = (z**2).mean() + (drawn * z.mean(1)).sum() + torch.nn.functional.dropout(z, 0.3).mean()
        return loss + self.norm(y.mean(1)).var(), tuple(part.detach() for part in state)


def test_layers_of_the_library_keep_every_bit():
    def train(around):
        model, state = Library(), None
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        with around(optimizer):
            for _ in range(2):
                optimizer.zero_grad()
                with torch.autocast("cpu", torch.bfloat16):
                    loss, state = model(torch.randint(0, 5, (7, 8)), state)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
                optimizer.step()
        return model.state_dict()
    found = []
    plain = train(lambda optimizer: contextlib.nullcontext())
    seen = train(lambda optimizer: found.append(switches(optimizer, clip=0.1)) or found[0])
    assert all(torch.equal(plain[name], seen[name]) for name in plain)
    inner, handed_on = found[0].table
    assert inner["update cosine"] < 0.999 and inner["note"] is None
    assert handed_on["note"] == "reached after the first update alone" and "2 places" in repr(found[0])
