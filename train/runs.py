"""Run folders: what a training run leaves on disk, and how it is read again.

==========================  ======================================================================================================
``config.yaml``             the configuration with every value
``versions.json``           Deckhand, Python, NumPy, torch … and the machine
``metrics.jsonl``           one line a rollout: ``steps``, ``rollout/…``, ``train/…`` and, where measured, ``evaluation/…``; no clock
                            times, so one config, seed and thread give the same file again
``timing.jsonl``            one line a rollout: ``steps``, ``seconds``, ``steps_per_second``
``tensorboard/``            the same figures for TensorBoard
``checkpoints/step-N/``     everything a run needs to go on: ``policy.safetensors`` with its card, ``state.safetensors``, ``state.json``
``warm_start/``             while a warm start runs: the decisions that it has collected
``curve.png``               the metrics' learning curve
``policy.safetensors``      the trained actor, ``policy.json`` its card
``evaluation.json``, ``.md``  the final evaluation
``.lock``                   held by the process that works in the folder
==========================  ======================================================================================================

A config with variants makes one such folder a variant in its own, which holds ``config.yaml``, ``versions.json``, ``comparison.json``,
``comparison.md`` and a ``curve.png`` of all variants.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from ..envs.core import DeckhandError, RecordError
from ..envs.core.files import write_bytes, write_json, write_text
from .config import Config, Kind, TrainConfig, dump_config, load_kind
from .plots import plot_metric
from .versions import TRAINING_PACKAGES, machine, versions

KEEP_CHECKPOINTS = 2


@dataclass
class Checkpoint:
    """The state of a run between two rollouts: named arrays and JSON values."""

    steps: int
    arrays: dict[str, NDArray[Any]]
    values: dict[str, Any]

    def section(self, prefix: str) -> dict[str, NDArray[Any]]:
        """The arrays whose names start with ``prefix.``, without it."""
        return {name.removeprefix(f"{prefix}."): array for name, array in self.arrays.items() if name.startswith(f"{prefix}.")}


class RunFolder:
    """The folder of one training run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, parent: Path, config: Config) -> "RunFolder":
        """A new folder ``<name>-<number>`` with the configuration and the versions in it."""
        parent.mkdir(parents=True, exist_ok=True)
        number = 1
        while True:
            path = parent / f"{config.name}-{number}"
            try:
                path.mkdir()
                break
            except FileExistsError:
                number += 1
        return cls._fill(path, config)

    @classmethod
    def of_variant(cls, parent: "RunFolder", name: str, config: TrainConfig) -> tuple["RunFolder", bool]:
        """The folder of a variant in its parent's folder, and whether it holds a checkpoint to go on from."""
        path = parent.path / name
        if path.resolve().parent != parent.path.resolve():
            raise RecordError(f"{path} is not in {parent.path}")
        if any((path / "checkpoints").glob("step-*")):
            return cls(path), True
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return cls._fill(path, config), False

    @classmethod
    def _fill(cls, path: Path, config: Config) -> "RunFolder":
        write_text(path / "config.yaml", dump_config(config))
        write_json(path / "versions.json", versions(*TRAINING_PACKAGES) | machine())
        return cls(path)

    @classmethod
    def open(cls, path: Path, kind: type[Kind], changes: Sequence[str] = ()) -> tuple["RunFolder", Kind]:
        """A folder made by :meth:`create`, with its configuration, in which ``changes`` (``trials=40``) are made for good."""
        folder, file = cls(path), path / "config.yaml"
        if not file.is_file():
            raise RecordError(f"{path} is no run folder: it holds no config.yaml")
        config = load_kind(kind, str(file), changes)
        if changes:
            with folder.held():
                write_text(file, dump_config(config))
        return folder, config

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps the folder for this process; :class:`DeckhandError` while another one has it."""
        try:
            with FileLock(self.path / ".lock", blocking=False):
                yield
        except Timeout:
            raise DeckhandError(f"{self.path} is in use by another process") from None

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def timing(self) -> Path:
        return self.path / "timing.jsonl"

    def append(self, path: Path, values: Mapping[str, Any]) -> None:
        """Add one line to a JSON Lines file."""
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(values) + "\n")

    def read(self, path: Path) -> list[dict[str, Any]]:
        """The lines of a JSON Lines file; :class:`RecordError` names one that is damaged."""
        return [row for row, _ in _read_lines(path)]

    def cut(self, steps: int, warm_rounds: int = 0) -> None:
        """Forget what was written after ``steps`` steps and ``warm_rounds`` of the warm start: a run that resumes writes it again."""
        for path in (self.metrics, self.timing):
            if path.exists():
                write_bytes(
                    path,
                    b"".join(
                        line for row, line in _read_lines(path) if row["steps"] <= steps and row.get("warm_start/round", 0) <= warm_rounds
                    ),
                )

    def save_checkpoint(self, checkpoint: Checkpoint, save_weights: Callable[[Path], None]) -> None:
        """Write a checkpoint; the folder appears whole or not at all. Older ones but ``KEEP_CHECKPOINTS`` are deleted.

        ``save_weights`` is told the folder and writes there what can play.
        """
        folder = self.path / "checkpoints"
        draft = folder / "draft"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        save_weights(draft)
        save_file({name: np.ascontiguousarray(array) for name, array in checkpoint.arrays.items()}, draft / "state.safetensors")
        write_json(draft / "state.json", {"steps": checkpoint.steps, **checkpoint.values})
        for file in draft.iterdir():
            with file.open("rb") as handle:
                os.fsync(handle.fileno())
        target = folder / _checkpoint_name(checkpoint.steps)
        shutil.rmtree(target, ignore_errors=True)
        draft.rename(target)
        for old in sorted(folder.glob("step-*"))[:-KEEP_CHECKPOINTS]:
            shutil.rmtree(old)

    def load_checkpoint(self) -> Checkpoint:
        """The last checkpoint; :class:`RecordError` if there is none or it is damaged."""
        folders = sorted((self.path / "checkpoints").glob("step-*"))
        if not folders:
            raise RecordError(f"{self.path} holds no checkpoint to resume from")
        values = read_json(folders[-1] / "state.json")
        steps = values.pop("steps", None) if isinstance(values, dict) else None
        if not isinstance(steps, int) or folders[-1].name != _checkpoint_name(steps):
            raise RecordError(f"{folders[-1]} is damaged: its state.json is not of this step")
        try:
            return Checkpoint(steps, load_file(folders[-1] / "state.safetensors"), values)
        except (OSError, ValueError, SafetensorError) as error:
            raise RecordError(f"{folders[-1]} is damaged: {error}") from None

    def draw_curve(self) -> None:
        """``curve.png`` from the metrics: the evaluation against each baseline with its interval, and the mean return of training."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib.figure import Figure
        from matplotlib.ticker import EngFormatter

        rows = self.read(self.metrics)
        figure = Figure(figsize=(9, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        labels = sorted(
            {key.removesuffix("/mean") for row in rows for key in row if key.startswith("evaluation/") and key.endswith("/mean")}
        )
        for label in labels:
            plot_metric(left, rows, label, label.removeprefix("evaluation/"))
        left.set(title="Evaluation, 95 % interval", xlabel="steps")
        if labels:
            left.legend(fontsize="x-small")
        played = [row for row in rows if "rollout/return" in row]
        right.plot([row["steps"] for row in played], [row["rollout/return"] for row in played])
        right.set(title="Return of training episodes", xlabel="steps")
        for axes in (left, right):
            axes.grid(alpha=0.3)
            axes.xaxis.set_major_formatter(EngFormatter())
        self.save_picture(figure)

    def save_picture(self, figure: Any) -> None:
        """Write ``curve.png`` whole or not at all."""
        picture = BytesIO()
        figure.savefig(picture, format="png", dpi=110)
        write_bytes(self.path / "curve.png", picture.getvalue())


def read_json(path: Path) -> Any:
    """The value of a JSON file; :class:`RecordError` if it is missing or damaged."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise RecordError(f"{path} is damaged: {error}") from None


def _checkpoint_name(steps: int) -> str:
    return f"step-{steps:010d}"


def _read_lines(path: Path) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The rows of a JSON Lines file, each with its text."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            return  # the end of the process cut it short
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict) or not isinstance(row.get("steps"), int):
            raise RecordError(f"{path}: line {number} is damaged: it is no JSON object with its steps")
        yield row, line
