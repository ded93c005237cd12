"""Trained networks for others: into the package, and policies as ONNX."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from ..agents import shipped
from ..agents.policy import PolicyAgent, save_policy
from ..agents.registry import RESERVED, agent_names
from ..agents.value_agent import ValueAgent, save_values
from ..agents.weights_file import PolicyError, layout_hash
from ..envs.core import DeckhandError
from ..envs.core.files import write_bytes
from ..envs.learner_batch import LearnerBatch

if TYPE_CHECKING:
    from onnx import ModelProto

OPSET = 17
GAMES, DECISIONS = 64, 50


def ship_network(trained: PolicyAgent | ValueAgent, name: str, half: bool = False) -> Path:
    """Put a trained network with its card into the package: ``agents/weights/<game>/<name>.safetensors``, the agent ``name`` from then on.

    ``half`` stores float16. :class:`PolicyError` for a network without results (its run is not finished), a name that is another agent's,
    or if the game's files would be larger than :data:`deckhand.agents.shipped.MAX_BYTES` together; then nothing is changed.
    """
    check_shipping(trained, name, half)
    folder = shipped.WEIGHTS_FOLDER / trained.game.name
    folder.mkdir(parents=True, exist_ok=True)
    _save(trained, folder, name, half)
    return folder / f"{name}.safetensors"


def _save(trained: PolicyAgent | ValueAgent, folder: str | Path, name: str, half: bool) -> None:
    assert trained.card
    if isinstance(trained, ValueAgent):
        save_values(folder, trained.params, trained.card, trained.game, name=name, half=half)
    else:
        save_policy(folder, trained.layers, trained.card, name=name, half=half)


def check_shipping(trained: PolicyAgent | ValueAgent, name: str, half: bool) -> None:
    """:class:`PolicyError` for what :func:`ship_network` cannot ship."""
    if trained.card is None or not trained.card.results:
        raise PolicyError(f"{trained.name} has no results in its card: only the network of a finished run is shipped")
    if not name.isidentifier() or name in (*agent_names(trained.game), *RESERVED):
        raise PolicyError(f"a network of {trained.game.name} cannot be called {name!r}: it must be a new word of letters, digits and _")
    folder = shipped.WEIGHTS_FOLDER / trained.game.name
    with TemporaryDirectory() as draft:
        _save(trained, draft, name, half)
        files = [*Path(draft).iterdir(), *(path for path in folder.glob("*") if path.stem != name)]
        size = sum(path.stat().st_size for path in files)
    if size > shipped.MAX_BYTES:
        raise PolicyError(
            f"{trained.game.name}: what ships may take {shipped.MAX_BYTES / 1e6:g} MB together, not {size / 1e6:.1f} MB"
            + ("" if half else "; half precision takes half")
        )


def agreement(policy: PolicyAgent, other: PolicyAgent) -> float:
    """In how many of the positions that ``policy`` meets when it plays itself both prefer the same action."""
    card = policy.card
    config = card.config if card else {}
    solo = policy.game.cooperative or max(config.get("players", [2])) == 1
    opponents = [] if solo else [PolicyAgent(policy.game, policy.layers, policy.activation)]
    batch = LearnerBatch(policy.game, GAMES, config.get("players"), config.get("options", {}), opponents=opponents)
    step = batch.reset(0)
    equal = []
    for _ in range(DECISIONS):
        first, second = (np.where(step.masks, agent.logits(step.observations), -np.inf).argmax(axis=1) for agent in (policy, other))
        equal.append(first == second)
        step = batch.step(first)
    return float(np.mean(equal))


def write_onnx(policy: PolicyAgent, path: str | Path) -> None:
    """Write :func:`onnx_model` to a file."""
    write_bytes(path, onnx_model(policy).SerializeToString())


def onnx_model(policy: PolicyAgent) -> "ModelProto":
    """The network as ONNX, made without torch.

    Inputs: ``observation`` float32 (batch, layout.size) and ``action_mask`` bool (batch, num_actions), every row with a legal action.
    Outputs, float32 (batch, num_actions): ``logits``, minus infinity for illegal actions, and ``probabilities``, 0 for them. The metadata
    hold the game's id, the hash of its observation layout, and the version of Deckhand that trained.
    """
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ModuleNotFoundError as error:
        raise DeckhandError(f"ONNX files need {error.name}: pip install 'deckhand-rl[export]'") from None

    nodes, tensors = [], [numpy_helper.from_array(np.array(-np.inf, np.float32), "illegal")]
    names = _names(len(policy.layers))
    for i, ((weight, bias), (source, target)) in enumerate(zip(policy.layers, pairwise(names), strict=True)):
        tensors += [numpy_helper.from_array(np.ascontiguousarray(a), f"{n}.{i}") for n, a in (("weight", weight), ("bias", bias))]
        hidden = i < len(policy.layers) - 1
        sums = f"{target}_sums" if hidden else target
        nodes.append(helper.make_node("Gemm", [source, f"weight.{i}", f"bias.{i}"], [sums], transB=1))
        if hidden:
            nodes.append(helper.make_node({"relu": "Relu", "tanh": "Tanh"}[policy.activation], [sums], [target]))
    nodes.append(helper.make_node("Where", ["action_mask", names[-1], "illegal"], ["logits"]))
    nodes.append(helper.make_node("Softmax", ["logits"], ["probabilities"], axis=1))
    game = policy.game
    graph = helper.make_graph(
        nodes,
        f"{game.id} policy",
        [
            helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["batch", game.layout.size]),
            helper.make_tensor_value_info("action_mask", TensorProto.BOOL, ["batch", game.num_actions]),
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", game.num_actions]) for name in ("logits", "probabilities")],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8, producer_name="deckhand")
    metadata = {"game": game.id, "observation_layout": layout_hash(game.layout.signature)}
    if policy.card:
        metadata |= {"deckhand": policy.card.deckhand, "steps": str(policy.card.steps), "weights_sha256": policy.card.weights_sha256}
    helper.set_model_props(model, metadata)
    checker.check_model(model, full_check=True)
    return model


def _names(layers: int) -> Sequence[str]:
    """What goes into the first layer and comes out of each."""
    return ["observation", *(f"hidden_{i}" for i in range(layers - 1)), "all_logits"]
