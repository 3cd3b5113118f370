"""The words of `rlg test-component`: a component, its arguments, and how to check it.

The first word that is not a setting names the component. A setting is `env`, `plugins`, `spaces.X`,
`statics.X`, `seed`, `batch`, `time` or `tolerance`. Every other word is an argument of the
component, plain (`units=[8]`) or with its kind as in `rlg train` (`network.units=[8]`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rlg.api.config.components import SETTINGS as OF_ANY
from rlg.api.config.components import component_arguments
from rlg.api.config.environments import check_env
from rlg.api.config.plugins import load_plugins
from rlg.api.config.signatures import MISSING, Argument, check_keys, checked, converted
from rlg.cli.component.names import ANY_KIND, Named, find
from rlg.cli.component.spaces import check_size, fitting, given_spaces
from rlg.errors import RLGError, SpecError
from rlg.graph import registry
from rlg.testing.check.environment import spaces_of_actions, spaces_of_env
from rlg.testing.goldens import GOLDENS, Golden

SETTINGS = {
    "seed": Argument(int, 0),
    "batch": Argument(int, 5),
    "time": Argument(int, 4),
    "tolerance": Argument(float, 1e-5),
}
_SECTIONS = ("spaces", "statics")
_SUBJECT, _CHECK = "subject", "check"  # where both stand in what Hydra composes


@dataclass(frozen=True)
class Question:
    """What is to be checked, and how."""

    golden: Golden
    statics: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def settings_of(words: Sequence[str]) -> dict[str, Any]:
    """Of `--all`: settings without a component; plugins are loaded."""
    wrong = [word for word in words if _head(word) not in (*SETTINGS, "plugins")]
    if wrong:
        raise SpecError(
            f"{wrong[0]}: with --all it has no meaning. Settings: {', '.join(SETTINGS)}, plugins."
        )
    return _checked_settings(_compose([_setting(word) for word in words], None))


def question_of(words: Sequence[str], folder: Path | None) -> Question:
    """Everything that the words say, checked."""
    subjects = [word for word in words if not _is_setting(word)]
    if not subjects:
        raise SpecError(
            "test-component: which one? Write for example rlg test-component memory=prioritized, "
            "rlg test-component dense units=4, or --all."
        )
    settings = [_setting(word) for word in words if _is_setting(word)]
    _load_plugins(settings, folder)
    named = find(subjects[0], folder)
    start = f"+{named.kind}@{_SUBJECT}={named.name}"
    if not named.is_file:
        start = f"++{_SUBJECT}.type={named.name}"
    config = _compose([start, *settings], folder, _arguments(subjects[1:], named))
    return _question(named, config, has_env=any(_head(word) == "env" for word in words))


def _question(named: Named, config: Mapping[str, Any], has_env: bool) -> Question:
    given, asked = config[_SUBJECT], config.get(_CHECK, {})
    where = named.name if named.kind == ANY_KIND else named.kind
    if not isinstance(given, Mapping) or not isinstance(given.get("type"), str):
        raise SpecError(f"{named.word}: its file has no `type`, so it is not a component.")
    kind = given["type"]
    golden = next((g for g in GOLDENS if g.spec["type"] == kind), Golden(kind, {"type": kind}))
    spec, env = _spec(given, golden, named.is_file), None
    if has_env:
        env = check_env(config["env"])
        if "action_space" in component_arguments(kind) and "action_space" not in given:
            spec["action_space"] = env[2].to_spec()
    made = replace(golden, name=named.name, spec=_checked_spec(spec, where))
    component = made.make()
    if env is not None:
        made = replace(made, spaces=spaces_of_env(env[1], env[2], golden.spaces))
    elif "action_space" in given:
        made = replace(made, spaces=spaces_of_actions(component.action_space, golden.spaces))
    spaces = asked.get("spaces", {})
    made = replace(made, spaces=given_spaces(component, made.spaces, spaces))
    check_size(made)
    if not spaces and env is None:
        made = fitting(made, golden)
    return Question(made, dict(asked.get("statics", {})), _checked_settings(config))


def _spec(given: Mapping[str, Any], golden: Golden, is_file: bool) -> dict[str, Any]:
    """The words over the default arguments; a file is complete but for what has no default."""
    base = dict(golden.spec)
    if is_file:
        known = component_arguments(given["type"])
        needed = [name for name, one in known.items() if one.default is MISSING]
        base = {key: value for key, value in base.items() if key in needed and key not in given}
    merged: dict[str, Any] = _merged(base, given)
    return merged


def _checked_spec(spec: Mapping[str, Any], where: str) -> dict[str, Any]:
    """With converted values; specs inside are left to the constructors, which complete them."""
    kind, words = spec["type"], {key: value for key, value in spec.items() if key != "type"}
    arguments = component_arguments(kind)
    of = f"{where} (type {kind})"
    check_keys(words, [*arguments, *OF_ANY], where, of)
    own = {key: value for key, value in words.items() if key in arguments}
    rest = {key: value for key, value in words.items() if key not in arguments}
    result = {"type": kind, **checked(own, arguments, where, of), **rest}
    try:
        registry.make(result)
    except RLGError as error:
        raise SpecError(f"{where}: {error}") from error
    return result


def _merged(base: Any, over: Any) -> Any:
    if not isinstance(base, Mapping) or not isinstance(over, Mapping):
        return over
    if "type" in over and over["type"] != base.get("type", over["type"]):
        return over
    return {**base, **{key: _merged(base.get(key), value) for key, value in over.items()}}


def _checked_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    asked = config.get(_CHECK, {})
    given = {key: asked[key] for key in SETTINGS if key in asked}
    found = checked(given, SETTINGS, "", "test-component")
    for name in ("batch", "time"):
        if found[name] < 1:
            raise SpecError(f"{name}: must be at least 1, got {found[name]}.")
    if found["seed"] < 0 or not found["tolerance"] >= 0:
        name = "seed" if found["seed"] < 0 else "tolerance"
        raise SpecError(f"{name}: must be at least 0, got {found[name]}.")
    return found


def _load_plugins(settings: Sequence[str], folder: Path | None) -> None:
    """Before names are looked up: a plugin brings them."""
    words = [word for word in settings if _head(word) == "plugins"]
    if words:
        _compose(words, folder)


def _compose(
    overrides: Sequence[str], folder: Path | None, arguments: Sequence[str] = ()
) -> dict[str, Any]:
    from hydra import compose
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    from rlg.api.composing.command_line import CommandLine
    from rlg.api.composing.errors import explain_composition, explain_resolution
    from rlg.api.composing.opening import open_hydra

    shown = [word.lstrip("+").removeprefix(f"{_CHECK}.") for word in (*overrides, *arguments)]
    words = CommandLine(shown, config_dir=folder)
    try:
        with open_hydra(folder):
            config = compose("train", overrides=list(overrides))
        _apply(arguments, config)
        keys = [key for key in (_SUBJECT, _CHECK, "env", "plugins") if key in config]
        found = {key: _plain(OmegaConf, config, key) for key in keys}
    except OmegaConfBaseException as error:
        raise SpecError(explain_resolution(error, words)) from error
    except HydraException as error:
        raise SpecError(explain_composition(error, words).replace(f"{_CHECK}.", "")) from error
    load_plugins(converted(found["plugins"], list[str], "plugins"))
    return found


def _apply(arguments: Sequence[str], config: Any) -> None:
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


def _plain(omegaconf: Any, config: Any, key: str) -> Any:
    value = config[key]
    is_node = omegaconf.is_config(value)
    return omegaconf.to_container(value, resolve=True) if is_node else value


def _head(word: str) -> str:
    return word.lstrip("+~").partition("=")[0].partition(".")[0]


def _is_setting(word: str) -> bool:
    return "=" in word and _head(word) in (*SETTINGS, *_SECTIONS, "env", "plugins")


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


def registered_without_default() -> list[str]:
    """Components, of plugins, that have no default spaces."""
    known = {golden.spec["type"] for golden in GOLDENS}
    return [name for name in registry.names() if name not in known]
