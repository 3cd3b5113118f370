"""Evaluations over wall-clock time of long runs, as a table and a picture in docs/results.md.

    curves.py RUN [RUN...]     adds run folders to docs/curves.json and writes the page
    curves.py                  writes the page from docs/curves.json

A point is the step whose weights were played, and the minutes that the run had taken when it
reached that step; an evaluator plays beside the run, so the figure is known a little later.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
PAGE, RAW, PICTURE = (ROOT / "docs" / name for name in ("results.md", "curves.json", "pong.png"))
BEGIN, END = "<!-- curves: begin -->", "<!-- curves: end -->"
GOALS = (15.0, 18.0)
REWARD, ELAPSED = "eval/mean_reward", "time/time_elapsed"
TEXT = """\
`rlg train agent=apex env=pong seed=N`, on Ray, and `rlg train agent=impala env=pong
executor=tf_cluster seed=N`, on TensorFlow's servers, with their defaults on two cores, from the
first frame, 4 frames a step. Ape-X: one worker with 16 environments, one shard, the learner and an
evaluator, 4 samples trained per step. IMPALA: one actor with 16 environments and the learner, which
stands still while it evaluates. Each point is the mean of 10 new episodes without exploration; "at
the end" is the evaluation of the last weights. Which weights act depends on the speed of processes,
so these runs don't repeat.

The first four runs of Ape-X had budgets of 1M steps; seed 2 learnt more slowly there, was resumed
with 1.5M, which is the default now, and stopped by hand: the line after tf is the same seed from
the start with today's default. Other programs ran beside all runs, which cost up to half of the
speed.

![Evaluations over minutes](pong.png)
"""


def curve(folder: Path) -> dict[str, Any]:
    """What one run's folder says."""
    config = yaml.safe_load((folder / "config.yaml").read_text("utf-8"))
    lines = (folder / "metrics.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    clock = [(row["step"], row[ELAPSED]) for row in rows if ELAPSED in row]
    points = [
        [row["step"], round(_elapsed(clock, row["step"]) / 60, 1), round(row[REWARD], 2)]
        for row in rows
        if REWARD in row
    ]
    types = {name: config[name]["type"] for name in ("agent", "executor", "backend")}
    return {**types, "seed": config["seed"], "points": points}


def _elapsed(clock: Sequence[tuple[int, float]], step: int) -> float:
    """Seconds at a step: between two lines of the log in proportion."""
    before = max((pair for pair in clock if pair[0] <= step), default=(0, 0.0))
    after = min((pair for pair in clock if pair[0] >= step), default=before)
    if after[0] == before[0]:
        return before[1]
    share = (step - before[0]) / (after[0] - before[0])
    return before[1] + share * (after[1] - before[1])


def section(curves: Sequence[Mapping[str, Any]]) -> str:
    """The part of the page between the markers."""
    goals = "".join(f" {goal:g} or more after |" for goal in GOALS)
    head = f"| agent | engine | backend | seed |{goals} at the end | steps | minutes |\n"
    head += "|---|---|---|---:|" + "---:|" * (len(GOALS) + 3) + "\n"
    return f"{BEGIN}\n\n{TEXT}\n{head}" + "".join(map(_row, curves)) + f"\n{END}"


def _row(found: Mapping[str, Any]) -> str:
    points = found["points"]
    step, minutes, last = points[-1]
    firsts = [next((m for _, m, reward in points if reward >= goal), None) for goal in GOALS]
    cells = [*(found[name] for name in ("agent", "executor", "backend")), str(found["seed"])]
    cells += ["not reached" if first is None else f"{first:g} min" for first in firsts]
    return "| " + " | ".join([*cells, f"{last:.1f}", f"{step:,}", f"{minutes:g}"]) + " |\n"


def draw(curves: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Rewards over minutes, a line for each run."""
    from matplotlib.figure import Figure

    figure = Figure((8.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for found in curves:
        minutes, rewards = zip(*((m, r) for _, m, r in found["points"]), strict=True)
        style = {"torch": "-", "tf": "--"}.get(found["backend"], ":")
        label = f"{found['agent']}, {found['backend']}, seed {found['seed']}"
        axes.plot(minutes, rewards, style, marker="o", ms=3, label=label)
    for goal in GOALS:
        axes.axhline(goal, color="#656d76", lw=0.8, ls=":")
    axes.set_xlabel("minutes on two cores")
    axes.set_ylabel("mean reward of 10 episodes")
    axes.set_title("Pong", loc="left", weight="bold")
    axes.legend(frameon=False)
    axes.grid(color="#e4e7eb")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


def page(text: str, curves: Sequence[Mapping[str, Any]]) -> str:
    """The page with these curves, and everything else as it was."""
    before, _, rest = text.partition(BEGIN)
    return before + section(curves) + rest.partition(END)[2]


def main(folders: Sequence[str]) -> None:
    """Adds folders, if there are any, and writes the page."""
    curves = json.loads(RAW.read_text("utf-8"))
    if folders:
        curves += [curve(Path(folder)) for folder in folders]
        lines = ",\n".join(map(json.dumps, curves))
        RAW.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        draw(curves, PICTURE)
    PAGE.write_text(page(PAGE.read_text("utf-8"), curves), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
