"""Measuring while training: whose turn it is, where the numbers go, and the callbacks of trainers."""
import json
import sys
import types

import backcut
import numpy as np
import pytest

PARAMS = {"cell.weight": np.ones(3), "head.weight": np.ones(2)}


def found(update=0):
    cut = {"cell.weight": np.array([1.0, 0.5, update]), "head.weight": np.ones(2)}
    return backcut.compare(PARAMS, {"full": PARAMS, "cut": cut, "half": PARAMS},
                           backcut.Optimizer("sgd", {"rate": 0.1}, clip=1.0))


def logger(kind):
    said = []
    take = {"add_scalar": lambda name, value, step: said.append((name, value, step)),
            "log_metrics": lambda numbers, step: said.extend((n, v, step) for n, v in numbers.items()),
            "log": lambda numbers, step: said.extend((n, v, step) for n, v in numbers.items()),
            "record": lambda name, value: said.append((name, value, None))}
    return said, types.SimpleNamespace(**{kind: take[kind]})


@pytest.mark.parametrize("kind", ["add_scalar", "log_metrics", "log", "record"])
def test_any_logger_is_told_some_twenty_numbers(kind):
    said, to = logger(kind)
    plain = []
    watch = backcut.Monitor(found, every=5, to=[to, lambda numbers, step: plain.append((numbers, step))])
    for update in range(12):
        watch(update)
    assert [step for _, step in plain] == [0, 5, 10]
    numbers = plain[0][0]
    assert 15 <= len(numbers) <= 30 and len(said) == 3 * len(numbers)
    assert numbers["backcut/cut/gradient.cosine"] == found().value("gradient.cosine", "cut")
    assert {name for name, *_ in said} == set(numbers) and all(isinstance(value, float) for _, value, _ in said)
    json.dumps(numbers)
    assert watch.spent > 0


def test_its_rows_are_read_by_stats():
    rows = []
    for seed in range(1, 9):
        watch = backcut.Monitor(lambda seed=seed: found(2 + seed / 10), every=10, seed=seed)
        for update in range(11):
            watch(update)
        rows += list(watch.rows("gradient.ratio"))
    table = backcut.Table.of_rows(["seed", "arm", "condition", "value"], rows)
    report = backcut.stats(table.columns, "longer = [cut@10] - [full@10] > 0")
    assert report.verdict("longer") == "supported"
    with pytest.raises(backcut.Error, match="gradient.ratio"):
        watch.rows("nothing")


def test_what_makes_no_sense_is_an_error():
    for options, words in [({"every": 0}, "every 0 updates"), ({"to": 5}, "handed to a int")]:
        with pytest.raises(backcut.Error, match=words):
            backcut.Monitor(found, **options)
    with pytest.raises(backcut.Error, match="nothing was measured"):
        backcut.Monitor(found).rows("gradient.norm")


def stand_in(monkeypatch, name, attribute):
    """A trainer's base class for callbacks, where that trainer is not installed."""
    parts = name.split(".")
    for i in range(len(parts)):
        module = types.ModuleType(".".join(parts[:i + 1]))
        monkeypatch.setitem(sys.modules, module.__name__, module)
    setattr(module, attribute, type(attribute, (), {}))


def test_callbacks_ask_at_the_state_that_a_step_starts_from(monkeypatch):
    seen = []

    def measure(at_hand):
        seen.append(at_hand)
        return found()

    watch = lambda: backcut.Monitor(measure, every=2)
    stand_in(monkeypatch, "lightning.pytorch", "Callback")
    said, to = logger("log_metrics")
    lightning = watch().lightning()
    for step in range(4):
        lightning.on_train_batch_start(types.SimpleNamespace(global_step=step, loggers=[to]), None, f"batch {step}", 0)
    assert seen == ["batch 0", "batch 2"] and {step for *_, step in said} == {0, 2}

    stand_in(monkeypatch, "transformers", "TrainerCallback")
    transformers, seen[:] = watch().transformers(), []
    for step in range(4):
        transformers.on_step_begin(None, types.SimpleNamespace(global_step=step), None, model=step)
    assert seen == [{"model": 0}, {"model": 2}]

    stand_in(monkeypatch, "stable_baselines3.common.callbacks", "BaseCallback")
    sb3, seen[:] = watch().sb3(), []
    said, to = logger("record")
    sb3.model = types.SimpleNamespace(logger=to)
    for _ in range(4):
        assert sb3._on_step()
        sb3._on_rollout_end()
    assert seen == [sb3.model] * 2 and said


def test_stable_baselines_calls_it():
    pytest.importorskip("stable_baselines3")
    from stable_baselines3 import PPO
    model, said = PPO("MlpPolicy", "CartPole-v1", n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu"), []
    watch = backcut.Monitor(found, every=2, to=lambda numbers, step: said.append(step))
    model.learn(32 * 5, callback=watch.sb3())
    assert said == [0, 2, 4]


def test_transformers_calls_it(tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 1)

        def forward(self, x):
            return {"loss": (self.linear(x)**2).mean()}

    said = []

    def measure(at_hand):
        said.append(type(at_hand["model"]).__name__)
        return found()

    arguments = transformers.TrainingArguments(str(tmp_path), max_steps=4, report_to=[], use_cpu=True)
    data = [{"x": torch.ones(2)}] * 8
    transformers.Trainer(Model(), arguments, train_dataset=data,
                         callbacks=[backcut.Monitor(measure, every=2).transformers()]).train()
    assert said == ["Model", "Model"]


def test_lightning_calls_it(tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")
    torch = pytest.importorskip("torch")

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 1)

        def training_step(self, batch, _index):
            return (self.linear(batch)**2).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    said = []
    watch = backcut.Monitor(lambda batch: said.append(tuple(batch.shape)) or found(), every=2)
    lightning.Trainer(max_steps=4, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                      enable_model_summary=False, callbacks=[watch.lightning()], default_root_dir=tmp_path,
                      accelerator="cpu").fit(Model(), torch.utils.data.DataLoader(torch.ones(8, 2), batch_size=2))
    assert said == [(2, 2)] * 2
