"""docs/components.md lists every component as it is: `python -m tests.components.test_catalogue`
writes it anew.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import yaml

from rlg.graph import registry
from rlg.graph.components.initializers import INITIALIZERS, options_of

PAGE = Path(__file__).parents[2] / "docs" / "components.md"
HEAD = """# Components

Every component can be named in a configuration: `network`, `memory` and `optimizer` are sections of
a run, and where a component takes another one (a `network` in an `lstm`, a `head` in a policy), its
form stands in place. Values are defaults; `...` has none and must be given. `rlg train --cfg job`
prints what a run is made of:

    rlg train network=lstm network.units=32 memory=prioritized agent.gradient_steps=16

An option of a group (`network=lstm`) is a file with the component's form; single values are set on
top of it (`network.units=64`). Learning rates and explorations may be schedules:

    rlg train optimizer.learning_rate="{type: linear, initial: 1e-3, final: 0}"

## Families
"""
INITIAL = """## Initial values

Layers and networks take `kernel_init` and `bias_init`: a name, or a form with options. `null`
leaves them to the algorithm: published results need the initial values they were published with.

| algorithm | kernels | biases |
|---|---|---|
| DQN | `fan_in_uniform` | `fan_in_uniform` |
| PPO, A2C | `orthogonal`, gain sqrt(2); policy head 0.01, value head 1 | `zeros` |
| PPO, A2C: recurrent layers | `fan_in_uniform` | `fan_in_uniform` |
| PQN | `fan_in_truncated_normal` | `zeros` |
| none: `nature_cnn` | `fan_in_uniform` | `fan_in_uniform` |
| none: `impala_small`, `impala_large` | `fan_in_truncated_normal` | `zeros` |
| none: others | `glorot_uniform` | `zeros` |

All are drawn by NumPy from the root seed and a variable's path: they are equal on every backend.

| name | values | form |
|---|---|---|"""
FAMILIES = {
    "layers": "Layers",
    "networks": "Networks",
    "preprocessing": "Preprocessing",
    "heads": "Heads",
    "policies": "Policies",
    "explorations": "Explorations",
    "distributions": "Distributions",
    "memories": "Memories",
    "returns": "Returns",
    "losses": "Losses",
    "optimizers": "Optimizers",
    "schedules": "Schedules",
    "common": "Connections",
    "algorithms": "Algorithms",
}


def rows() -> dict[str, list[str]]:
    """Lines of each family's table."""
    found: dict[str, list[str]] = {family: [] for family in FAMILIES}
    for name, target in registry.COMPONENTS.items():
        cls = registry.component_class(name)
        line, paper = described(inspect.getdoc(cls) or "")
        cells = (f"`{name}`", line, paper, f"`{form(name, cls)}`")
        found[target.partition(".")[0]].append(f"| {' | '.join(cells)} |")
    return found


def described(text: str) -> tuple[str, str]:
    """What it is, in one line, and the first work that its description names."""
    line, _, _ = text.partition("\n")
    words = " ".join(text.split())
    work = re.search(r"[A-Z][\w.']+(?:(?:,| and| et al\.,?) ?[A-Z]?[\w.]*)* \(?\d{4}\)?", words)
    paper = work.group().replace("(", "").replace(")", "") if work else ""
    return line.replace("|", "\\|"), re.sub(r",? (\d{4})$", r" (\1)", paper)


def form(name: str, cls: type) -> str:
    """As it stands in YAML, with defaults."""
    words = [f"type: {name}"]
    for key, parameter in registry.parameters_of(cls).items():
        default = parameter.default
        if default is parameter.empty:
            words.append(f"{key}: ...")
        else:
            words.append(f"{key}: {shown(default)}")
    return f"{{{', '.join(words)}}}"


def shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if isinstance(value, str) else json.dumps(value)


def page() -> str:
    parts = [HEAD]
    for family, lines in rows().items():
        head = ["| name | what it does | after | form |", "|---|---|---|---|"]
        parts.append("\n".join([f"### {FAMILIES[family]}\n", *head, *lines, ""]))
    return "\n".join([*parts, initial_values()])


def initial_values() -> str:
    """The table of initializers."""
    lines = [INITIAL]
    for name, function in INITIALIZERS.items():
        signature = inspect.signature(function).parameters
        options = {word: shown(signature[word].default) for word in options_of(name)}
        spec = ", ".join([f"type: {name}", *(f"{k}: {v}" for k, v in options.items())])
        lines.append(f"| `{name}` | {inspect.getdoc(function)} | `{{{spec}}}` |")
    return "\n".join([*lines, ""])


def test_the_catalogue_lists_every_component_as_it_is():
    assert PAGE.read_text() == page()


def test_every_form_is_yaml_of_the_component():
    for name in registry.COMPONENTS:
        spec = yaml.safe_load(form(name, registry.component_class(name)))
        assert spec.pop("type") == name
        assert spec.keys() <= registry.parameters_of(registry.component_class(name)).keys()


if __name__ == "__main__":
    PAGE.write_text(page())
