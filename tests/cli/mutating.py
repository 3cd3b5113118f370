"""Mistakes made by rule: every key of every packaged file misspelt, mistyped, beyond its range.

Whether a mutated value is a mistake is decided here, from the type of the key and from the tables
below, without asking the code that refuses it.
"""

from __future__ import annotations

import random
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml

from rlg.api.config.groups import groups
from rlg.api.config.signatures import MISSING
from rlg.api.config.validate import arguments_in

# Where numbers below zero mean something.
SIGNED = {"forget_bias", "mean_reward", "stop_at"}
# Shares, probabilities and decays: nothing above one.
AT_MOST_ONE = set(
    "alpha beta beta1 beta2 exploration_final_eps exploration_fraction exploration_initial_eps "
    "final_beta gamma momentum rho repeat_action_probability tau".split()
)
# Text that is no name of anything, so that a misspelling can't be seen.
FREE_TEXT = {"source"}
WORDS: dict[str, Any] = {
    "text": "nonsense",
    "yes": True,
    "fraction": 1.5,
    "list": ["nonsense"],
    "mapping": {"nonsense": 1},
}


@dataclass(frozen=True)
class Mistake:
    """A command line that must be refused, and what its line must name."""

    kind: str
    file: str
    words: tuple[str, ...]
    named: str
    meant: str | None = None

    def __str__(self) -> str:
        return f"{self.file}, {self.kind}: rlg train {' '.join(self.words)}"


@dataclass(frozen=True)
class Key:
    """One key of a file: its path, its value there, what its owner's signature says."""

    path: str
    value: Any
    annotation: Any
    is_required: bool
    # For keys inside of a list: the whole list with another value, as one override.
    holder: tuple[str, Any] | None = None

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    def override(self, value: Any, name: str | None = None, *, remove: bool = False) -> str:
        """The word that gives this key another value, another name, or that removes it."""
        path = f"{self.path.rpartition('.')[0]}.{name}".lstrip(".") if name else self.path
        if self.holder is None:
            return f"~{path}" if remove else f"{path}={word(value)}"
        base, items = self.holder
        index = int(self.path[len(base) + 1 :].partition("]")[0])
        item = {k: v for k, v in items[index].items() if k != self.name}
        changed = item if remove else {**item, (name or self.name): value}
        return f"{base}={word([*items[:index], changed, *items[index + 1 :]])}"


def word(value: Any) -> str:
    """A value as Hydra's grammar has it."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{k}:{word(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(word, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def misspelt(name: str, dice: random.Random) -> str:
    """One letter less, one twice, or two exchanged; never the first, as people mistype."""
    place = dice.randrange(1, len(name) - 1) if len(name) > 2 else 1
    kinds = [name[:place] + name[place:][:1] + name[place:]]
    if len(name) > 3:
        kinds.append(name[:place] + name[place + 1 :])
        if name[place] != name[place + 1]:
            kinds.append(name[:place] + name[place + 1] + name[place] + name[place + 2 :])
    return dice.choice([kind for kind in kinds if kind != name])


def fits(value: Any, annotation: Any) -> bool:
    """Whether a value is of a type, as a person would read the signature."""
    annotation = bare(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(fits(value, option) for option in arguments)
    if origin is Literal:
        return value in arguments
    if annotation is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    kind = origin or annotation
    if isinstance(kind, type) and issubclass(kind, Sequence) and kind is not str:
        item = arguments[0] if arguments else Any
        return isinstance(value, list) and all(fits(element, item) for element in value)
    return isinstance(value, kind)


def bare(annotation: Any) -> Any:
    """A type without its limits: those are what the tables above know."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def is_number(annotation: Any) -> bool:
    options = {bare(option) for option in get_args(bare(annotation)) or (bare(annotation),)}
    return bool({int, float} & options) and not fits("nonsense", annotation)


def conf_files() -> list[str]:
    """The files that `rlg train` can compose: groups of its defaults list, and itself."""
    primary = yaml.safe_load(_text("train"))
    used = {key for entry in primary["defaults"] if isinstance(entry, dict) for key in entry}
    known = groups()
    return ["train", *(f"{g}/{option}" for g in known if g in used for option in known[g])]


def all_mistakes() -> list[Mistake]:
    """Every kind of mistake for every key; a key that other files have too, there two of them."""
    found: list[Mistake] = []
    seen: set[tuple[str, Any]] = set()
    for file in conf_files():
        found += mistakes(file, seen)
    return found


def mistakes(file: str, seen: set[tuple[str, Any]]) -> list[Mistake]:
    """The mistakes with the keys of one file, the same in every process."""
    dice = random.Random(file)
    group, _, option = file.rpartition("/")
    choice = _choice(group, option)
    found = []
    if group:
        wrong = misspelt(option, dice)
        found.append(Mistake("option", file, (f"{group}={wrong}",), f"{group}={wrong}", option))
    for key in keys(file):
        made = [
            Mistake(kind, file, (*choice, *words), named, meant)
            for kind, words, named, meant in _mutations(key, dice)
        ]
        mark = (key.path, str(key.annotation))
        others = [mistake for mistake in made[1:] if mistake.kind != "added name"]
        found += [made[0], dice.choice(others)] if mark in seen and others else made
        seen.add(mark)
    return found


def keys(file: str) -> Iterator[Key]:
    """The keys of a file with what their signatures say."""
    text = _text(file)
    content = yaml.safe_load(text)
    group = file.rpartition("/")[0]
    if group and "@package _global_" not in text:
        content = {group: content}
    whole = _composed(_choice(group, file.rpartition("/")[2]))
    for name, value in content.items():
        if name in ("defaults", "hydra"):
            continue
        if isinstance(value, dict) and isinstance(whole[name], dict):
            yield from _keys_in(name, value, whole[name])
        else:
            yield from _keys_in("", {name: value}, whole)


def _keys_in(section: str, content: dict[str, Any], whole: dict[str, Any]) -> Iterator[Key]:
    known = arguments_in(section, whole)
    for name, value in content.items():
        if name == "defaults":
            continue
        argument = known[name]
        path = f"{section}.{name}" if section else name
        is_required = argument.default is MISSING
        yield Key(path, value, argument.annotation, is_required)
        if isinstance(value, dict) and isinstance(value.get("type"), str):
            yield from _keys_in(path, value, value)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for key in _keys_in(f"{path}[0]", value[0], value[0]):
                yield Key(key.path, key.value, key.annotation, key.is_required, (path, value))


def _mutations(key: Key, dice: random.Random) -> Iterator[tuple[str, tuple[str, ...], str, Any]]:
    wrong = misspelt(key.name, dice)
    path = f"{key.path.rpartition('.')[0]}.{wrong}".lstrip(".")
    yield "name", (key.override(key.value, wrong),), path, key.name
    if key.holder is None and "." in key.path:
        yield "added name", (f"+{key.override(key.value, wrong)}",), path, key.name
    bad = {name: v for name, v in WORDS.items() if not fits(v, key.annotation)}
    for kind in dice.sample(sorted(bad), min(2, len(bad))):
        yield f"type {kind}", (key.override(bad[kind]),), key.path, None
    if not fits(None, key.annotation):
        yield "null", (key.override(None),), key.path, None
    if key.is_required:
        yield "missing", (key.override(None, remove=True),), key.path, None
    if is_number(key.annotation):
        yield "not a number", (key.override("nan"),), key.path, None
        if key.name not in SIGNED:
            yield "negative", (key.override(-1),), key.path, None
            yield "endless", (key.override("inf"),), key.path, None
        if key.name in AT_MOST_ONE:
            yield "above one", (key.override(1.01),), key.path, None
    if isinstance(key.value, str) and fits("x", key.annotation) and key.name not in FREE_TEXT:
        text = misspelt(key.value, dice)
        yield "name in value", (key.override(text),), key.path, key.value


def _choice(group: str, option: str) -> tuple[str, ...]:
    """The words that choose a file; networks for images need some."""
    if not group:
        return ()
    images = ("env=pong",) if option == "nature_cnn" else ()
    return (*images, f"{group}={option}")


def _composed(words: Sequence[str]) -> dict[str, Any]:
    from hydra import compose, initialize_config_module
    from omegaconf import OmegaConf

    with initialize_config_module("rlg.conf", version_base="1.3"):
        found: Any = OmegaConf.to_container(compose("train", overrides=list(words)), resolve=True)
    return found


def _text(file: str) -> str:
    return Path(str(files("rlg.conf") / f"{file}.yaml")).read_text(encoding="utf-8")
