"""`rlg completion`: scripts for shells; they ask this program for what may follow.

Answers come from file names and YAML files, without Hydra and without components: a shell asks at
every press of a key.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from rlg.errors import SpecError
from rlg.spelling import suggestion

ENTRY = "__complete"
COMPOSING = ("train", "config", "resume", "graph")
ON_RUNS = ("resume", "eval", "play", "config", "report", "compare")
HYDRA_FLAGS = ("-m", "--multirun", "--cfg", "--config-dir", "--config-name", "--info", "--resolve")

SCRIPTS = {
    "bash": """\
# eval "$(rlg completion bash)", or this line in ~/.bashrc
_rlg_complete() {
    # The line itself: bash would take words apart at every = and :
    local line=${COMP_LINE:0:COMP_POINT}
    mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" __complete bash "$line" 2>/dev/null)
}
complete -o nospace -o default -F _rlg_complete rlg
""",
    "zsh": """\
#compdef rlg
# eval "$(rlg completion zsh)", or this line in ~/.zshrc after compinit
_rlg_complete() {
    local -a found open done
    found=("${(@f)$("${words[1]}" __complete zsh "${(@)words[1,CURRENT]}" 2>/dev/null)}")
    open=(${(M)found:#*[=./]}) done=(${found:#*[=./]})
    (( $#open )) && compadd -S '' -- $open
    (( $#done )) && compadd -- $done
    (( $#found )) || _files
}
compdef _rlg_complete rlg
""",
    "fish": """\
# rlg completion fish | source, or into ~/.config/fish/completions/rlg.fish
complete -c rlg -f -a '(rlg __complete fish (commandline -opc) (commandline -ct) 2>/dev/null)'
""",
}


def completion(
    shell: Annotated[str, typer.Argument(help="bash, zsh or fish.")],
) -> int:
    """Print a script that completes words: eval "$(rlg completion bash)"."""
    if shell not in SCRIPTS:
        hint = suggestion(shell, SCRIPTS)
        raise SpecError(f"{shell}: there is no script for it.{hint} Shells: {', '.join(SCRIPTS)}.")
    print(SCRIPTS[shell], end="")
    return 0


def answer(shell: str, words: Sequence[str], flags: Mapping[str, Sequence[str]]) -> list[str]:
    """What a shell may put in place of the last word; `flags` are the options of each command."""
    if shell == "bash":
        words = _split(words[0] if words else "")
    found = candidates(list(words[1:]) or [""], flags)
    if shell != "bash":
        return found
    # bash replaces only what follows the last = of the word, and adds no space by itself.
    cut = words[-1].rfind("=") + 1 if words else 0
    return [word[cut:] + ("" if word.endswith(("=", ".", "/")) else " ") for word in found]


def candidates(words: Sequence[str], flags: Mapping[str, Sequence[str]]) -> list[str]:
    """All words that begin like the last one and fit there."""
    *before, current = words
    if not before:
        return _like(current, [*flags, "--help", "--version"])
    command, given = before[0], before[1:]
    if current.startswith("-"):
        more = HYDRA_FLAGS if command in COMPOSING else ()
        return _like(current, [*flags.get(command, ()), *more, "--help"])
    if given and given[-1] == "--config-dir":
        return []
    return _like(current, _words(command, given, current))


def _words(command: str, given: Sequence[str], current: str) -> Iterable[str]:
    if command == "completion":
        return SCRIPTS
    if command == "list":
        return _topics(given)
    folder = _config_dir(given)
    has_run = any(Path(word).is_dir() for word in given)
    if given and given[-1] == "--checkpoint":
        return _checkpoints(given)
    if command in ON_RUNS and "=" not in current and not has_run:
        runs = _runs()
        more = _assignments(command, given, current, folder) if command == "config" else ()
        return [*runs, *more]
    if command in ("eval", "play", "doctor", "report", "compare"):
        return []
    return _assignments(command, given, current, folder)


def _topics(given: Sequence[str]) -> list[str]:
    from rlg.api.config.groups import groups
    from rlg.cli.listing import WORDS

    library = Path(__file__).parents[1] / "graph" / "components"
    families = [path.name for path in library.iterdir() if (path / "__init__.py").exists()]
    return [*WORDS, *groups(_config_dir(given)), *families]


def _runs(root: Path | None = None) -> list[str]:
    """Run folders below `outputs/` and `multirun/`, the newest first."""
    base = root or Path()
    found = [*base.glob("outputs/*/*/status.json"), *base.glob("multirun/*/*/*/status.json")]
    return [str(path.parent) for path in sorted(found, reverse=True)]


def _checkpoints(given: Sequence[str]) -> list[str]:
    folders = [Path(word) for word in given if (Path(word) / "checkpoints").is_dir()]
    return [path.name for folder in folders for path in folder.glob("checkpoints/step-*")]


# -- key=value -------------------------------------------------------------------------------------
def _assignments(
    command: str, given: Sequence[str], current: str, folder: Path | None
) -> list[str]:
    """`env=` and its options, `agent.` and its keys, the values of a key that has few."""
    from rlg.api.config.groups import composed_groups, groups

    used = composed_groups(folder) if command in COMPOSING else groups(folder)
    known = {group: options for group, options in groups(folder).items() if group in used}
    sign = current[:1] if current[:1] in ("+", "~") else ""
    key, equals, _ = current[len(sign) :].partition("=")
    if equals and key in known:
        return [f"{sign}{key}={option}" for option in known[key]]
    section, dot, _ = key.partition(".")
    end = "" if sign == "~" else "="
    if dot:
        content = _section(section, given, known, folder)
        if equals:
            return [f"{sign}{key}={value}" for value in _values(key, content)]
        return [f"{sign}{section}.{name}{end}" for name in content]
    taken = {word.partition("=")[0] for word in given}
    top = [name for name, value in _primary(folder).items() if not isinstance(value, Mapping)]
    names = [*(f"{g}=" for g in known), *(f"{name}=" for name in top)]
    sections = [f"{group}." for group in known if group != "experiment"]
    return [f"{sign}{name}" for name in (*names, *sections) if name.rstrip("=") not in taken]


def _section(
    section: str, given: Sequence[str], known: Mapping[str, Sequence[str]], folder: Path | None
) -> dict[str, Any]:
    """The keys of a section as its chosen file has them; environments may choose for others."""
    from rlg.api.config.groups import option_file

    chosen = dict(word.split("=", 1) for word in given if "=" in word)
    option = chosen.get(section) or _default_option(section, chosen, folder)
    if section not in known or option not in known[section]:
        return {}
    found = _load(option_file(section, option, folder).read_text(encoding="utf-8"))
    return {key: value for key, value in found.items() if key != "defaults"}


def _default_option(section: str, chosen: Mapping[str, str], folder: Path | None) -> str:
    from rlg.api.config.groups import option_file

    options = _choices(_primary(folder, raw=True))
    env = option_file("env", chosen.get("env", str(options.get("env"))), folder)
    brought = _choices(_load(env.read_text(encoding="utf-8"))) if env.is_file() else {}
    own = next((value for key, value in brought.items() if f"/{section}@" in key), None)
    return str(own or options.get(section))


def _choices(content: Mapping[str, Any]) -> dict[str, Any]:
    """What a defaults list chooses, by group."""
    entries = [entry for entry in content.get("defaults", []) if isinstance(entry, dict)]
    return {key: value for entry in entries for key, value in entry.items()}


def _primary(folder: Path | None, *, raw: bool = False) -> dict[str, Any]:
    from importlib.resources import files

    from rlg.api.config.groups import PACKAGE

    own = None if folder is None else folder / "train.yaml"
    file = own if own is not None and own.is_file() else files(PACKAGE) / "train.yaml"
    content = _load(file.read_text(encoding="utf-8"))
    return content if raw else {k: v for k, v in content.items() if k not in ("defaults", "hydra")}


def _values(key: str, content: Mapping[str, Any]) -> list[str]:
    """Yes and no, or what the file says now."""
    value = content.get(key.partition(".")[2])
    if isinstance(value, bool):
        return ["true", "false"]
    return [] if value is None or isinstance(value, (list, dict)) else [str(value)]


def _load(text: str) -> dict[str, Any]:
    import yaml

    loader: Callable[..., Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = yaml.load(text, loader)  # type: ignore[arg-type]
    return found if isinstance(found, dict) else {}


def _config_dir(given: Sequence[str]) -> Path | None:
    for word, following in pairwise(given):
        if word in ("--config-dir", "-cd"):
            return Path(following)
    return None


def _like(current: str, words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word for word in words if word.startswith(current)))


def _split(line: str) -> list[str]:
    """The words of an unfinished line, the last one as far as it is typed."""
    try:
        words = shlex.split(line)
    except ValueError:  # an open quote
        words = line.split()
    return [*words, ""] if not line or line[-1].isspace() else words
