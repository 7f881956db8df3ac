import numpy as np
from numpy.typing import NDArray

__version__: str

class Error(ValueError):
    """Input that makes no sense: what, and on a line of its own a hint."""

def run(line: list[str]) -> int: ...
def shown(text: str) -> str: ...
def stats(
    file: bytes | None, frame: object | None, columns: list[tuple[str, list[object]]], options: str
) -> tuple[str, str, str]: ...
def credit(
    name: str,
    memory: list[tuple[str, bool]],
    states: list[str],
    values: list[str],
    steps: int,
    draw: tuple[int, int] | None = None,
) -> tuple[str, list[tuple[NDArray[np.float64], NDArray[np.float64]]]]: ...
def cut(name: str) -> str: ...
def explain(name: str, steps: int, window: int | None = None) -> str: ...
def matrices(
    title: str, caption: str, triangles: list[tuple[str, list[list[float]]]], read_by: str = "loss of step t"
) -> str: ...
def rules() -> list[tuple[str, list[tuple[str, float]]]]: ...
def moments_of(rule: str) -> int: ...
def compare_f32(
    params: NDArray[np.float32],
    gradients: list[NDArray[np.float32]],
    moments: list[NDArray[np.float32]],
    request: str,
) -> str: ...
def compare_f64(
    params: NDArray[np.float64],
    gradients: list[NDArray[np.float64]],
    moments: list[NDArray[np.float64]],
    request: str,
) -> str: ...
def updates_f32(
    params: NDArray[np.float32],
    gradients: list[NDArray[np.float32]],
    moments: list[NDArray[np.float32]],
    request: str,
) -> list[NDArray[np.float32]]: ...
def updates_f64(
    params: NDArray[np.float64],
    gradients: list[NDArray[np.float64]],
    moments: list[NDArray[np.float64]],
    request: str,
) -> list[NDArray[np.float64]]: ...
