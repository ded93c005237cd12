"""Training the variants of one configuration in turn and comparing them."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from ..envs.core import RecordError
from ..envs.core.files import write_json, write_text
from .config import TrainConfig, variant_configs
from .plots import plot_metric
from .runs import RunFolder, read_json
from .statistics import Figure
from .tables import Grid


def train_variants(config: TrainConfig, folder: RunFolder, console: Console) -> list[Grid]:
    """Train every variant that is not finished, from its last checkpoint if it has one; write and return the comparison.

    A table for every final evaluation: rows are the policy's figures, columns the variants.
    """
    with folder.held():
        return _train(config, folder, console)


def _train(config: TrainConfig, folder: RunFolder, console: Console) -> list[Grid]:
    from .ppo import Trainer

    reports: dict[str, dict[str, Any]] = {}
    for name, chosen in variant_configs(config).items():
        result = folder.path / name / "evaluation.json"
        if not result.exists():
            console.print(f"variant {name}: {config.variants[name]}", soft_wrap=True, highlight=False)
            own, resume = RunFolder.of_variant(folder, name, chosen)
            Trainer(chosen, own, console).run(resume=resume)
        reports[name] = read_json(result)
        if not isinstance(reports[name], dict) or "evaluations" not in reports[name]:
            raise RecordError(f"{result} is damaged: it holds no evaluations")
    variants = {name: {"changes": config.variants[name], **report} for name, report in reports.items()}
    comparison = {"schema": "deckhand/comparison/1", "name": config.name, "variants": variants}
    write_json(folder.path / "comparison.json", comparison)
    grids = comparison_grids(comparison)
    write_text(folder.path / "comparison.md", "\n".join(grid.to_markdown() for grid in grids))
    _draw(folder, list(reports))
    return grids


def comparison_grids(comparison: Mapping[str, Any]) -> list[Grid]:
    """The tables of a ``comparison.json``: one an evaluation, a row a figure, a column a variant; what a variant lacks is ``-``."""
    variants = comparison["variants"]
    tables: dict[str, dict[str, dict[str, str]]] = {}
    for variant, report in variants.items():
        for evaluation in report["evaluations"]:
            policy, *others = evaluation["agents"]
            against = f" against {others[0]}" if evaluation["by_seat"] else ""
            setting = f"{evaluation['players']} players, {evaluation['deals']:,} new deals, 95 % intervals"
            title = f"{comparison['name']}: {policy}{against}, {setting}"
            for name, text in _texts(evaluation).items():
                tables.setdefault(title, {}).setdefault(name.replace("_", " "), {})[variant] = text
    return [
        Grid(title, ("", *variants), [(name, *(row.get(v, "-") for v in variants)) for name, row in table.items()])
        for title, table in tables.items()
    ]


def _texts(evaluation: dict[str, Any]) -> dict[str, str]:
    """The policy's figures: what decides, then the game's rates and means."""
    name = "win_share" if evaluation["by_seat"] else "score"
    counts = evaluation["statistics"][0]
    texts = {name: _text(evaluation["figures"][0][name], percent=name == "win_share")}
    texts |= {key: _text(value, percent=True) for key, value in counts["rates"].items()}
    return texts | {key: _text(value) for key, value in counts["means"].items()}


def _text(figure: dict[str, float] | None, percent: bool = False) -> str:
    return Figure.from_json(figure).text(percent) if figure else "-"


def _draw(folder: RunFolder, variants: list[str]) -> None:
    """``curve.png``: for every figure that was measured in training a picture with one line a variant."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import figure as plots

    curves = {}
    for variant in variants:
        own = RunFolder(folder.path / variant)
        curves[variant] = [row for row in own.read(own.metrics) if any(key.startswith("evaluation/") for key in row)]
    keys = [key for rows in curves.values() for row in rows for key in row]
    labels = [
        key.removesuffix("/mean") for key in dict.fromkeys(keys) if key.startswith(("evaluation/", "statistics/")) and key.endswith("/mean")
    ]
    columns = min(len(labels), 5) or 1
    picture = plots.Figure(figsize=(4 * columns, 3 * max(1, -(-len(labels) // columns))), layout="constrained")
    for k, label in enumerate(labels):
        axes = picture.add_subplot(-(-len(labels) // columns), columns, k + 1)
        for variant, rows in curves.items():
            plot_metric(axes, rows, label, variant)
        axes.set_title(label.partition("/")[2], fontsize="small")
        axes.grid(alpha=0.3)
        if k == 0:
            axes.legend()
    folder.save_picture(picture)
