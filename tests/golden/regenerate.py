"""Write the golden records anew: of the games with the seeds 0 .. 19, the shortest."""

from pathlib import Path

from deckhand.envs.core import game_names, get_game
from deckhand.train.commands.record import record_games

for name in game_names():
    game = get_game(name)
    for players in range(game.min_players, game.max_players + 1):
        texts = ["".join(record_games(game, players, {}, seed, 1, ["random"])) for seed in range(20)]
        (Path(__file__).parent / f"{name}_{players}.jsonl").write_text(min(texts, key=len), encoding="ascii", newline="\n")
