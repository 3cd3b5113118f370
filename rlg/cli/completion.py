"""`rlg completion`: scripts for shells; they ask this program for what may follow.

Why not typer's own: bash takes words apart at every =, and a shell asks at every press of a key, so
answers come from file names and YAML files, without Hydra and without components.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from rlg.api.config.groups import choices, composed_groups, groups, read_option
from rlg.cli.bench import KEYS
from rlg.cli.export import FORMATS
from rlg.cli.listing import WORDS
from rlg.errors import SpecError
from rlg.spelling import unknown

ENTRY = "__complete"
# Words of an unfinished line are arguments, whatever they look like.
AS_THEY_ARE = {"allow_interspersed_args": False, "help_option_names": []}
ON_RUNS = ("resume", "eval", "config", "export")

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


def completion(shell: Annotated[str, typer.Argument(help="bash, zsh or fish.")]) -> int:
    """Print a script for completion by Tab: eval "$(rlg completion bash)"."""
    if shell not in SCRIPTS:
        raise SpecError(f"rlg completion: {unknown('script for', shell, SCRIPTS)}")
    print(SCRIPTS[shell], end="")
    return 0


def answer(ctx: typer.Context, shell: str, words: list[str]) -> int:
    """Prints what a shell may put in place of the last word."""
    *before, current = (_split(words[0]) if shell == "bash" else words)[1:] or [""]
    commands = {} if ctx.parent is None else getattr(ctx.parent.command, "commands", {})
    flags = {name: [o for p in c.params for o in p.opts] for name, c in commands.items()}
    with suppress(Exception):  # whatever goes wrong, a shell must not see an error
        known = dict.fromkeys(_candidates(before, current, flags))
        found = [word for word in known if word.startswith(current)]
        if shell == "bash":
            # It replaces only what follows the last = of the word, and adds no space by itself.
            cut = current.rfind("=") + 1
            found = [w[cut:] + ("" if w.endswith(("=", ".", "/")) else " ") for w in found]
        print("\n".join(found))
    return 0


def _candidates(
    before: Sequence[str], current: str, flags: Mapping[str, Sequence[str]]
) -> Iterable[str]:
    """`flags` are the options of each command."""
    command, *given = before or [""]
    last = given[-1] if given else ""
    folder = next((Path(b) for a, b in pairwise(given) if a in ("--config-dir", "-cd")), None)
    has_run = any(Path(word).is_dir() for word in given)
    found: Iterable[str] = []
    if not command:
        found = [*(name for name in flags if name != ENTRY), "--help", "--version"]
    elif current.startswith("-"):
        found = [*flags.get(command, ()), "--help"]
    elif command == "completion":
        found = SCRIPTS
    elif command == "bench" and current.startswith("bench="):
        from rlg.bench.suites import ALL, SUITES

        found = [f"bench={name}" for name in (*SUITES, ALL)]
    elif command == "bench":
        found = [f"{key}=" for key in KEYS]
    elif command == "list":
        found = _topics(folder)
    elif last == "--checkpoint":
        found = [path.name for word in given for path in Path(word).glob("checkpoints/step-*")]
    elif command == "export" and last == "--to":
        found = FORMATS
    elif command in ON_RUNS and "=" not in current and not has_run:
        found = [*_runs(), *(_overrides(given, current, folder) if command == "config" else ())]
    elif last != "--config-dir" and command not in ("eval", "doctor", "export"):
        found = _overrides(given, current, folder)
    return found


def _topics(folder: Path | None) -> list[str]:
    library = Path(__file__).parents[1] / "graph" / "components"
    families = [path.name for path in library.iterdir() if (path / "__init__.py").exists()]
    return [*WORDS, *groups(folder), *families]


def _runs() -> list[str]:
    """Run folders below `outputs/` and `multirun/`, the newest first."""
    patterns = ("outputs/*/*/status.json", "multirun/*/*/*/status.json")
    found = [path for pattern in patterns for path in Path().glob(pattern)]
    return [str(path.parent) for path in sorted(found, reverse=True)]


def _overrides(given: Sequence[str], current: str, folder: Path | None) -> list[str]:
    """`env=` and its options, `agent.` and its keys, the values of a key that has few."""
    composed = composed_groups(folder)
    known = {group: options for group, options in groups(folder).items() if group in composed}
    chosen = dict(word.split("=", 1) for word in given if "=" in word)
    sign = current[:1] if current.startswith(("+", "~")) else ""
    key, equals, _ = current.removeprefix(sign).partition("=")
    section, dot, name = key.partition(".")
    if equals and key in known:
        found = [f"{key}={option}" for option in known[key]]
    elif not dot:
        whole = read_option("", "train", folder).items()
        top = [k for k, value in whole if k != "defaults" and not isinstance(value, Mapping)]
        found = [f"{name}=" for name in (*known, *top) if name not in chosen]
        found += [f"{group}." for group in known if group != "experiment"]
    else:
        content = _section(section, chosen, folder)
        found = [f"{section}.{name}{'' if sign == '~' else '='}" for name in content]
        if equals:
            found = [f"{key}={value}" for value in _values(content.get(name))]
    return [f"{sign}{word}" for word in found]


def _section(section: str, chosen: Mapping[str, str], folder: Path | None) -> dict[str, Any]:
    """The keys of a section as its chosen file has them; environments may choose for others."""
    defaults = choices(read_option("", "train", folder))
    env = chosen.get("env", defaults.get("env", ""))
    brought = choices(read_option("env", env, folder))
    own = next((value for key, value in brought.items() if f"/{section}@" in key), None)
    option = chosen.get(section) or own or defaults.get(section, "")
    content = read_option(section, option, folder)
    return {key: value for key, value in content.items() if key not in ("defaults", "hydra")}


def _values(value: Any) -> list[str]:
    """True and false, or what the file says now."""
    if isinstance(value, bool):
        return ["true", "false"]
    return [] if value is None or isinstance(value, (list, dict)) else [str(value)]


def _split(line: str) -> list[str]:
    """The words of an unfinished line, the last one as far as it is typed."""
    try:
        words = shlex.split(line)
    except ValueError:  # an open quote
        words = line.split()
    return [*words, ""] if not line or line[-1].isspace() else words
