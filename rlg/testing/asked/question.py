"""The words of `rlg test-component`: a component, its arguments, and how to check it.

The first word that is not a setting names the component. A setting is `env`, `plugins`, `spaces.X`,
`statics.X`, `seed`, `batch`, `time` or `tolerance`. Every other word is an argument of the
component, plain (`units=[8]`) or with its kind as in `rlg train` (`network.units=[8]`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rlg.api.config.components import SETTINGS as OF_ANY
from rlg.api.config.components import component_arguments
from rlg.api.config.environments import check_env_keys, spaces_of
from rlg.api.config.plugins import load_plugins
from rlg.api.config.signatures import MISSING, Argument, check_keys, checked, converted
from rlg.errors import RLGError, SpecError
from rlg.graph import registry
from rlg.graph.limits import NonNegativeFloat, NonNegativeInt, PositiveInt
from rlg.testing.asked.names import ANY_KIND, Named, find
from rlg.testing.asked.spaces import check_size, fitting, given_spaces
from rlg.testing.check.environment import spaces_of_actions, spaces_of_env
from rlg.testing.goldens import GOLDENS, Golden

SETTINGS = {
    "seed": Argument(NonNegativeInt, 0),
    "batch": Argument(PositiveInt, 5),
    "time": Argument(PositiveInt, 4),
    "tolerance": Argument(NonNegativeFloat, 1e-5),
}
_SUBJECT, _CHECK = "subject", "check"  # where both stand in what Hydra composes


@dataclass(frozen=True)
class Question:
    """What is to be checked, and how."""

    golden: Golden
    statics: dict[str, Any]
    settings: dict[str, Any]


def settings_of(words: Sequence[str]) -> dict[str, Any]:
    """Of `--all`: settings without a component; plugins are loaded."""
    wrong = [word for word in words if _head(word) not in (*SETTINGS, "plugins")]
    if wrong:
        raise SpecError(
            f"{wrong[0]}: with --all it has no meaning. Settings: {', '.join(SETTINGS)}, plugins."
        )
    return _settings(_composed([_setting(word) for word in words], None))


def question_of(words: Sequence[str], folder: Path | None) -> Question:
    """Everything that the words say, checked."""
    subjects = [word for word in words if not _is_setting(word)]
    if not subjects:
        raise SpecError(
            "test-component: which one? Write for example rlg test-component memory=prioritized, "
            "rlg test-component dense units=4, or --all."
        )
    settings = [_setting(word) for word in words if _is_setting(word)]
    plugins = [word for word in settings if _head(word) == "plugins"]
    if plugins:  # they bring names, which are looked up next
        _composed(plugins, folder)
    named = find(subjects[0], folder)
    start = f"+{named.kind}@{_SUBJECT}={named.name}"
    if not named.is_file:
        start = f"++{_SUBJECT}.type={named.name}"
    config = _composed([start, *settings], folder, _arguments(subjects[1:], named))
    has_env = any(_head(word) == "env" for word in words)
    spaces = spaces_of(check_env_keys(config["env"])) if has_env else None
    golden = _golden(named, config, spaces)
    return Question(golden, dict(config[_CHECK].get("statics", {})), _settings(config))


def registered_without_default() -> list[str]:
    """Components, of plugins, that have no default spaces."""
    known = {golden.spec["type"] for golden in GOLDENS}
    return [name for name in registry.names() if name not in known]


def _golden(named: Named, config: Mapping[str, Any], env: Any) -> Golden:
    """The component with its arguments and the spaces of its inputs."""
    given, spaces = config[_SUBJECT], config[_CHECK].get("spaces", {})
    where = named.name if named.kind == ANY_KIND else named.kind
    if not isinstance(given, Mapping) or not isinstance(given.get("type"), str):
        raise SpecError(f"{named.word}: its file has no `type`, so it is not a component.")
    kind = given["type"]
    golden = next((g for g in GOLDENS if g.spec["type"] == kind), Golden(kind, {"type": kind}))
    spec = _spec(given, golden, named.is_file)
    takes_actions = "action_space" in component_arguments(kind)
    if env is not None and takes_actions and "action_space" not in given:
        spec["action_space"] = env[1].to_spec()
    made = replace(golden, name=named.name, spec=_checked_spec(spec, where))
    component, defaults = made.make(), golden.spaces
    if env is not None:
        defaults = spaces_of_env(env[0], env[1], golden.spaces)
    elif "action_space" in given:
        defaults = spaces_of_actions(component.action_space, golden.spaces)
    made = replace(made, spaces=given_spaces(component, defaults, spaces))
    check_size(made)
    return made if spaces or env is not None else fitting(made, golden)


def _spec(given: Mapping[str, Any], golden: Golden, is_file: bool) -> dict[str, Any]:
    """The words over the default arguments; a file is complete but for what has no default."""
    base = dict(golden.spec)
    if is_file:
        known = component_arguments(given["type"])
        needed = [name for name, one in known.items() if one.default is MISSING]
        base = {key: value for key, value in base.items() if key in needed and key not in given}
    merged: dict[str, Any] = _merged(base, given)
    return merged


def _merged(base: Any, over: Any) -> Any:
    if not isinstance(base, Mapping) or not isinstance(over, Mapping):
        return over
    if "type" in over and over["type"] != base.get("type", over["type"]):
        return over
    return {**base, **{key: _merged(base.get(key), value) for key, value in over.items()}}


def _checked_spec(spec: Mapping[str, Any], where: str) -> dict[str, Any]:
    """With converted values; specs inside are left to the constructors, which complete them."""
    arguments, of = component_arguments(spec["type"]), f"{where} (type {spec['type']})"
    check_keys([key for key in spec if key != "type"], [*arguments, *OF_ANY], where, of)
    own = {key: value for key, value in spec.items() if key in arguments}
    result = {**spec, **checked(own, arguments, where, of)}
    try:
        registry.make(result)
    except RLGError as error:
        raise SpecError(f"{where}: {error}") from error
    return result


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    given = {key: value for key, value in config[_CHECK].items() if key in SETTINGS}
    return checked(given, SETTINGS, "", "test-component")


def _composed(
    overrides: Sequence[str], folder: Path | None, arguments: Sequence[str] = ()
) -> dict[str, Any]:
    """What Hydra makes of the overrides, with arguments of the component set in it."""
    from hydra import compose

    from rlg.api.composing.command_line import CommandLine
    from rlg.api.composing.compose import resolved
    from rlg.api.composing.errors import explained
    from rlg.api.composing.loader import open_hydra

    shown = [word.lstrip("+").removeprefix(f"{_CHECK}.") for word in (*overrides, *arguments)]
    try:
        with explained(CommandLine(shown, config_dir=folder)):
            with open_hydra(folder):
                config = compose("train", overrides=list(overrides))
            _set(arguments, config)
            found = {_CHECK: {}, **resolved(config)}
    except SpecError as error:
        raise SpecError(str(error).replace(f"{_CHECK}.", "")) from error
    load_plugins(converted(found["plugins"], list[str], "plugins"))
    return found


def _set(arguments: Sequence[str], config: Any) -> None:
    """Sets arguments of the component; a whole spec replaces what was there."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from omegaconf import OmegaConf

    for override in OverridesParser.create().parse_overrides(list(arguments)):
        if override.is_delete() or override.is_sweep_override():
            raise SpecError(f"{override.input_line}: give one value to each argument.")
        value = override.value()
        is_whole = isinstance(value, Mapping) and "type" in value
        key = f"{_SUBJECT}.{override.key_or_group}"
        OmegaConf.update(config, key, value, merge=not is_whole, force_add=True)


def _head(word: str) -> str:
    return word.lstrip("+~").partition("=")[0].partition(".")[0]


def _is_setting(word: str) -> bool:
    return "=" in word and _head(word) in (*SETTINGS, "spaces", "statics", "env", "plugins")


def _setting(word: str) -> str:
    bare = word.lstrip("+")
    return bare if _head(word) in ("env", "plugins") else f"++{_CHECK}.{bare}"


def _arguments(words: Sequence[str], named: Named) -> list[str]:
    """The keys without the component's kind."""
    for word in words:
        if "=" not in word:
            raise SpecError(
                f"{word!r} is not of the form key=value. Give one component at a time, then its "
                "arguments."
            )
    return [word.lstrip("+").removeprefix(f"{named.kind}.") for word in words]
