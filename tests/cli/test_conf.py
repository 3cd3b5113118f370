"""Every packaged file composes, is accepted, and lists the keys of what it configures."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from rlg.api.composing import compose
from rlg.api.composing.command_line import CommandLine
from rlg.api.config.groups import groups
from rlg.api.config.sections import backend_arguments
from rlg.api.config.validate import known_keys, validate

CONF = Path(str(files("rlg.conf")))
# Experiments are a link to a folder of their own, which `**` alone doesn't follow.
FOUND = {*CONF.rglob("*.yaml"), *CONF.glob("experiment/*.yaml")}
FILES = sorted(path.relative_to(CONF).as_posix() for path in FOUND)
CHOICES = [name.removesuffix(".yaml").replace("/", "=", 1) for name in FILES if "/" in name]
# Policies are for `rlg test-component`: agents make their own.
WHOLE = ("experiment", "tuned")  # files with values of all sections
TRAINED = [choice for choice in CHOICES if not choice.startswith("policy=")]


def composed(*overrides: str) -> dict:
    return compose.composed(CommandLine(list(overrides)))


def test_groups_are_the_folders_of_conf():
    found = [f"{group}={option}" for group, options in groups().items() for option in options]
    assert sorted(found) == sorted(CHOICES)
    assert len(CHOICES) > 15


@pytest.mark.parametrize("choice", TRAINED)
def test_every_option_composes_and_is_accepted(choice):
    group, _, option = choice.partition("=")
    # Some options need others: images, continuous actions.
    needed = {
        "network=nature_cnn": "env=pong",
        "env=pendulum": "agent=ppo",
        "env=lunar_lander_continuous": "agent=ppo",
        "env=bipedal_walker": "agent=ppo",
        "env=half_cheetah": "agent=ppo",
        "env=hopper": "agent=ppo",
        "env=walker2d": "agent=ppo",
        "env=ant": "agent=sac",
        "network=minatar_cnn": "env=minatar_breakout",
        "executor=ray": "agent=apex",
        "executor=tf_cluster": "agent=impala",
        "agent=td3": "env=pendulum",
        "agent=ddpg": "env=pendulum",
        "tuned=td3_pendulum": "env=pendulum",
        "tuned=ddpg_pendulum": "env=pendulum",
        "tuned=apex_atari": "env=pong",
        "tuned=network/apex_atari_nature_cnn_frame_replay": "env=pong",
        "tuned=impala_atari": "env=pong",
        "tuned=pqn_atari": "env=pong",
        "tuned=network/pqn_atari_nature_cnn_frame_replay": "env=pong",
        "tuned=network/impala_doom_nature_cnn_frame_replay": "env=doom_basic",
        "tuned=network/impala_atari_nature_cnn_frame_replay": "env=pong",
        "tuned=impala_pong": "env=pong",
        "tuned=network/impala_pong_nature_cnn_frame_replay": "env=pong",
        "tuned=network/ppo_cartpole_positions_lstm_replay": "network=lstm",
        "tuned=network/ppo_recall_lstm_replay": "network=lstm",
    }
    words = [needed[choice]] if choice in needed else []
    if group == "tuned":  # tuned=dqn_cartpole, tuned=optimizer/ppo_cartpole_adam_ppo
        words.append(f"agent={option.rpartition('/')[2].partition('_')[0]}")
    config = composed(choice, *words)
    checked = validate(config)
    assert validate(checked) == checked


@pytest.mark.parametrize("choice", [c for c in TRAINED if c.partition("=")[0] not in WHOLE])
def test_every_key_of_an_option_is_known(choice):
    group = choice.partition("=")[0]
    section = composed(choice)[group]
    assert set(section) <= set(keys_of(group, section))


@pytest.mark.parametrize("choice", ["agent=dqn", "env=pong", "backend=torch", "backend=tf"])
def test_an_option_lists_every_key_that_there_is(choice):
    group = choice.partition("=")[0]
    section = composed(choice)[group]
    assert set(section) == set(keys_of(group, section))


def keys_of(group: str, section: dict) -> list[str]:
    if group == "backend":
        return ["type", *backend_arguments(section["type"])]
    return known_keys(group, section)


def test_nothing_but_defaults_is_added_to_a_configuration():
    config = composed()
    checked = validate(config)
    for name, section in config.items():
        if isinstance(section, dict):
            assert {key: checked[name][key] for key in section} == section
        else:
            assert checked[name] == section
    assert checked["env"]["max_episode_steps"] == 500


def test_an_image_environment_brings_its_network_and_memory():
    config = composed("env=pong")
    assert config["network"]["type"] == "nature_cnn"
    assert (config["memory"]["type"], config["memory"]["alpha"]) == ("frame_replay", 0.0)
    assert config["memory"]["buffer_size"] == 100_000


def test_values_for_one_game_come_before_those_for_all_of_them():
    pong, other = (composed("agent=impala", env) for env in ("env=pong", "env=breakout"))
    assert (pong["total_timesteps"], other["total_timesteps"]) == (2_500_000, 10_000_000)
    assert (pong["agent"]["clip_range"], other["agent"]["clip_range"]) == (0.2, None)
    assert (pong["network"]["offset"], other["network"]["offset"]) == (106.0, 0.0)
    assert pong["network"]["convolutions"] == other["network"]["convolutions"]
    assert (pong["optimizer"]["max_grad_norm"], other["optimizer"]["max_grad_norm"]) == (5.0, 1.25)


def test_pqn_brings_a_network_with_normalised_layers_and_bounds_its_gradients():
    found = composed("agent=pqn", "tuned=null")
    assert (found["network"]["type"], found["network"]["layer_norm"]) == ("mlp", True)
    assert (found["optimizer"]["type"], found["optimizer"]["max_grad_norm"]) == ("radam", 10.0)
    tuned = composed("agent=pqn", "env=cartpole")
    assert (tuned["env"]["num_envs"], tuned["total_timesteps"]) == (32, 500_000)
    assert tuned["optimizer"]["learning_rate"]["initial"] == 5e-4
    for env in ("pong", "minatar_asterix"):
        assert composed("agent=pqn", f"env={env}")["network"]["layer_norm"]


def test_an_engine_brings_its_backend_unless_the_command_line_has_another():
    words = ("agent=impala", "executor=tf_cluster")
    assert composed(*words)["backend"]["type"] == "tf-graph"
    assert composed(*words, "backend=tf")["backend"]["type"] == "tf"


def test_the_command_line_wins_over_environment_and_experiment():
    config = composed("experiment=pong_dqn", "memory=replay", "network=mlp", "agent.batch_size=7")
    assert config["network"]["type"] == "mlp"
    assert config["agent"]["batch_size"] == 7
    assert config["agent"]["target_update_interval"] == 1_000
    assert composed("experiment=pong_dqn", "env=breakout")["env"]["name"] == "breakout"


def test_tuned_values_are_those_of_agent_and_environment():
    cartpole, acrobot = composed("agent=dqn", "env=cartpole"), composed("env=acrobot")
    assert (cartpole["total_timesteps"], cartpole["agent"]["n_step"]) == (40_000, 3)
    assert (acrobot["total_timesteps"], acrobot["agent"]["batch_size"]) == (50_000, 128)
    assert composed("env=CartPole-v1")["agent"] == cartpole["agent"]
    assert composed("env.name=acrobot") == acrobot
    recurrent = composed("agent=ppo", "env=cartpole_positions", "network=lstm")
    assert (recurrent["agent"]["n_steps"], recurrent["network"]["units"]) == (128, 64)
    assert recurrent["optimizer"]["learning_rate"]["initial"] == 5e-4
    for game in ("pong", "seaquest", "ALE/Breakout-v5"):
        assert composed(f"env={game}")["total_timesteps"] == 10_000_000
        assert composed(f"env={game}")["optimizer"]["learning_rate"] == 1e-4


def test_games_of_a_family_share_their_values_and_ids_have_those_of_their_short_names():
    for name in ("minatar_breakout", "minatar_space_invaders", "MinAtar/Asterix-v1"):
        found = composed("agent=ppo", f"env={name}")
        assert (found["env"]["num_envs"], found["total_timesteps"]) == (64, 10_000_000)
        assert found["network"]["convolutions"] == [[16, 3, 1]]
        assert found["optimizer"]["learning_rate"]["initial"] == 1e-3
        assert composed("agent=dqn", f"env={name}")["total_timesteps"] == 5_000_000
        assert not found["network"]["layer_norm"]
        found = composed("agent=pqn", f"env={name}")
        assert (found["env"]["num_envs"], found["network"]["layer_norm"]) == (128, True)
        assert found["optimizer"]["learning_rate"]["initial"] == 5e-4
    for name in ("doom_basic", "doom_health_gathering", "doom_health_gathering_supreme"):
        found = composed("agent=impala", f"env={name}")
        assert (found["agent"]["reward_clip"], found["network"]["features_dim"]) == (None, 256)
        assert found["env"]["reward_scale"] == 0.01
    assert composed("env=doom_my_way_home")["env"]["reward_scale"] == 1.0
    assert composed("env=LunarLander-v3")["optimizer"]["learning_rate"]["initial"] == 6.3e-4
    assert composed("agent=sac", "env=HalfCheetah-v5")["env"]["num_envs"] == 1


def test_a_name_beside_an_experiment_changes_nothing_but_the_name():
    found, pong = composed("experiment=pong_dqn", "env.name=breakout"), composed("env=pong")
    assert found["env"] == {**pong["env"], "name": "breakout"}
    assert pong["env"]["episodic_life"] is not composed("env=breakout")["env"]["episodic_life"]


def test_a_pair_without_tuned_values_falls_back_to_the_files_of_its_parts():
    found = composed("env=FrozenLake-v1")
    assert found == {**composed("tuned=null", "env=FrozenLake-v1")}
    assert (found["total_timesteps"], found["network"]["units"]) == (50_000, [256, 256])


def test_a_part_that_was_not_tuned_keeps_its_own_values():
    found = composed("network=lstm", "optimizer=sgd", "memory=prioritized")
    assert found["network"] == composed("network=lstm", "tuned=null")["network"]
    assert found["optimizer"]["learning_rate"] == 1e-2
    assert found["agent"]["n_step"] == 1
    assert found["agent"]["target_update_interval"] == 256


def test_experiment_and_command_line_win_over_tuned_values(rlg, folder):
    found = composed("experiment=cartpole_dqn", "agent.n_step=2")
    assert (found["total_timesteps"], found["agent"]["n_step"]) == (100_000, 2)
    assert found["optimizer"]["learning_rate"] == 2.3e-3
    (folder / "mine/tuned").mkdir(parents=True)
    text = "# @package _global_\ntotal_timesteps: 7\n"
    (folder / "mine/tuned/dqn_FrozenLake-v1.yaml").write_text(text)
    own = rlg("train", "--config-dir", "mine", "env=FrozenLake-v1", "--cfg", "job").out
    assert "total_timesteps: 7\n" in own


def test_the_users_folder_is_searched_first(rlg, folder):
    (folder / "mine/env").mkdir(parents=True)
    (folder / "mine/env/cartpole.yaml").write_text("name: cartpole\nnum_envs: 3\n")
    (folder / "mine/env/my_env.yaml").write_text("name: Acrobot-v1\nnum_envs: 5\n")
    assert "num_envs: 3\n" in rlg("train", "--config-dir", "mine", "--cfg", "job").out
    assert "num_envs: 5\n" in rlg("train", "--config-dir", "mine", "env=my_env", "--cfg", "job").out
    assert "num_envs: 8\n" in rlg("train", "--cfg", "job").out
    wrong = rlg("train", "--config-dir", "mine", "env=my_emv")
    assert "Did you mean 'my_env'?" in wrong.err


@pytest.mark.parametrize("word", ["env.max_episode_steps=9", "env={max_episode_steps:9}"])
def test_a_key_that_no_file_lists_needs_no_plus_and_is_noted_as_it_was_typed(folder, word):
    with compose.new_run(CommandLine([word, "hydra.run.dir=run"])) as run:
        assert run.config["env"] == {"name": "cartpole", "num_envs": 8, "max_episode_steps": 9}
        assert run.command == ["rlg", "train", word]
