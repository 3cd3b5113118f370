"""What a session promises beyond exactness: goals, horizons, stops, strict state, engines."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from rlg.api import session
from rlg.api.agents import factory as factory_module
from rlg.api.agents.dqn import DQNAgent
from rlg.api.agents.factory import ConfiguredAgents
from rlg.api.config.validate import validate
from rlg.api.figures import figures_of
from rlg.api.run import resume, train
from rlg.envs.loop import LoopEnv
from rlg.errors import CheckpointError, ExecutionError, SpecError
from rlg.execution import engines
from rlg.execution.engines import ENGINES, EngineEntry, choose_loop, open_engine
from rlg.execution.evaluation import Evaluation
from rlg.execution.sampling import SteppingSampler
from rlg.execution.types import Clock, Iteration
from rlg.tracking.folder import RunFolder
from rlg.tracking.metrics import MetricsLog, read_metrics
from tests.api.runs import config, course, killed

# 36 updates in a round: 32 in one call, then four single ones.
IN_CALLS = {**config()["agent"], "gradient_steps": 36}


def short(**changes):
    base = {"total_timesteps": 512, "evaluation": {"interval": 0, "episodes": 2}}
    return config(**{**base, **changes})


# -- state is strict ------------------------------------------------------------------------------
def test_a_resume_with_other_records_is_refused_and_the_run_stays_as_it_was(tmp_path):
    train(short(), tmp_path)
    expected = course(tmp_path)
    changed = {"agent": {**short()["agent"], "n_step": 3}, "total_timesteps": 1024}
    with pytest.raises(SpecError, match=r"lacks agent/memory/discounts. .* Resume with"):
        resume(tmp_path, changes=changed)
    assert course(tmp_path) == expected


def test_entries_that_nothing_takes_are_refused(tmp_path):
    settings = short()
    settings["agent"]["n_step"] = 3
    train(settings, tmp_path)
    changed = {"agent": {**settings["agent"], "n_step": 1}, "total_timesteps": 1024}
    with pytest.raises(SpecError, match="also has agent/memory/discounts"):
        resume(tmp_path, changes=changed)


def test_a_model_that_does_not_arrive_is_noticed(tmp_path, monkeypatch):
    train(short(), tmp_path)
    restore = DQNAgent.set_state

    def careless(self, state):
        restore(self, state)
        path = next(p for p in state["model"] if p.endswith("kernel"))
        self.executor.set_weights({path: state["model"][path] * 0.5}, partial=True)

    monkeypatch.setattr(DQNAgent, "set_state", careless)
    with pytest.raises(CheckpointError, match="model"):
        resume(tmp_path, changes={"total_timesteps": 1024})


# -- schedules ------------------------------------------------------------------------------------
def scheduled(**changes):
    rate = {"type": "linear", "initial": 1e-3, "final": 0.0}
    return short(optimizer={"type": "adam", "learning_rate": rate}, **changes)


def test_a_larger_budget_does_not_rewind_schedules(tmp_path):
    train(scheduled(), tmp_path)
    resume(tmp_path, changes={"total_timesteps": 1024})
    rates = [row["train/learning_rate"] for row in read_metrics(tmp_path / "metrics.jsonl")[1:]]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == 0.0


def test_a_horizon_that_is_given_by_name_counts(tmp_path):
    train(scheduled(schedule_timesteps=1024), tmp_path)
    last = read_metrics(tmp_path / "metrics.jsonl")[-1]
    assert 5e-4 <= last["train/learning_rate"] < 6.2e-4
    assert last["rollout/exploration_rate"] == pytest.approx(0.05)


def test_a_horizon_that_is_given_at_a_resume_counts_from_there_on(tmp_path):
    train(scheduled(), tmp_path)
    resume(tmp_path, changes={"total_timesteps": 640, "schedule_timesteps": 1280})
    last = read_metrics(tmp_path / "metrics.jsonl")[-1]
    assert 4.9e-4 < last["train/learning_rate"] < 6e-4


def test_intervals_that_rounds_do_not_divide_are_kept_and_the_end_is_logged(tmp_path):
    train(short(logger={"interval": 300, "tensorboard": False}), tmp_path)
    rows = read_metrics(tmp_path / "metrics.jsonl")
    assert [row["time/total_timesteps"] for row in rows if "time/fps" in row] == [320, 512]


# -- stopping -------------------------------------------------------------------------------------
def test_a_run_that_was_stopped_between_two_updates_goes_on_exactly(tmp_path, monkeypatch):
    settings = config("torch", total_timesteps=1024, agent=IN_CALLS)
    train(settings, tmp_path / "whole")
    learn_due, calls = DQNAgent.learn_due, []

    def interrupting(self, due, clock):
        calls.append(clock)
        if len(calls) in (8, 73):  # The third call of a round, once with its own evaluation.
            os.kill(os.getpid(), signal.SIGINT)
        return learn_due(self, due, clock)

    monkeypatch.setattr(DQNAgent, "learn_due", interrupting)
    stopped = train(settings, tmp_path / "stopped")
    assert (stopped.exit_code, stopped.updates) == (130, 36 + 34)
    again = resume(tmp_path / "stopped")
    assert (again.exit_code, again.updates) == (130, 14 * 36 + 34)
    monkeypatch.undo()
    resume(tmp_path / "stopped")
    assert course(tmp_path / "stopped") == course(tmp_path / "whole")


def test_a_stop_in_the_last_round_can_be_resumed_too(tmp_path, monkeypatch):
    settings = short(agent=IN_CALLS)
    train(settings, tmp_path / "whole")
    learn_due = DQNAgent.learn_due

    def interrupting(self, due, clock):
        if clock.steps == 512:
            os.kill(os.getpid(), signal.SIGINT)
        return learn_due(self, due, clock)

    monkeypatch.setattr(DQNAgent, "learn_due", interrupting)
    stopped = train(settings, tmp_path / "stopped")
    assert (stopped.exit_code, stopped.steps) == (130, 512)
    monkeypatch.undo()
    assert resume(tmp_path / "stopped").exit_code == 0
    assert course(tmp_path / "stopped") == course(tmp_path / "whole")


def test_an_evaluation_that_the_user_stops_is_made_when_the_run_is_resumed(tmp_path, monkeypatch):
    settings = short(evaluation={"interval": 256, "episodes": 2})
    train(settings, tmp_path / "whole")
    play = session.evaluate

    def interrupted(*args, **limits):
        os.kill(os.getpid(), signal.SIGINT)
        return play(*args, **limits)

    monkeypatch.setattr(session, "evaluate", interrupted)
    stopped = train(settings, tmp_path / "stopped")
    assert (stopped.exit_code, stopped.steps, stopped.evaluation) == (130, 256, None)
    monkeypatch.undo()
    resume(tmp_path / "stopped")
    assert course(tmp_path / "stopped") == course(tmp_path / "whole")


def test_an_owed_evaluation_that_was_made_before_the_next_stop_is_logged_once(
    tmp_path, monkeypatch
):
    settings = short(evaluation={"interval": 256, "episodes": 2})
    train(settings, tmp_path / "whole")
    play = session.evaluate

    def before(*args, **limits):
        os.kill(os.getpid(), signal.SIGINT)
        return play(*args, **limits)

    def behind(agent, env, episodes, seed, after_step, **limits):
        result = play(agent, env, episodes, seed, **limits)
        os.kill(os.getpid(), signal.SIGINT)
        return result

    monkeypatch.setattr(session, "evaluate", before)
    assert train(settings, tmp_path / "stopped").steps == 256
    monkeypatch.setattr(session, "evaluate", behind)
    again = resume(tmp_path / "stopped")
    assert (again.exit_code, again.steps, len(again.evaluation.returns)) == (130, 256, 2)
    monkeypatch.undo()
    resume(tmp_path / "stopped")
    assert course(tmp_path / "stopped") == course(tmp_path / "whole")


def test_a_round_that_was_completed_and_logged_but_not_saved_is_logged_once(tmp_path, monkeypatch):
    settings = short(agent=IN_CALLS, checkpoint={"interval": 0, "keep": None, "memory": True})
    train(settings, tmp_path / "whole")
    learn_due = DQNAgent.learn_due

    def interrupting(self, due, clock):
        if clock.steps == 256:  # A line is logged here.
            os.kill(os.getpid(), signal.SIGINT)
        return learn_due(self, due, clock)

    monkeypatch.setattr(DQNAgent, "learn_due", interrupting)
    assert train(settings, tmp_path / "stopped").steps == 256
    monkeypatch.undo()

    def failing(self, due, clock):
        if clock.steps == 320:
            raise OSError("as good as killed")
        return learn_due(self, due, clock)

    monkeypatch.setattr(DQNAgent, "learn_due", failing)
    with pytest.raises(OSError, match="as good as killed"):
        resume(tmp_path / "stopped")
    monkeypatch.undo()
    resume(tmp_path / "stopped")
    assert course(tmp_path / "stopped") == course(tmp_path / "whole")


# -- goals ----------------------------------------------------------------------------------------
def judged(monkeypatch, *rewards):
    """Evaluations with these results, one after the other, the last one again and again."""
    left = list(rewards)

    def play(agent, env, episodes, seed, after_step=None, max_steps=None):
        value = left.pop(0) if len(left) > 1 else left[0]
        return Evaluation((value,) * episodes, (1,) * episodes)

    monkeypatch.setattr(session, "evaluate", play)


def goal(stop_at):
    evaluation = {"interval": 128, "episodes": 2, "stop_at": stop_at}
    return config(total_timesteps=1024, evaluation=evaluation)


@pytest.mark.parametrize(("stop_at", "steps"), [(30.0, 384), (30.001, 1024)])
def test_a_run_stops_where_the_goal_is_reached_exactly(tmp_path, monkeypatch, stop_at, steps):
    judged(monkeypatch, 10.0, 20.0, 30.0)
    assert train(goal(stop_at), tmp_path).steps == steps


def test_a_goal_that_was_reached_before_a_kill_is_still_reached_after_it(tmp_path, monkeypatch):
    judged(monkeypatch, 40.0)
    outcome = train(goal(30.0), tmp_path)
    # As a kill behind its last checkpoint would have left it.
    RunFolder(tmp_path).status_file.write_text(
        RunFolder(tmp_path).status_file.read_text().replace('"done"', '"running"')
    )
    assert resume(tmp_path).steps == outcome.steps == 128


def test_a_loss_that_is_no_number_ends_the_run(tmp_path):
    settings = short(optimizer={"type": "sgd", "learning_rate": 1e30})
    with pytest.raises(ExecutionError, match=r"train/loss is .* Lower optimizer.learning_rate"):
        train(settings, tmp_path)


# -- engines and roles ----------------------------------------------------------------------------
def losses(folder):
    return [
        row["train/loss"] for row in read_metrics(folder / "metrics.jsonl") if "train/loss" in row
    ]


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_acting_on_numpy_beside_a_learner_gives_the_same_run(tmp_path, backend):
    # Fast enough that weights which are not handed on would show in the actions.
    fast = {"total_timesteps": 1024, "optimizer": {"type": "adam", "learning_rate": 0.01}}
    train(config(backend, **fast), tmp_path / "one")
    other = {"type": "local", "actor_backend": "numpy"}
    train(config(backend, executor=other, **fast), tmp_path / "two")
    np.testing.assert_allclose(losses(tmp_path / "two"), losses(tmp_path / "one"), rtol=1e-3)


def test_a_run_with_a_sampler_thread_that_is_killed_goes_on_exactly(tmp_path):
    settings = config("torch", total_timesteps=1536, executor={"type": "threads"})
    train(settings, tmp_path / "whole")
    killed(settings, tmp_path / "killed", 512)
    resume(tmp_path / "killed")
    assert course(tmp_path / "killed") == course(tmp_path / "whole")


@pytest.mark.parametrize(("first", "second"), [("threads", "local"), ("local", "threads")])
def test_a_checkpoint_moves_between_engines(tmp_path, first, second):
    train(short(executor={"type": first}), tmp_path)
    changes = {"executor": {"type": second}, "total_timesteps": 1024}
    outcome = resume(tmp_path, changes=changes)
    assert (outcome.resumed_at, outcome.steps) == (512, 1024)
    assert outcome.updates == (1024 - 64 + 32) // 32 * 8


def test_an_actor_holds_no_memory_target_or_optimizer():
    actor = ConfiguredAgents(validate(config())).make("actor")
    paths = list(actor.executor.builder.binding.variables)
    assert paths
    assert all(path.startswith("agent/policy/") for path in paths)
    learner = ConfiguredAgents(validate(config())).make("learner")
    known = {path.split("/")[1] for path in learner.executor.builder.binding.variables}
    assert known == {"policy", "target_policy", "memory", "optimizer"}


def test_an_engine_without_the_agents_loop_is_refused_with_those_that_have_it(monkeypatch):
    monkeypatch.setattr(DQNAgent, "loops", ("dreams",))
    refused = (
        r"offers the loops replay, batches, actor_learner, gradients, but agent dqn runs on "
        r"dreams\. No engine"
    )
    with pytest.raises(SpecError, match=refused):
        ConfiguredAgents(validate(config()))
    few = {**ENGINES, "local": EngineEntry("nowhere", ("dreams",))}
    monkeypatch.setattr(engines, "ENGINES", few)
    with pytest.raises(SpecError, match=r"threads offers .* Use executor=local\.$"):
        choose_loop("threads", "dqn", ("dreams",))


def refusing_agent(monkeypatch):
    monkeypatch.setattr(DQNAgent, "loops", ("dreams",))


def refusing_build(monkeypatch):
    def build(*_):
        raise ExecutionError("no place for it")

    monkeypatch.setattr(DQNAgent, "build", build)


@pytest.mark.parametrize("refusing", [refusing_agent, refusing_build])
def test_environments_are_closed_where_the_agent_is_refused(refusing, tmp_path, monkeypatch):
    settings, made, closed = validate(short()), [], []
    make = factory_module.make_env
    monkeypatch.setattr(
        factory_module, "make_env", lambda **words: made.append(make(**words)) or made[-1]
    )
    monkeypatch.setattr(LoopEnv, "close", lambda self: closed.extend([self]))
    refusing(monkeypatch)
    with pytest.raises((SpecError, ExecutionError), match=r"runs on dreams|no place for it"):
        session.Session(settings, RunFolder(tmp_path))
    assert len(made) == 1
    assert closed == made


def test_environments_are_closed_even_where_the_log_can_not_be(tmp_path, monkeypatch):
    closed, close = [], MetricsLog.close

    def failing(self):
        close(self)
        raise OSError("no space left")

    monkeypatch.setattr(MetricsLog, "close", failing)
    monkeypatch.setattr(SteppingSampler, "close", lambda self: closed.append(self.env))
    with pytest.raises(OSError, match="no space left"):
        train(short(total_timesteps=32), tmp_path)
    assert len(closed) == 1


def test_the_memory_of_a_checkpoint_is_read_only_where_it_is_kept(tmp_path, monkeypatch):
    made = ConfiguredAgents(validate(config())).make("actor", "learner")
    read, seen = type(made.executor).read, []
    variables = {id(i.variable): p for p, i in made.executor.builder.binding.variables.items()}

    def noting(self, variable):
        seen.append(variables[id(variable)])
        return read(self, variable)

    monkeypatch.setattr(type(made.executor), "read", noting)
    assert "memory" not in made.get_state(memory=False)
    made.get_model()
    assert seen
    assert not [path for path in seen if path.startswith("agent/memory/")]


def test_the_target_is_synced_by_whole_intervals_after_a_resume_before_learning_starts(tmp_path):
    settings = short(checkpoint={"interval": 128, "keep": None, "memory": True})
    settings["agent"] |= {"learning_starts": 256, "target_update_interval": 100}
    train(settings, tmp_path)
    expected = course(tmp_path)
    assert resume(tmp_path, checkpoint=128).resumed_at == 128
    assert course(tmp_path) == expected


def test_a_built_agent_is_not_pickled_with_its_variables():
    import pickle

    factory = ConfiguredAgents(validate(config()))
    assert len(pickle.dumps(factory)) < 4000
    with pytest.raises(ExecutionError, match="Pickle its factory or its weights"):
        pickle.dumps(factory.make("actor"))
    again = pickle.loads(pickle.dumps(factory)).make("actor")
    assert again.executor.builder.roots[0].path == "agent"


def test_two_actors_of_a_run_share_weights_and_no_random_number():
    factory = ConfiguredAgents(validate(config()))
    first, second = (factory.make("actor", index=i, stream="actor") for i in range(2))
    for path, value in first.get_weights().items():
        np.testing.assert_array_equal(value, second.get_weights()[path])
    numbers = [
        stream.uniform64((100,))
        for actor in (first, second)
        for stream in actor.executor.builder.binding.streams.values()
    ]
    assert len(np.unique(np.concatenate(numbers))) == 100 * len(numbers)


def test_two_actors_of_one_run_share_weights_and_no_random_number():
    factory = ConfiguredAgents(validate(config()))
    actors = [factory.make("actor", stream="actor", index=index) for index in range(2)]
    states = np.zeros((1000, 4), np.float32)
    clock = Clock(horizon=100)  # All actions are random ones.
    first, second = (actor.act(states, None, None, clock).env for actor in actors)
    assert 400 < np.sum(first == second) < 600
    for path, value in actors[0].get_weights().items():
        np.testing.assert_array_equal(actors[1].get_weights()[path], value)


def test_samplers_of_a_run_share_no_episode():
    factory = ConfiguredAgents(validate(config()))
    first, second, again = (factory.make_env(index).reset() for index in (0, 1, 0))
    np.testing.assert_array_equal(first, again)
    assert not np.intersect1d(first, second).size


# -- what is shown, played and drawn --------------------------------------------------------------
def test_the_display_shows_the_newest_update_also_in_rounds_without_one(tmp_path):
    folder = RunFolder.create(tmp_path / "run", "{}", seed=5)
    with folder, session.Session(validate(short()), folder) as made:
        assert figures_of(made).loss is None
        for train_figures in ({"train/loss": 0.5}, {"train/loss": 0.25}, {}):
            made._note(Iteration(train=train_figures))
        assert figures_of(made).loss == 0.25


def test_evaluations_of_a_run_play_the_same_episodes_and_those_of_other_runs_others(
    tmp_path, monkeypatch
):
    seeds = {}

    def play(agent, env, episodes, seed, after_step=None, max_steps=None):
        seeds.setdefault(tmp_path, []).append(seed)
        return Evaluation((1.0,) * episodes, (1,) * episodes)

    monkeypatch.setattr(session, "evaluate", play)
    for seed in (0, 1):
        evaluation = {"interval": 128, "episodes": 2}
        train(short(seed=seed, total_timesteps=256, evaluation=evaluation), tmp_path / str(seed))
    first, second, *others = seeds[tmp_path]
    assert first == second
    assert others[0] == others[1] != first
    # Not the seeds of training: those are small numbers that people choose.
    assert min(first, others[0]) > 1000


def test_the_actor_of_a_thread_shares_no_random_number_with_the_learner():
    factory = ConfiguredAgents(validate(config(executor={"type": "threads"})))
    loop = open_engine(factory, {"type": "threads"}, 100)
    numbers = [
        stream.uniform64((100,))
        for agent in (loop.learner, loop.pool.sampler.actor)
        for stream in agent.executor.builder.binding.streams.values()
    ]
    loop.close()
    assert len(numbers) >= 2
    assert len(np.unique(np.concatenate(numbers))) == 100 * len(numbers)
