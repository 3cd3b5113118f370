"""`rlg export`: a run's greedy policy as a file, with what it is and how it compares beside it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlg.api.agents.factory import agent_of
from rlg.api.config.environments import spaces_of
from rlg.api.export.formats import FORMATS, Format, format_of
from rlg.api.export.greedy import GreedyPolicy
from rlg.api.export.parity import Parity, check_parity
from rlg.api.loading import Checkpoint, Loaded, load_run
from rlg.errors import ParityError, SpecError, TrackingError
from rlg.graph.core.component.randomness import key_of
from rlg.graph.spaces import Box
from rlg.tracking.files import write_atomically
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
    """Writes the policy of a run, and a JSON file of the same name beside it.

    `observations` are compared at least; a `ParityError` says that the file disagrees.
    """
    kind = format_of(to)
    if observations < 1:
        raise SpecError(f"--observations: must be at least 1, got {observations}.")
    path = _place(kind, Path(folder), None if output is None else Path(output))
    run = load_run(folder, checkpoint, trust_plugins)
    policy = policy_of(run, kind)
    title = f"The greedy policy of {_name(run.config)} at step {run.step}, exported by rlg."
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(kind, policy, path, title)
        seed = key_of(int(run.config["seed"]), "rlg export") % 2**31
        parity = check_parity(
            run.agent, policy, kind.load(path, policy), run.config["env"], observations, seed
        )
        usage = _usage(kind, path, policy)
        content = _metadata(Path(folder), run, kind, path, policy, parity, usage)
        metadata = path.with_name(f"{path.stem}.json")
        write_atomically(metadata, json.dumps(content, indent=2) + "\n")
    except OSError as error:
        raise TrackingError(
            f"--output {path}: {error.strerror or error}. Give a place that can be written."
        ) from error
    if not parity.agrees:
        raise ParityError(
            f"{path}: it does not act as the run does: {parity.line}. Don't use it; {metadata} has "
            "what was compared."
        )
    return Exported(path, metadata, parity, usage)


def _write(kind: Format, policy: GreedyPolicy, path: Path, title: str) -> None:
    """Writes aside, then moves into place; on an error an earlier export stays."""
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as aside:
        kind.write(policy, Path(aside, path.name), title)
        for written in Path(aside).iterdir():
            place = path.with_name(written.name)
            if place.is_dir():
                shutil.rmtree(place)
            written.replace(place)


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
