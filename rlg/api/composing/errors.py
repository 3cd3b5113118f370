"""Hydra's errors in one line: the word that is wrong, why, and what was meant.

Hydra's own messages show a page of search paths, or hide the cause ("Error merging override"), or
advise to append a misspelt key with +.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from rlg.api.composing.command_line import CommandLine
from rlg.api.composing.loader import COMPOSED
from rlg.api.config.groups import composed_groups, groups
from rlg.api.config.named_envs import is_env_name
from rlg.envs.registry import env_names
from rlg.errors import RLGError, SpecError, TrackingError
from rlg.spelling import did_you_mean, nearest, nearest_path, paths, suggestion

# From the match of a message, what the files say, and the command line.
_Answer = Callable[[re.Match[str], Mapping[str, Any], CommandLine], str]


@contextmanager
def explained(line: CommandLine) -> Iterator[None]:
    """What Hydra says about a mistake, in one line."""
    try:
        yield
    except (RLGError, BrokenPipeError):
        raise
    except OmegaConfBaseException as error:
        raise SpecError(explain_resolution(error, line)) from error
    except Exception as error:
        if isinstance(error, OSError) and not isinstance(error, HydraException):
            raise TrackingError(f"{error.filename}: {error.strerror}.") from error
        raise SpecError(explain_composition(error, line)) from error


def explain_composition(error: Exception, words: CommandLine) -> str:
    """The line for an error that came out of Hydra."""
    if isinstance(error, MissingConfigException):
        return _missing_option(error, words)
    if isinstance(error, OverrideParseException):
        return _unreadable(error, words)
    if isinstance(error, YAMLError):
        return f"{' '.join(str(error).split()).rstrip('.')}. Fix the YAML file."
    mistyped = _no_option(words) if isinstance(error, ValueError) else None
    return mistyped or _by_message(error, words)


def explain_resolution(error: OmegaConfBaseException, words: CommandLine) -> str:
    """The line for a value that refers to something that isn't there."""
    text = _first_line(error)
    named = re.search(r"key '([^']+)'|type (\S+)|variable '([^']+)'|value: (\S+)", text)
    name = next((part for part in named.groups() if part), "") if named else ""
    marks = (f"${{{name}", f":{name}")
    word = next((w for w in words.overrides if name and any(m in w for m in marks)), None)
    where = word or getattr(error, "full_key", None) or "the configuration"
    if "Missing mandatory value" in text:
        key = str(getattr(error, "full_key", None) or name)
        key = name if key.startswith("hydra.") else key
        return f"{key}: it has no value (???). Write {key}=..."
    return f"{where}: {text}. Refer to a key as ${{total_timesteps}} or ${{agent.gamma}}."


def _missing_option(error: MissingConfigException, words: CommandLine) -> str:
    path = error.missing_cfg_file or ""
    group, _, option = path.rpartition("/")
    if not group:
        return (
            f"--config-name {path}: there is no such file. Give the name of a YAML file in your "
            "--config-dir, or leave it out."
        )
    while group.count("/") and group.partition("/")[0] in groups(words.config_dir):
        group, _, rest = group.rpartition("/")
        option = f"{rest}/{option}"
    options = error.options or groups(words.config_dir).get(group, [])
    return f"{_chooser(group, option, words)}{option_line(group, option, options)}"


def _chooser(group: str, option: str, words: CommandLine) -> str:
    """The experiment that chooses what nobody has typed."""
    typed = dict(_pairs(words))
    if "experiment" not in typed or option in typed.get(group, "").split(","):
        return ""
    return f"experiment={typed['experiment']} chooses "


def option_line(group: str, option: str, options: Sequence[str]) -> str:
    """What to say about a choice that a group doesn't have."""
    shown = ", ".join(options)
    if group == "env":
        options = [*options, *env_names()]
        shown += ", or any name of rlg list env (of a plugin: env.name=NAME)"
    return (
        f"{group}={option}: there is no such option.{suggestion(option, options)} "
        f"Options of {group}: {shown}."
    )


def _no_option(words: CommandLine) -> str | None:
    """The first word that chooses what its group doesn't have."""
    known = groups(words.config_dir)
    for key, value in _pairs(words):
        if not key:
            return f"={value}: it has no key. Write for example seed={value}."
        is_option = value in known.get(key, ()) or (key == "env" and is_env_name(value))
        if key in known and not is_option and not set(value) & set(",[]{}$"):
            return option_line(key, value, known[key])
    return None


def _unreadable(error: OverrideParseException, words: CommandLine) -> str:
    word = error.override
    key, equals, value = word.partition("=")
    if equals and re.fullmatch(r"[+~]*[\w./@-]+", key):
        return (
            f"{word}: the value {value!r} can't be read. Close brackets and quotes, and put text "
            f"with other signs into quotes: '{key}=\"...\"'."
        )
    known = groups(words.config_dir)
    if word in known:
        return f"{word}: which one? Write {word}=... with one of: {', '.join(known[word])}."
    options = {option: group for group, found in known.items() for option in found}
    meant = nearest(word, options)
    hint = f" Did you mean {options[meant]}={meant}?" if meant else ""
    return f"{word!r} is not of the form key=value.{hint} Write for example env=cartpole seed=3."


def _unknown_key(found: re.Match[str], config: Mapping[str, Any], words: CommandLine) -> str:
    from rlg.api.config.validate import known_keys

    key = found.group(1)
    group, at, _ = key.partition("@")
    if at:
        return _misplaced(key, group)
    used = composed_groups(words.config_dir, words.config_name)
    if "/" in key:
        return f"{key}: there is no such group. Groups: {', '.join(used)}."
    if key in groups(words.config_dir) and key not in used:
        return (
            f"{key}: training doesn't choose from this group; it is for rlg test-component. Groups "
            f"of training: {', '.join(used)}."
        )
    section, listed = key.rpartition(".")[0], paths(config)
    content = listed.get(section) if section else config
    if not isinstance(content, Mapping):
        return _no_section(key, listed, used)
    known = known_keys(section, content)
    others = [*listed, *(f"{section}.{name}" if section else name for name in known)]
    names = ", ".join(known or map(str, content))
    return (
        f"{key}: there is no such key.{did_you_mean(nearest_path(key, others))} "
        f"Keys of {section or 'a configuration'}: {names}."
    )


def _no_section(path: str, listed: Mapping[str, Any], used: Sequence[str]) -> str:
    section, _, last = path.rpartition(".")
    if listed.get(section) is not None:
        return f"{path}: {section} is one value, not a section. Write {section}=..."
    found = [*listed, *(f"{name}.{last}" for name in used)]
    return (
        f"{path}: there is no section {section!r}.{did_you_mean(nearest_path(path, found))} "
        f"Sections: {', '.join(used)}."
    )


def _misplaced(key: str, group: str) -> str:
    if key.startswith(f"{group}@experiment."):
        return (
            f"experiment: its file overrides /{group}, but only for a section of its own. Begin "
            "the file with the line `# @package _global_`."
        )
    return (
        f"{key}: {group} is not chosen there. On the command line write {group}=..., in a file "
        f"of another group `override /{group}@_global_.{group}: ...`."
    )


def _absent(found: re.Match[str], config: Mapping[str, Any], words: CommandLine) -> str:
    path = found.group(1)
    meant = nearest_path(path, paths(config))
    return f"~{path}: there is no such key to remove.{did_you_mean(meant)}"


def _unchosen(found: re.Match[str], config: Mapping[str, Any], words: CommandLine) -> str:
    """What is tuned goes by the choices of groups: one of them was removed."""
    keys = found.group(2).split(", ")
    name = next(key for key in re.findall(r"{(\w+)}", found.group(1)) if key not in keys)
    return f"{name}: the section is missing. Choose an option of its group: {name}=..."


_SEVERAL = (
    "{0}={1}: these are several values. Add -m to run all of them, or write {0}=[{1}] for a list."
)
# What Hydra says -> what to say: with the parts of it that are in brackets, or by a function.
_PATTERNS: tuple[tuple[str, str | _Answer], ...] = (
    (r"resolving interpolation '([^']+)', possible interpolation keys: (.*)", _unchosen),
    (r"Could not override '([^']+)'", _unknown_key),
    (r"Ambiguous value for argument '([^'=]+)=([^']+)'", _SEVERAL),
    (
        r"(?:Multiple values for |An item is already at ')([^'\s]+[^'\s.])",
        "{0}: it is in the configuration already. Leave out the +.",
    ),
    (r"Could not delete.*?'([^']+)' does not exist", _absent),
    (r"Only one of --run", "-m, --cfg and --info exclude each other. Give one of them."),
)


def _by_message(error: Exception, words: CommandLine) -> str:
    for pattern, answer in _PATTERNS:
        found = re.search(pattern, str(error))
        if found is not None and isinstance(answer, str):
            return answer.format(*found.groups())
        if found is not None and callable(answer):
            return answer(found, getattr(error, COMPOSED, {}), words)
    return _last_resort(error, words)


def _last_resort(error: Exception, words: CommandLine) -> str:
    """The innermost cause that says something, with the overrides it may be about."""
    cause: BaseException = error
    while cause.__cause__ is not None and str(cause.__cause__):
        cause = cause.__cause__
    if isinstance(cause, OmegaConfBaseException):
        return explain_resolution(cause, words)
    prefix = "" if isinstance(error, HydraException) else f"{type(cause).__name__}: "
    given = " ".join(words.overrides) or "no overrides"
    return f"{given}: {prefix}{_first_line(cause)}. Check these overrides."


def _pairs(words: CommandLine) -> list[tuple[str, str]]:
    found = [word.partition("=") for word in words.overrides if "=" in word]
    return [(key, value.strip("'\"")) for key, _, value in found]


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
