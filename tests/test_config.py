"""Training configurations: what is read, what is refused, and how the errors say it."""

from importlib.resources import files

import pytest
import yaml
from deckhand.train.config import ConfigError, dump_config, load_config, shipped_configs, variant_configs


@pytest.fixture
def write(tmp_path):
    """Write a config: the shipped smoke config with changes."""

    def make(text=None, **changes):
        values = load_config("smoke").model_dump() | changes
        path = tmp_path / "x.yaml"
        path.write_text(yaml.safe_dump(values) if text is None else text)
        return str(path)

    return make


@pytest.mark.parametrize("name", shipped_configs())
def test_shipped_configs_are_valid_and_survive_being_written(name, tmp_path):
    config = load_config(name)
    path = tmp_path / "config.yaml"
    path.write_text(dump_config(config))
    assert load_config(str(path)) == config


def test_shipped_configs_name_every_key():
    # A reader of flotsam.yaml sees every setting that exists, none is a hidden default.
    with_defaults = load_config("flotsam").model_dump()
    source = files("deckhand.configs").joinpath("flotsam.yaml").read_text()
    text = "\n".join(line.split("#")[0] for line in source.splitlines())

    def keys(values):
        for key, value in values.items():
            yield key
            if isinstance(value, dict) and key not in ("options", "agents"):
                yield from keys(value)

    assert [key for key in keys(with_defaults) if f"{key}:" not in text and key not in ("start", "end")] == []


def test_name_defaults_to_the_file(write, tmp_path):
    values = load_config("smoke").model_dump()
    del values["name"]
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(values))
    assert load_config(str(path)).name == "mine"


def test_overrides_change_nested_keys_and_read_exponents_as_numbers():
    config = load_config("smoke", ["ppo.learning_rate=7e-4", "seed=5", "ppo.entropy={start: 1e-2, end: 0}", "opponents.snapshots=null"])
    assert config.ppo.learning_rate.start == config.ppo.learning_rate.end == 7e-4
    assert config.seed == 5
    assert config.ppo.entropy.at(0.5) == pytest.approx(0.005)
    assert config.opponents.snapshots is None


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("ppo.learning_rte=1e-3", ["ppo.learning_rte: unknown key", "learning_rate"]),
        ("opponents.snapshots.evry=5", ["opponents.snapshots.evry: unknown key", "every", "latest"]),
        ("pppo.steps=1", ["pppo: unknown key", "checkpoint_every"]),
        ("ppo.learning_rate=fast", ["ppo.learning_rate", "'fast'", "write a number"]),
        ("ppo.learning_rate={start: 1}", ["ppo.learning_rate.end: missing"]),
        ("budget.steps=0", ["budget.steps cannot be 0", "warm start"]),
        ("warm_start={agent: nobody, steps: 9}", ["warm_start.agent", "nobody", "low"]),
        (
            "warm_start=[{agent: low, steps: 9}, {agnt: low, steps: 9}]",
            ["warm_start.1.agnt: unknown key", "agent", "warm_start.1.agent: missing"],
        ),
        ("warm_start={agent: low, steps: 9, led: 1.5}", ["warm_start.led", "1.5", "0 to 1"]),
        ("warm_start={agent: low, steps: 9, anchor: -1}", ["warm_start.0.anchor", "-1", "greater than or equal to 0"]),
        ("ppo.clip=0", ["ppo.clip", "0", "greater than 0"]),
        ("ppo.gamma=1.5", ["ppo.gamma", "1.5", "less than or equal to 1"]),
        ("seed=1.5", ["seed", "1.5", "integer"]),
        ("game=chess", ["game", "chess", "flotsam_fight"]),
        ("players=9", ["players", "9", "2 to 6"]),
        ("players=[2, 9]", ["players", "9", "2 to 6"]),
        ("players=[]", ["players", "[]"]),
        ("players=two", ["players", "two", "integer"]),
        ("variants={a: {ppo.gama: 0.9}}", ["variants.a: ppo.gama: unknown key", "gamma"]),
        ("variants={a: {seed.x: 1}}", ["variants.a: seed is a value"]),
        ("variants={a: {options.rounds: 0}}", ["variants.a: options", "rounds"]),
        ("variants={a: {runs: here}}", ["variants.a: runs cannot differ"]),
        ("variants={a/b: {}}", ["variants.a/b", "pattern"]),
        ("variants={..: {}}", ["variants...", "pattern"]),
        ("variants={.: {}}", ["variants..", "pattern"]),
        ("variants={.lock: {}}", ["variants..lock", "pattern"]),
        ("variants={config.yaml: {}}", ["variants.config.yaml", "has a file of this name"]),
        ("variants={Curve.png: {}}", ["variants.Curve.png", "has a file of this name"]),
        ("name=..", ["name", "'..'", "pattern"]),
        ("evaluation.deals=1", ["evaluation.deals cannot be 1", "2"]),
        ("evaluation.final_deals=1", ["evaluation.final_deals cannot be 1", "2"]),
        ("evaluation.final_deals=10000001", ["evaluation.final_deals", "10000000"]),
        ("ppo.games=10000000000", ["ppo.games", "10000000"]),
        ("reward_scale=.inf", ["reward_scale cannot be inf", "finite"]),
        ("ppo.max_grad_norm=.inf", ["ppo.max_grad_norm cannot be inf", "finite"]),
        ("ppo.learning_rate=.inf", ["ppo.learning_rate", "inf", "finite"]),
        ("ppo.entropy={start: .nan, end: 0}", ["ppo.entropy.start cannot be nan"]),
        ("opponents.agents={low: .inf}", ["opponents.agents.low cannot be inf", "finite"]),
        ("budget.minutes=.inf", ["budget.minutes cannot be inf", "finite"]),
        ("seed=2026-99-99", ["--set seed=2026-99-99", "not YAML"]),
        (f"seed={'[' * 3000}", ["--set seed=[[[", "nested too deeply"]),
        ("variants={a: null}", ["variants.a", "dictionary"]),
        ("options={round: 3}", ["options", "round", "rounds"]),
        ("opponents.agents={hgh: 1}", ["opponents.agents", "hgh", "low"]),
        ("evaluation.against=[random, nobody]", ["evaluation.against", "nobody"]),
        ("opponents.agents={low: 0}", ["opponents.agents", "weight above 0"]),
        ("ppo.batch_size=100", ["ppo.batch_size", "100", "256"]),
        ("checkpoint_every=10", ["checkpoint_every", "10", "256"]),
        ("evaluation.final_seed=1_000_001", ["evaluation.final_seed"]),
        ("network.activation=gelu", ["network.activation", "gelu", "tanh"]),
        ("network={hidden: [10], symmetric: true}", ["network", "symmetric", "flotsam_fight"]),
        ("seed", ["--set seed", "key=value"]),
        ("seed.x=1", ["seed is a value"]),
        ("seed=[1", ["--set seed=[1"]),
    ],
)
def test_errors_name_the_key_and_what_is_allowed(override, words):
    with pytest.raises(ConfigError) as caught:
        load_config("smoke", [override])
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_symmetric_network_has_a_part_for_every_name():
    assert load_config("keltis", ["network={hidden: [12, 60], symmetric: true}"]).network.symmetric
    with pytest.raises(ConfigError, match=r"keltis\.yaml: network: hidden cannot be 50 where symmetric is true: .* a multiple of 6"):
        load_config("keltis", ["network={hidden: [12, 50], symmetric: true}"])


def test_errors_name_the_file(write):
    path = write(colour="red")
    with pytest.raises(ConfigError, match=r"x\.yaml: colour: unknown key"):
        load_config(path)
    with pytest.raises(ConfigError, match=r"x\.yaml: line 2: key 'seed' stands twice"):
        load_config(write(text="seed: 1\nseed: 2\n"))
    for key in ("[a]", "{a: b}"):
        with pytest.raises(ConfigError, match=r"x\.yaml: line 2: key"):
            load_config(write(text=f"seed: 1\n? {key}\n: 2"))
    with pytest.raises(ConfigError, match="the keys are"):
        load_config(write(text="hello"))
    with pytest.raises(ConfigError, match="line"):
        load_config(write(text="a: [1\nb: 2"))


def test_unknown_configs_and_unreadable_files():
    with pytest.raises(ConfigError, match="boote, boote-all, flotsam, flotsam-all, keltis, memory, smoke"):
        load_config("flotsm")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config("nowhere/x.yaml")


def test_one_player_has_no_opponents():
    with pytest.raises(ConfigError, match="opponents: a game for one player has none"):
        load_config("boote", ["opponents.agents={random: 1}"])


def test_players_are_one_count_or_several():
    assert load_config("smoke").players == [2]
    assert load_config("smoke", ["players=[2, 5]"]).players == [2, 5]


def test_variants_change_their_keys_and_nothing_else():
    config = load_config("smoke", ["variants={a: {}, b: {ppo.gamma: 0.5, options.rounds: 3}}"])
    found = variant_configs(config)
    assert list(found) == ["a", "b"]
    plain = load_config("smoke").model_dump()
    assert found["a"].model_dump() == plain | {"name": "a"}
    changed = load_config("smoke", ["ppo.gamma=0.5", "options.rounds=3"]).model_dump()
    assert found["b"].model_dump() == changed | {"name": "b"}
    assert variant_configs(load_config("smoke")) == {}
