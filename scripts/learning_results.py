"""Trains agents to the end of their budgets and writes what they reach into docs/results.md.

    learning_results.py                                     lays out the page from docs/results.json
    learning_results.py run                                 all runs that are not in there yet
    learning_results.py run --tasks ppo_cartpole --backends tf --seeds 5,6

Each run is `rlg train` in a process of its own on one thread, and then 20 new episodes with the
last weights (`rlg eval`): no run is stopped at a good moment. Raw figures are kept, so that the
table can be written again and runs can be added one at a time. What demonstrations cost is not
counted.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "results.md"
RAW = ROOT / "docs" / "results.json"
BEGIN, END = "<!-- learning: begin -->", "<!-- learning: end -->"
EPISODES = 20
# One thread each, whatever the framework.
SINGLE = dict.fromkeys(
    (
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
        *("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"),
    ),
    "1",
)
DEMONSTRATIONS = 5  # episodes, with a seed that no line of the table has
DEMONSTRATOR = ("backend=torch", "seed=100")
TEXT = f"""\
`python scripts/learning_results.py run` makes these runs: the command of each line with `backend=`
and `seed=` added, on one thread. After the whole budget, without a stop at a good moment, the last
weights play {EPISODES} new episodes without exploration. Mean and deviation are over the means of
the seeds; bold means are below the threshold. Lines without one are there to be compared: DQfD with
DQN after as many steps. Published figures are rl-zoo3's where no other source is named. Seconds are
medians, on a machine with other work on it: compare CPU seconds. `agent=dqfd` learns from
{DEMONSTRATIONS} episodes that `rlg eval RUN --record` wrote, of
`agent=dqn env=cartpole {" ".join(DEMONSTRATOR)}`.
"""


@dataclass(frozen=True)
class Task:
    """What to train, what is expected of it, and what others published."""

    overrides: str
    threshold: float | None  # None: a line to compare others with
    published: str
    backends: tuple[str, ...] = ("torch", "tf")
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    demonstrator: str = ""  # whose episodes it learns from


TASKS = {
    "ppo_cartpole": Task("agent=ppo env=cartpole", 475, "500 at 100k"),
    "a2c_cartpole": Task("agent=a2c env=cartpole", 475, "500 at 500k"),
    "ppo_acrobot": Task("agent=ppo env=acrobot", -100, "-73.5 at 1M"),
    "ppo_pendulum": Task("agent=ppo env=pendulum", -200, "-172.2 at 100k"),
    "recurrent_ppo": Task("agent=ppo env=cartpole_positions network=lstm", 400, "500 at 100k"),
    "dqn_cartpole": Task("agent=dqn env=cartpole", 475, "500 at 50k"),
    "dqn_acrobot": Task("agent=dqn env=acrobot total_timesteps=100_000", -100, "-76.6 at 100k"),
    "rainbow_cartpole": Task("agent=rainbow env=cartpole", 475, ""),
    "dqfd_cartpole": Task(
        "agent=dqfd env=cartpole total_timesteps=5_000",
        None,
        "",
        demonstrator="agent=dqn env=cartpole",
    ),
    "dqn_cartpole_short": Task("agent=dqn env=cartpole total_timesteps=5_000", None, ""),
    "pqn_cartpole": Task("agent=pqn env=cartpole", 475, ""),
    "impala_cartpole": Task("agent=impala env=cartpole", 475, ""),
    "r2d2_recall": Task("agent=r2d2 env=recall", 0.9, ""),
    "recurrent_ppo_recall": Task("agent=ppo env=recall network=lstm", 0.9, ""),
    "sac_pendulum": Task("agent=sac env=pendulum", -200, "-157 at 20k"),
    "td3_pendulum": Task("agent=td3 env=pendulum", -200, "-152 at 20k"),
    "ddpg_pendulum": Task("agent=ddpg env=pendulum", -200, "-152 at 20k"),
    "dqn_lunar_lander": Task("agent=dqn env=lunar_lander", 150, "154 at 100k", seeds=(0, 1)),
    "ppo_lunar_lander": Task("agent=ppo env=lunar_lander", 200, "242 at 1M", seeds=(0, 1)),
    "ppo_minatar_breakout_10m": Task(
        "agent=ppo env=minatar_breakout", 20, "28 at 10M (gymnax)", seeds=(0, 1)
    ),
    "ppo_minatar_asterix_10m": Task(
        "agent=ppo env=minatar_asterix", 10, "15 at 10M (gymnax)", seeds=(0, 1)
    ),
    # A tenth of the published budgets, or less.
    "ppo_minatar_breakout": Task(
        "agent=ppo env=minatar_breakout total_timesteps=1_000_000", 8, "", seeds=(0, 1)
    ),
    "ppo_minatar_asterix": Task(
        "agent=ppo env=minatar_asterix total_timesteps=1_000_000", 3, "", seeds=(0, 1)
    ),
    "pqn_minatar_breakout": Task(
        "agent=pqn env=minatar_breakout total_timesteps=1_000_000", 8, "", seeds=(0, 1)
    ),
    "dqn_minatar_breakout": Task(
        "agent=dqn env=minatar_breakout total_timesteps=500_000 agent.exploration_fraction=0.2",
        5,
        "",
        seeds=(0, 1),
    ),
    "dqn_minatar_asterix": Task(
        "agent=dqn env=minatar_asterix total_timesteps=500_000 agent.exploration_fraction=0.2",
        3,
        "",
        seeds=(0, 1),
    ),
}


def train(overrides: str, backend: str, seed: int, demonstrator: str = "") -> dict[str, Any]:
    """One run to the end of its budget, and what its last weights reach."""
    words = [*overrides.split(), f"backend={backend}", f"seed={seed}"]
    if demonstrator:
        words.append(f"agent.demonstrations={demonstrations(demonstrator).name}/recorded.npz")
    with tempfile.TemporaryDirectory() as folder:
        begun, before = time.perf_counter(), _cpu_seconds()
        _rlg("train", *words, f"hydra.run.dir={folder}/run")
        seconds, cpu_seconds = time.perf_counter() - begun, _cpu_seconds() - before
        status = json.loads(Path(folder, "run", "status.json").read_text(encoding="utf-8"))
        played = json.loads(_rlg("eval", f"{folder}/run", "--episodes", str(EPISODES), "--json"))
    return {
        "steps": status["steps"],
        "returns": played["returns"],
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu_seconds, 1),
    }


@cache
def demonstrations(overrides: str) -> tempfile.TemporaryDirectory[str]:
    """A folder, until the end of this process, with episodes of a run by these overrides."""
    folder = tempfile.TemporaryDirectory()
    _rlg("train", *overrides.split(), *DEMONSTRATOR, f"hydra.run.dir={folder.name}/run")
    file, count = f"{folder.name}/recorded.npz", str(DEMONSTRATIONS)
    _rlg("eval", f"{folder.name}/run", "--record", file, "--episodes", count)
    return folder


def _rlg(*words: str) -> str:
    command = [sys.executable, "-m", "rlg", *words]
    env = {**os.environ, **SINGLE}
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"rlg {' '.join(words)} exited with {run.returncode}:\n{run.stderr}")
    return run.stdout


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def read() -> list[dict[str, Any]]:
    """The raw figures of all runs."""
    found: list[dict[str, Any]] = json.loads(RAW.read_text(encoding="utf-8"))
    return found


def write(runs: Sequence[dict[str, Any]]) -> None:
    """Keeps raw figures, in the order of tasks, backends and seeds, one run per line."""
    names = list(TASKS)
    order = sorted(runs, key=lambda r: (names.index(r["task"]), r["backend"] != "torch", r["seed"]))
    lines = ",\n".join(json.dumps(run) for run in order)
    new = RAW.with_suffix(".new")
    new.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    new.replace(RAW)  # A run that is stopped here leaves the figures whole.


def section(runs: Sequence[dict[str, Any]]) -> str:
    """The part of the page between the markers."""
    rows = [
        _row(task, backend, found)
        for name, task in TASKS.items()
        for backend in task.backends
        if (found := [r for r in runs if (r["task"], r["backend"]) == (name, backend)])
    ]
    head = (
        "| `rlg train` | backend | steps | mean | deviation | seeds | at least | published "
        "| seconds | CPU seconds |\n|---|---|---:|---:|---:|---|---:|---|---:|---:|\n"
    )
    return f"{BEGIN}\n\n{TEXT}\n{head}" + "".join(f"{row}\n" for row in rows) + f"\n{END}"


def _row(task: Task, backend: str, runs: Sequence[dict[str, Any]]) -> str:
    means = {run["seed"]: fmean(run["returns"]) for run in runs}

    def shown(mean: float) -> str:
        number = f"{mean:.{digits}f}"
        return f"**{number}**" if mean < least else number

    least = -math.inf if task.threshold is None else task.threshold
    digits = 2 if 0.0 < least <= 1.0 else 1
    spread = f"{stdev(means.values()):.{digits}f}" if len(means) > 1 else "one seed"
    each = ", ".join(f"{seed}: {shown(mean)}" for seed, mean in sorted(means.items()))
    wall, cpu = (median(run[name] for run in runs) for name in ("seconds", "cpu_seconds"))
    cells = [f"`{task.overrides}`", backend, f"{median(run['steps'] for run in runs):,.0f}"]
    at_least = "" if task.threshold is None else f"{task.threshold:g}"
    cells += [shown(fmean(means.values())), spread, each, at_least]
    return "| " + " | ".join([*cells, task.published, f"{wall:.0f}", f"{cpu:.0f}"]) + " |"


def page(text: str, runs: Sequence[dict[str, Any]]) -> str:
    """The page with the section of these runs, and everything else as it was."""
    before, _, rest = text.partition(BEGIN)
    return before + section(runs) + rest.partition(END)[2]


def wanted(tasks: str | None, backends: str | None, seeds: str | None) -> list[dict[str, Any]]:
    """The runs to make; each seed of all tasks comes before the next seed."""
    found = [
        {"task": name, "backend": backend, "seed": seed}
        for name in (tasks.split(",") if tasks else TASKS)
        for backend in (backends.split(",") if backends else TASKS[name].backends)
        for seed in (map(int, seeds.split(",")) if seeds else TASKS[name].seeds)
    ]
    return sorted(found, key=lambda run: run["seed"])


def main(words: Sequence[str]) -> None:
    """Makes the runs that are asked for, one after the other, and writes the page."""
    parser = argparse.ArgumentParser(description="What agents reach at the end of their budgets.")
    parser.add_argument("verb", nargs="?", choices=("page", "run"), default="page")
    parser.add_argument("--tasks", help=f"of {','.join(TASKS)} (default: all)")
    parser.add_argument("--backends", help="of torch,tf (default: the task's)")
    parser.add_argument("--seeds", help="such as 0,1,2 (default: the task's)")
    asked = parser.parse_args(words)
    runs = read()
    for run in wanted(asked.tasks, asked.backends, asked.seeds) if asked.verb == "run" else ():
        if any(run.items() <= known.items() for known in runs):
            continue
        task = TASKS[run["task"]]
        found = train(task.overrides, run["backend"], run["seed"], task.demonstrator)
        runs.append(run | found)
        print(*run.values(), fmean(runs[-1]["returns"]), flush=True)
        write(runs)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), runs), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
