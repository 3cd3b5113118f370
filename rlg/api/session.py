"""One run: agent, environments and loop, with logging, evaluation and checkpoints around it.

Everything that decides about results is a function of the configuration and of the checkpoint,
never of the clock: N steps equal N/2 steps, a kill, a resume and N/2 steps, bit by bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self

from rlg.api.agents.agent import Agent
from rlg.api.agents.factory import ConfiguredAgents
from rlg.api.diagnosis import Failed, explain, not_finite
from rlg.api.figures import figures_of, title_of
from rlg.api.picture import draw_run
from rlg.api.summaries import write_histograms, write_scalars
from rlg.display.progress import Progress, make_progress
from rlg.errors import ExecutionError
from rlg.execution.engines import open_engine
from rlg.execution.evaluation import Evaluation, evaluate
from rlg.execution.roles import Evaluator
from rlg.execution.types import Iteration
from rlg.graph.core.component.randomness import key_of
from rlg.tracking.checkpoints.store import CheckpointStore
from rlg.tracking.folder import RunFolder
from rlg.tracking.metrics import EpisodeStats, MetricsLog, is_better


class _EvaluationStopped(Exception):  # noqa: N818 it is no error
    """The user wants the run to stop."""


class Session:
    """A run that is built and can be started or resumed."""

    def __init__(self, config: Mapping[str, Any], folder: RunFolder) -> None:
        self.config = config
        self.folder = folder
        self.total = int(config["total_timesteps"])
        self.seed = int(config["seed"])
        self.horizon: int | None = config.get("schedule_timesteps")
        factory = ConfiguredAgents(config)
        self.frame_skip = factory.frame_skip
        try:
            self.loop = open_engine(factory, config["executor"], self.horizon or self.total)
        except BaseException:
            factory.close()
            raise
        self.agent: Agent = self.loop.learner
        self.store = CheckpointStore(folder.checkpoints, keep=config["checkpoint"]["keep"])
        self.best = (
            CheckpointStore(folder.best, keep=None) if config["checkpoint"]["best"] else None
        )
        self.log = MetricsLog(folder.path, tensorboard=config["logger"]["tensorboard"])
        self.episodes = EpisodeStats()
        # Where a run that lost a rank resumes by itself: how often it did.
        allowed = config["executor"].get("restarts", 0)
        self._restarts = {"ranks/restarts": folder.status.restarts} if allowed else {}
        self.last: Evaluation | None = None
        # As the status notes them: `last_evaluation`, `best_evaluation`.
        self.evaluations: dict[str, Any] = {}
        self.latest: dict[str, float] = {}  # what the newest update gave
        self.resumed_without: tuple[str, ...] = ()  # what a resume could not restore
        self._progress: Progress | None = None
        self._elapsed = 0.0  # seconds of training before this process
        self._train: dict[str, list[float]] = {}
        self._saved_at = (-1, -1)  # steps and updates
        self._through = 0  # steps of the rounds that are complete
        self._owes_evaluation = False  # one that the user stopped
        # Step and model of an evaluation that another process plays.
        self._evaluated: tuple[int, Mapping[str, Any] | None] | None = None

    # -- starting ---------------------------------------------------------------------------------
    def start(self) -> None:
        """Begins a new run."""
        if self.config["logger"]["graph"]:
            draw_run(self.folder, self.agent.executor, self.log)
        if self.log.events is not None:
            self.log.events.text(0, "config", self.folder.read_config())
            self.log.events.hparams(self.config, ("eval/mean_reward", "rollout/ep_rew_mean"))
        self.loop.start()

    def resume(self, step: int | None = None) -> tuple[int, tuple[str, ...]]:
        """Resumes from a checkpoint; returns its step and what was wrong with newer ones."""
        checkpoint = self.store.load(step, fallback=step is None, stored=["memory"])
        tree = checkpoint.tree
        if "memory" in checkpoint.stored:
            tree["memory"] = self.loop.trainer.read_memory(checkpoint)
        checkpoint.replace("model", self.agent.fitted(tree["model"]))
        self.loop.set_state(tree, self.horizon)
        # A restore that silently failed is worse than none: compare what arrived.
        checkpoint.check("model", self.agent.get_model())
        if not self.loop.pool.keeps_episodes or "environments" not in tree:
            self.resumed_without = (
                "resumed from weights, memory and counters, with new episodes: not exactly.",
            )
        elif self.loop.pool.is_concurrent:
            self.resumed_without = (
                "resumed with all steps, but which weights act goes by speed: not exactly.",
            )
        self.episodes.restore(tree["session"]["episodes"])
        self._train = {name: list(pair) for name, pair in tree["session"]["train"].items()}
        self._owes_evaluation = bool(tree["session"].get("owes_evaluation"))
        self._through = int(tree["session"]["through"])
        # A round that is not complete, or an evaluation that is owed, may have been made and logged
        # since, but not saved: it is made again.
        self.log.truncate_after(self._through, again="eval/" if self._owes_evaluation else None)
        self._elapsed = self.log.newest("time/time_elapsed") or 0.0
        last = tree["session"]["last"]
        self.last = None if last is None else Evaluation(tuple(last[0]), tuple(last[1]))
        self.store.truncate_after(checkpoint.step)
        if self.best is not None:
            self.best.truncate_after(checkpoint.step, set_aside=True)
        status = self.folder.resumed(checkpoint.step)
        self.evaluations = {
            "last_evaluation": status.last_evaluation,
            "best_evaluation": status.best_evaluation,
        }
        self._saved_at = (self.steps, self.updates)
        return checkpoint.step, checkpoint.skipped

    # -- running ----------------------------------------------------------------------------------
    @property
    def steps(self) -> int:
        """Environment steps so far."""
        return self.loop.clock.steps

    @property
    def updates(self) -> int:
        """Updates so far."""
        return self.loop.clock.updates

    @property
    def rollout_metrics(self) -> dict[str, float]:
        """What the agent says of acting now."""
        return self.agent.rollout_metrics(self.loop.clock)

    @property
    def is_finished(self) -> bool:
        """Whether the budget is used up, or the reward to stop at is reached."""
        goal = self.config["evaluation"].get("stop_at")
        reached = goal is not None and self.last is not None and self.last.mean_reward >= goal
        return self._through >= self.total or reached

    def run(self, interruption: Any) -> None:
        """Iterates until the budget is used up or the user asks to stop; saves at the end."""
        progress = self._progress = make_progress(
            partial(figures_of, self), title_of(self), log=self.folder.log
        )
        started, first = time.perf_counter(), self.steps
        try:
            if self._owes_evaluation:
                self._evaluate_unless(interruption, progress)
            while not self.is_finished and not interruption.requested:
                iteration = self.loop.iterate(lambda: interruption.by_user)
                self._note(iteration)
                if not iteration.is_complete:
                    break  # The rest of its updates comes first when the run is resumed.
                before, self._through = self._through, self.steps
                if self._is_due(before, "logger"):
                    self._write_log(self.steps - first, time.perf_counter() - started)
                if self._is_due(before, "logger", "histograms"):
                    write_histograms(self.agent.executor, self.log, self.steps)
                self._poll_evaluation()
                if self._is_due(before, "evaluation"):
                    self._evaluate_unless(interruption, progress)
                if self._is_due(before, "checkpoint"):
                    progress.say("saving")
                    self.save()
                progress.say("")
                progress.tick()
            if self._evaluated is not None:
                self._owes_evaluation = True
            progress.say("saving")
            self.save()
        finally:
            self._progress = None
            progress.close()

    def _is_due(self, before: int, section: str, key: str = "interval") -> bool:
        """Whether a multiple of the interval, or the end, was reached just now; 0 is for never."""
        interval, now = self.config[section][key], self.steps
        return bool(interval) and (before // interval != now // interval or now >= self.total)

    def close(self) -> None:
        """Frees files, environments and threads."""
        try:
            self.log.close()
        finally:
            self.loop.close()
            self.agent.executor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _evaluate_unless(self, interruption: Any, progress: Progress) -> None:
        """An evaluation that the user stops is made when the run resumes."""
        evaluator = self.loop.evaluator
        if evaluator is not None:
            # One at a time; the last one is waited for.
            is_last = self.steps >= self.total
            if not evaluator.is_busy or (is_last and self._await_evaluation(interruption)):
                self._begin_evaluation(evaluator)
            self._owes_evaluation = is_last and not self._await_evaluation(interruption)
            return

        def go_on() -> None:
            progress.tick()
            if interruption.by_user:
                raise _EvaluationStopped

        progress.say("evaluating")
        try:
            result = self.play(self.evaluation_seed, go_on)
            self._note_evaluation(result, self.steps, self.agent.get_model)
            self._owes_evaluation = False
        except _EvaluationStopped:
            self._owes_evaluation = self.steps < self.total

    def _begin_evaluation(self, evaluator: Evaluator) -> None:
        """Of this moment's weights, in another process."""
        weights = self.agent.weights(self.updates)
        settings = self.config["evaluation"]
        episodes, max_steps = settings["episodes"], settings["max_steps"]
        evaluator.start(weights, self.config["env"], episodes, self.evaluation_seed, max_steps)
        self._evaluated = (self.steps, self.agent.get_model() if self.best else None)

    def _poll_evaluation(self, timeout: float = 0.0) -> None:
        """Notes the result of an evaluation in another process, if it is there."""
        if self._evaluated is None or self.loop.evaluator is None:
            return
        result = self.loop.evaluator.poll(timeout)
        if result is not None:
            (step, model), self._evaluated = self._evaluated, None
            self._note_evaluation(result, step, lambda: model)

    def _await_evaluation(self, interruption: Any) -> bool:
        """Whether it ended before the user asked to stop."""
        while self._evaluated is not None and not interruption.by_user:
            self._poll_evaluation(0.2)
            if self._progress is not None:
                self._progress.say("evaluating")
                self._progress.tick()
        return self._evaluated is None

    def play(self, seed: int, after_step: Callable[[], None] | None = None) -> Evaluation:
        """Plays evaluation episodes with the agent of this moment."""
        env, settings = self.config["env"], self.config["evaluation"]
        episodes, most = settings["episodes"], settings["max_steps"]
        return evaluate(self.agent, env, episodes, seed, after_step, max_steps=most)

    def _note_evaluation(
        self, result: Evaluation, step: int, model: Callable[[], Mapping[str, Any] | None]
    ) -> None:
        if result.cut:
            self.folder.log.write(f"evaluation at step {step}: {result.cut_note}")
        self.last = result
        note = {"step": step, "mean_reward": result.mean_reward}
        changes: dict[str, Any] = {"last_evaluation": note}
        if is_better(result.mean_reward, self.folder.status.best_evaluation):
            changes["best_evaluation"] = note
            if self.best is not None:
                self.best.save(step, {"model": model()})
                # A resume from any checkpoint finds the model that was the best one then.
                self.best.keep_for(self.store.steps())
        self.evaluations |= changes
        self.log.log(
            step,
            {
                "eval/mean_reward": result.mean_reward,
                "eval/std_reward": result.std_reward,
                "eval/mean_ep_length": result.mean_length,
            },
        )
        self.folder.update(steps=self.steps, updates=self.updates, **changes)

    def save(self) -> None:
        """Writes a checkpoint of this step, unless there is one."""
        if self._saved_at == (self.steps, self.updates):
            return
        self.log.flush()
        session = {
            "episodes": self.episodes.state(),
            "train": self._train,
            "owes_evaluation": self._owes_evaluation,
            "through": self._through,
            "last": None if self.last is None else [self.last.returns, self.last.lengths],
        }
        sections = {**self.loop.get_state(memory=False), "session": session}
        if bad := not_finite(sections.get("model", {})):
            raise self._lost(f"{bad[0]} is not finite")
        if self.config["checkpoint"]["memory"]:
            sections["memory"] = self.loop.trainer.records
        self.store.save(self.steps, sections)
        self._saved_at = (self.steps, self.updates)
        self.folder.update(steps=self.steps, updates=self.updates)

    @property
    def evaluation_seed(self) -> int:
        """Of the environments that are played for evaluations."""
        return key_of(self.seed, "evaluation") % 2**31

    def _note(self, iteration: Iteration) -> None:
        self.episodes.add(iteration.returns, iteration.lengths)
        self.latest = iteration.train or self.latest
        for name, value in iteration.train.items():
            if name.endswith("loss") and not math.isfinite(value):
                # The weights are lost: what would be saved and evaluated from here on is noise.
                raise self._lost(f"{name} is {value}")
            total = self._train.setdefault(name, [0.0, 0])
            total[0] += value
            total[1] += 1

    def _lost(self, what: str) -> ExecutionError:
        """Something is not finite any more."""
        latest = getattr(self.loop.trainer, "latest", None)
        where = (self.config, self.folder.path, self.agent, latest, self.loop.clock, self.store)
        return ExecutionError(explain(Failed(*where), what))

    def _write_log(self, steps: int, seconds: float) -> None:
        """Writes the metrics of this moment; the steps and seconds are those of this process."""
        means = {name: total / count for name, (total, count) in self._train.items()}
        self._train = {}
        if self.config["logger"]["summaries"]:
            write_scalars(self.agent.executor, self.log, self.steps)
        self.log.log(
            self.steps,
            {
                **self.episodes.means(),
                **_constant_rate(self.config),
                **means,
                **{f"rollout/{k}": v for k, v in self.rollout_metrics.items()},
                **self.loop.statistics(),
                **self._restarts,
                "train/n_updates": self.updates,
                "time/total_timesteps": self.steps,
                "time/frames": self.steps * self.frame_skip,
                "time/time_elapsed": self._elapsed + seconds,
                "time/fps": steps / seconds,
            },
        )


def _constant_rate(config: Mapping[str, Any]) -> dict[str, float]:
    """The learning rate, where no schedule reports it with each update."""
    rate = (config.get("optimizer") or {}).get("learning_rate")
    return {"train/learning_rate": float(rate)} if isinstance(rate, int | float) else {}
