"""``deckhand export``."""

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def export(
        policy: Annotated[
            str,
            typer.Argument(
                help="A run folder, a .safetensors file, or a policy that ships, with its game: flotsam_fight:policy.", show_default=False
            ),
        ],
        onnx: Annotated[Path | None, typer.Option(help="Write the network to this ONNX file.")] = None,
        ship: Annotated[bool, typer.Option("--ship", help="Put the policy with its card into the package, in agents/weights.")] = False,
        name: Annotated[str, typer.Option(help="With --ship: the agent's name.")] = "policy",
        half: Annotated[bool, typer.Option("--half", help="With --ship: store 16 bits a weight.")] = False,
    ) -> None:
        """Export a trained policy: as ONNX for an app or a browser, or into the package as an agent with a name.

        The ONNX network takes observation (float32) and action_mask (bool), with any number of rows, and gives logits and probabilities.

        Example: deckhand export runs/flotsam-1 --onnx flotsam.onnx

        Another: deckhand export runs/flotsam-1 --ship
        """
        from ...agents.policy import PolicyAgent
        from ...agents.registry import load_policy
        from ...envs.core import OptionError
        from ..export import agreement, check_shipping, ship_policy, write_onnx

        if onnx is None and not ship:
            raise OptionError("say what to export to: --onnx FILE, or --ship")
        if not ship and (half or name != "policy"):
            raise OptionError("--name and --half need --ship")
        chosen = load_policy(policy)
        if ship:
            check_shipping(chosen, name, half)  # before anything is written
        if onnx is not None:
            write_onnx(chosen, onnx)
            print(f"{onnx}: {chosen.game.id}, {onnx.stat().st_size:,} bytes")
        if ship:
            path = ship_policy(chosen, name, half)
            print(f"{path}: {path.stat().st_size:,} bytes, agent {chosen.game.name}:{name}")
            if half:
                print(f"16 bits prefer the same action in {100 * agreement(chosen, PolicyAgent.load(path)):.2f} % of positions")
