"""Measuring while something trains: every so many updates, to any logger, and as a table."""
from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable
from typing import Any

from ._backcut import Error
from ._compare import Comparison
from ._table import Table


class Monitor:
    """Measures every `every` updates, and hands the numbers on.

        watch = backcut.Monitor(lambda: measure(net, arms, optimizer, clip=1.0), to=writer)
        for update in range(updates):
            watch(update)                       # before the step, so that it measures the state the step starts from
            ...

    `to`: one logger or several. Whatever has `add_scalar` (TensorBoard), `log_metrics` (MLflow, Lightning's loggers), `log`
    (W&B) or `record` (stable-baselines3) is one, and so is a function of numbers by name and the update.
    `watch.lightning()`, `watch.transformers()` and `watch.sb3()` are callbacks for those trainers; what they have at hand (a
    batch, a `Trainer`'s arguments, the algorithm) goes to `measure`, if it takes an argument. `watch.rows(quantity)`
    is a table that `backcut.stats` reads, with this run's `seed`. `watch.spent`: seconds that measuring took so far.
    """

    def __init__(self, measure: Callable[..., Comparison], every: int = 200, to: Any = (), seed: int = 1,
                 prefix: str = "backcut/") -> None:
        if every < 1:
            raise Error(f"a measurement every {every} updates\nhint: every=200 costs one to four percent")
        self.measure, self.every, self.seed, self.prefix = measure, every, seed, prefix
        self.to = list(to) if isinstance(to, (list, tuple)) else [to]
        for logger in self.to:
            _sink(logger)
        self.found: dict[int, dict[str, float]] = {}
        self.spent = 0.0
        # An argument with a default is the caller's own.
        asked = inspect.signature(measure).parameters.values()
        self._takes = any(one.default is one.empty and one.kind is not one.VAR_KEYWORD for one in asked)

    def __call__(self, update: int, at_hand: Any = None, also_to: Iterable[Any] = ()) -> dict[str, float] | None:
        """Measures if it is this update's turn."""
        if update % self.every or update in self.found:
            return None
        start = time.perf_counter()
        numbers = (self.measure(at_hand) if self._takes else self.measure()).scalars()
        self.spent += time.perf_counter() - start
        self.found[update] = numbers
        told = {self.prefix + name: value for name, value in numbers.items()}
        for logger in [*self.to, *also_to]:
            _sink(logger)(told, update)
        return numbers

    @property
    def table(self) -> Table:
        """A row per number: `seed`, `update`, `arm`, `quantity`, `value`."""
        rows = [{"seed": self.seed, "update": update, "arm": name.partition("/")[0],
                 "quantity": name.partition("/")[2], "value": value}
                for update, numbers in self.found.items() for name, value in numbers.items()]
        return Table.of_rows(["seed", "update", "arm", "quantity", "value"], rows)

    def rows(self, quantity: str) -> Table:
        """One quantity, as `backcut.stats` reads it: `seed`, `arm`, `condition` (the update), `value`."""
        rows = [row | {"condition": str(row["update"])} for row in self.table.where(quantity=quantity)]
        if not rows:
            raise Error(f"`{quantity}` was not measured\nhint: " + ", ".join(sorted(set(self.table["quantity"])))
                        if self.found else f"nothing was measured yet\nhint: every {self.every} updates")
        return Table.of_rows(["seed", "arm", "condition", "value"], rows)

    def lightning(self) -> Any:
        """A callback for a Lightning `Trainer`; numbers also go to its loggers."""
        try:
            from lightning.pytorch import Callback
        except ImportError:
            from pytorch_lightning import Callback  # type: ignore[no-redef]
        watch = self

        class Watch(Callback):  # type: ignore[misc]
            def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, _index: int) -> None:
                watch(trainer.global_step, batch, trainer.loggers)
        return Watch()

    def transformers(self) -> Any:
        """A callback for a `transformers.Trainer`; `measure` is handed its model, optimizer, ... by name."""
        from transformers import TrainerCallback
        watch = self

        class Watch(TrainerCallback):  # type: ignore[misc]
            def on_step_begin(self, _arguments: Any, state: Any, _control: Any, **at_hand: Any) -> None:
                watch(state.global_step, at_hand)
        return Watch()

    def sb3(self) -> Any:
        """A callback for stable-baselines3, before the training that follows a rollout; numbers also go to its logger."""
        from stable_baselines3.common.callbacks import BaseCallback
        watch = self

        class Watch(BaseCallback):  # type: ignore[misc]
            rollouts = 0

            def _on_rollout_end(self) -> None:
                watch(self.rollouts, self.model, [self.model.logger])
                self.rollouts += 1

            def _on_step(self) -> bool:
                return True
        return Watch()


def _sink(logger: Any) -> Callable[[dict[str, float], int], Any]:
    """How a logger is told numbers by name."""
    if hasattr(logger, "add_scalar"):
        return lambda numbers, step: [logger.add_scalar(name, value, step) for name, value in numbers.items()]
    if hasattr(logger, "log_metrics"):
        return lambda numbers, step: logger.log_metrics(numbers, step=step)
    if hasattr(logger, "record"):
        return lambda numbers, step: [logger.record(name, value) for name, value in numbers.items()]
    if hasattr(logger, "log"):
        return lambda numbers, step: logger.log(numbers, step=step)
    if callable(logger):
        return logger  # type: ignore[no-any-return]
    raise Error(f"numbers can not be handed to a {type(logger).__name__}\nhint: a function of numbers by name and a step")
