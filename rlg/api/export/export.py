"""`rlg export`: a run's greedy policy as a file, with what it is and how it compares beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rlg.api.agents.factory import agent_of
from rlg.api.config.environments import spaces_of
from rlg.api.export.formats import FORMATS, Format, format_of
from rlg.api.export.greedy import GreedyPolicy
from rlg.api.export.parity import Parity, check_parity
from rlg.api.loading import Checkpoint, Loaded, load_run
from rlg.errors import ParityError, SpecError
from rlg.graph.core.component.randomness import key_of
from rlg.graph.spaces import Box
from rlg.tracking.files import moved_into_place, write_atomically, writing
from rlg.tracking.meta import timestamp, versions

STEM = "policy"


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written."""

    path: Path
    metadata: Path
    parity: Parity
    usage: str


def export(
    folder: str | Path,
    to: str,
    output: str | Path | None = None,
    *,
    checkpoint: Checkpoint = None,
    observations: int = 256,
    trust_plugins: bool = False,
) -> Exported:
    """Writes the greedy policy of a run as a file that needs no rlg, as `rlg export` does.

    `to` is onnx, torch, savedmodel or numpy. The file and the run then act on the same
    `observations`, at least so many; a `ParityError` says that they disagree. A JSON file of the
    same name beside it says what was written.
    """
    kind = format_of(to)
    if observations < 1:
        raise SpecError(f"--observations: must be at least 1, got {observations}.")
    path = _place(kind, Path(folder), None if output is None else Path(output))
    run = load_run(folder, checkpoint, trust_plugins)
    policy = policy_of(run, kind)
    title = f"The greedy policy of {_name(run.config)} at step {run.step}, exported by rlg."
    with writing(path, "--output"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with moved_into_place(path) as aside:
            kind.write(policy, aside, title)
        seed = key_of(int(run.config["seed"]), "rlg export") % 2**31
        parity = check_parity(
            run.agent, policy, kind.load(path, policy), run.config["env"], observations, seed
        )
        usage = _usage(kind, path, policy)
        content = _metadata(Path(folder), run, kind, path, policy, parity, usage)
        metadata = path.with_name(f"{path.stem}.json")
        write_atomically(metadata, json.dumps(content, indent=2) + "\n")
    if not parity.agrees:
        raise ParityError(
            f"{path}: it does not act as the run does: {parity.line}. Don't use it; {metadata} has "
            "what was compared."
        )
    return Exported(path, metadata, parity, usage)


def _place(kind: Format, folder: Path, output: Path | None) -> Path:
    """The file to write; a name without a suffix gets the format's."""
    name = f"{STEM}{kind.suffix}"
    if output is None:
        return folder / "export" / kind.name / name
    if not kind.suffix:
        if output.exists() and not (output / "saved_model.pb").exists():
            raise SpecError(f"--output {output}: it exists, and is not a SavedModel. Give another.")
        return output
    if output.is_dir():
        return output / name
    if not output.suffix:
        return output.with_name(f"{output.name}{kind.suffix}")
    if output.suffix != kind.suffix:
        others = [other.name for other in FORMATS.values() if other.suffix == output.suffix]
        advice = f" or --to {others[0]}" if others else ""
        raise SpecError(
            f"--output {output}: files of the format {kind.name} end in {kind.suffix}. Write "
            f"{output.with_suffix(kind.suffix)}{advice}."
        )
    return output


def policy_of(run: Loaded, kind: Format) -> GreedyPolicy:
    """The policy on the format's backend, with the run's weights."""
    agent = agent_of(run.config, *spaces_of(run.config["env"]))
    agent.build(roles=["actor"], executor=kind.executor())
    agent.set_model(run.agent.get_model())
    return GreedyPolicy(agent)


def _name(config: Mapping[str, Any]) -> str:
    return f"{config['agent']['type']} on {config['env']['name']}"


def _usage(kind: Format, path: Path, policy: GreedyPolicy) -> str:
    from_file = f"import runpy\nPolicy = runpy.run_path({str(path)!r})['Policy']"
    return kind.usage.format(
        file=str(path),
        importing=f"from {path.stem} import Policy" if path.stem.isidentifier() else from_file,
        inputs=", ".join(f"{name}={name}" for name in policy.inputs),
        names=", ".join(policy.inputs),
    )


def _metadata(
    folder: Path,
    run: Loaded,
    kind: Format,
    path: Path,
    policy: GreedyPolicy,
    parity: Parity,
    usage: str,
) -> dict[str, Any]:
    agent = run.agent
    return {
        "format": kind.name,
        "file": path.name,
        "run": str(folder.resolve()),
        "step": run.step,
        "agent": run.config["agent"]["type"],
        "env": run.config["env"],
        "observation_space": agent.observation_space.to_spec(),
        "action_space": agent.action_space.to_spec(),
        "inputs": _described(policy.inputs),
        "outputs": _described(policy.outputs),
        "state": policy.state_names,
        "usage": usage,
        "parity": {**asdict(parity), "agrees": parity.agrees},
        "versions": versions(),
        "exported": timestamp(),
    }


def _described(boxes: Mapping[str, Box]) -> dict[str, Any]:
    """Shapes and dtypes; null is the batch."""
    return {name: {"shape": [None, *box.shape], "dtype": box.dtype} for name, box in boxes.items()}
