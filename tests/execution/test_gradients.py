"""A3C in one process: gradients on the way to the learner change nothing about A2C."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.api.agents.factory import ConfiguredAgents
from rlg.api.config.validate import validate
from rlg.api.run import resume, train
from rlg.errors import SpecError
from rlg.execution.engines import open_engine
from rlg.execution.engines.local import LocalPool
from rlg.execution.loops.gradients import GradientLoop
from rlg.execution.trainers import GradientTrainer
from rlg.execution.types import Clock, Gradients, LearnResult
from tests.api.runs import config, course, killed
from tests.execution.parts import Counting

RATE = {"type": "linear", "initial": 1e-2, "final": 0.0}
NETWORKS: dict[str, Any] = {
    "mlp": {"type": "mlp", "units": [16]},
    "lstm": {"type": "lstm", "units": 8},
}


def settings(
    kind: str = "a3c", network: str = "mlp", backend: str = "torch", **changes: Any
) -> Any:
    found = config(backend) | {"agent": {"type": kind, "n_steps": 5, "ent_coef": 0.01}}
    found["network"] = NETWORKS[network]
    found["optimizer"] = {"type": "rmsprop", "learning_rate": RATE}
    found["env"] = {"name": "cartpole", "num_envs": 4, "max_episode_steps": 12}
    del found["memory"]
    return found | changes


def opened(checked: Any) -> Any:
    checked = validate(checked)
    loop: Any = open_engine(ConfiguredAgents(checked), checked["executor"], 2048)
    loop.start()
    return loop


@pytest.mark.parametrize("backend", ["torch", "tf"])
@pytest.mark.parametrize("network", NETWORKS)
def test_one_worker_in_turn_equals_a2c_number_by_number(network, backend):
    results = []
    for kind in ("a2c", "a3c"):
        loop = opened(settings(kind, network, backend))
        figures = [loop.iterate(lambda: False).train for _ in range(12)]
        results.append((loop.clock, figures, loop.learner.get_weights()))
        loop.close()
    (clock, figures, weights), (other_clock, other_figures, other_weights) = results
    assert clock == other_clock == Clock(240, 12, 2048)
    assert figures == other_figures
    assert set(figures[0]) >= {"train/gradient_norm", "train/learning_rate", "train/entropy"}
    assert weights.keys() == other_weights.keys()
    for path, weight in weights.items():
        np.testing.assert_array_equal(weight, other_weights[path], err_msg=path)


def test_a_worker_with_a_graph_of_its_own_gets_the_weights_after_each_step():
    loop = opened(settings(executor={"type": "local", "actor_backend": "torch"}))
    worker = loop.pool.sampler.actor
    assert worker is not loop.learner
    for version in range(3):
        assert loop.pool.sampler.version == version
        loop.iterate(lambda: False)
    for path, weight in loop.learner.get_weights().items():
        np.testing.assert_array_equal(weight, worker.get_weights()[path])
    loop.close()


def test_gradients_change_neither_weights_nor_random_streams():
    loop = opened(settings(network="lstm"))
    agent = loop.learner
    segment = loop.pool.sampler.collect(Clock())
    (batch,) = loop.pool.sampler.adder.add(segment)
    model, streams = agent.get_model(), agent.get_streams()
    first, second = agent.gradients(batch), agent.gradients(batch)
    assert streams == agent.get_streams()
    for path, value in model.items():
        np.testing.assert_array_equal(value, agent.get_model()[path])
    assert first.arrays.keys() == second.arrays.keys()
    for path, array in first.arrays.items():
        np.testing.assert_array_equal(array, second.arrays[path])
        assert np.abs(array).sum() > 0, path
    loop.close()


def test_a_gradient_worker_has_no_optimizer_and_a_learner_only_steps():
    factory = ConfiguredAgents(validate(settings()))
    worker, learner = factory.make("actor", "gradient_worker"), factory.make("learner")
    assert {path.split("/")[1] for path in worker.executor.kinds()} == {"policy"}
    assert {path.split("/")[1] for path in learner.executor.kinds()} == {"policy", "optimizer"}
    factory.close()


def test_numpy_computes_no_gradients():
    with pytest.raises(SpecError, match=r"executor.actor_backend: numpy computes forward only"):
        opened(settings(executor={"type": "local", "actor_backend": "numpy"}))


def test_a_thread_offers_no_gradients_and_says_who_does():
    with pytest.raises(SpecError, match=r"Use executor=local or executor=ray"):
        opened(settings(executor={"type": "threads"}))


def test_a_killed_run_resumes_exactly(tmp_path):
    run = settings(network="lstm", checkpoint={"interval": 256, "keep": None})
    train(run, tmp_path / "whole")
    killed(run, tmp_path / "cut", 260)
    resume(tmp_path / "cut", checkpoint=260)
    assert course(tmp_path / "cut") == course(tmp_path / "whole")


class Descending(Counting):
    def apply(self, gradients: Gradients, clock: Clock) -> LearnResult:
        self.clocks.append(clock)
        return LearnResult({"loss": gradients.metrics["loss"]})


def test_gradients_are_applied_one_by_one_in_the_order_of_arrival():
    class Arrivals(LocalPool):
        """Nothing, then two workers' gradients at once, then nothing."""

        is_concurrent = True

        def __init__(self) -> None:
            self.wants_weights = True
            self.published: list[int] = []

        def ready(self, clock: Clock, stop: Any = None, **_: Any) -> Any:
            class Report:
                steps, returns, lengths = 5, [1.0], [1]

            if clock.steps or clock.updates or len(self.published) > 1:
                return []
            self.published.append(-1)
            return [(Report, [Gradients({}, {"loss": value})]) for value in (1.0, 2.0)]

        def publish(self, weights: Any) -> None:
            self.published.append(weights.version)

        def start(self) -> None: ...

    pool: Any = Arrivals()
    loop = GradientLoop(pool, GradientTrainer(Descending()), None, Clock(horizon=100))  # type: ignore[arg-type]
    loop.start()
    losses = [loop.iterate(lambda: False).train for _ in range(3)]
    assert losses == [{"train/loss": 1.0}, {"train/loss": 2.0}, {}]
    assert loop.clock == Clock(10, 2, 100)
    assert pool.published == [0, -1, 1, 2]
