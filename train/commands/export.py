"""``deckhand export``."""

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def export(
        network: Annotated[
            str,
            typer.Argument(
                help="A run folder, a .safetensors file, or what ships, with its game: flotsam_fight:policy.",
                metavar="NETWORK",
                show_default=False,
            ),
        ],
        onnx: Annotated[Path | None, typer.Option(help="Write a policy to this ONNX file.")] = None,
        ship: Annotated[bool, typer.Option("--ship", help="Put the network with its card into the package, in agents/weights.")] = False,
        name: Annotated[
            str | None, typer.Option(help="With --ship: the agent's name; policy or values if not given.", show_default=False)
        ] = None,
        half: Annotated[bool, typer.Option("--half", help="With --ship: store 16 bits a weight.")] = False,
    ) -> None:
        """Export a trained network: a policy as ONNX for an app or a browser, or into the package as an agent with a name.

        A policy's ONNX network takes observation (float32) and action_mask (bool), any number of rows, and gives logits and probabilities.

        Example: deckhand export runs/flotsam-1 --onnx flotsam.onnx

        Another: deckhand export runs/flotsam-1 --ship
        """
        from ...agents.policy import PolicyAgent
        from ...agents.registry import load_trained
        from ...envs.core import OptionError
        from ..export import agreement, check_shipping, ship_network, write_onnx

        if onnx is None and not ship:
            raise OptionError("say what to export to: --onnx FILE, or --ship")
        if not ship and (half or name is not None):
            raise OptionError("--name and --half need --ship")
        chosen = load_trained(network)
        policy = chosen if isinstance(chosen, PolicyAgent) else None
        name = name or ("policy" if policy else "values")
        if ship:
            check_shipping(chosen, name, half)  # before anything is written
        if onnx is not None:
            if policy is None:
                raise OptionError(f"{network} is a value network: only policies can be written as ONNX")
            write_onnx(policy, onnx)
            print(f"{onnx}: {chosen.game.id}, {onnx.stat().st_size:,} bytes")
        if ship:
            path = ship_network(chosen, name, half)
            print(f"{path}: {path.stat().st_size:,} bytes, agent {chosen.game.name}:{name}")
            if half and policy:
                print(f"16 bits prefer the same action in {100 * agreement(policy, PolicyAgent.load(path)):.2f} % of positions")
