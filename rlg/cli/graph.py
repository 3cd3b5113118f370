"""`rlg graph`: the component graph of an agent as a page, a drawing, text, or plans."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rlg.api.composing.command_line import CommandLine
from rlg.cli.flags import ConfigDir, ConfigName, Overrides, TrustPlugins
from rlg.cli.waiting import loading_message, waiting
from rlg.errors import ExecutionError, SpecError


def graph(
    overrides: Overrides = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file, or a folder. [default: .]")
    ] = None,
    formats: Annotated[
        str | None,
        typer.Option("--format", help="html, svg, dot, text, plan, tensorboard; or several: a,b."),
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the components as a tree.")] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print the plans; --plan update: of one API method.")
    ] = False,
    api: Annotated[
        str | None, typer.Option("--api", help="Only what this API method uses: update.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", min=0, help="Levels of scopes to unfold.")
    ] = None,
    config_dir: ConfigDir = None,
    config_name: ConfigName = "train",
    trust_plugins: TrustPlugins = False,
) -> int:
    """Draw the component graph of an agent: rlg graph agent=dqn env=pong backend=tf.

    Takes the overrides of `rlg train`, or the folder of a run. The agent is built, not trained.
    Writes graph.html, an interactive page.
    """
    places = _places(formats, output, prints=text or plan)
    given, named = _take_api(overrides or [], api, plan=plan)
    config = _config(CommandLine(given, config_dir, config_name), trust_plugins)
    from rlg.api.picture import built_graph, plan_sources
    from rlg.graph.drawing import text_tree

    with waiting(loading_message(config)):
        executor = built_graph(config)
    names = [config.get("agent", {}).get("type"), config.get("env", {}).get("name")]
    title = " on ".join(str(name) for name in names if name)
    try:
        if text:
            print(text_tree(executor.builder, named, depth), end="")
        if plan:
            print("\n\n".join(plan_sources(executor, named).values()), end="")
        for kind, path in places.items():
            _write(executor, kind, path, named, title, depth)
    except ExecutionError as error:  # an API method that is not there
        raise SpecError(f"rlg graph: {error}") from error
    return 0


def _places(formats: str | None, output: Path | None, *, prints: bool) -> dict[str, Path]:
    """The formats to write, each with its file or folder; none if there is only something to print.

    A path with a suffix is a file, another one a folder.
    """
    if prints and formats is None and output is None:
        return {}
    from rlg.api.picture import NAMES
    from rlg.spelling import suggestion

    suffix = output.suffix.lstrip(".") if output is not None else ""
    kinds = {"txt": "text", "htm": "html"}
    by_suffix = kinds.get(suffix, suffix or "html")
    wanted = [word.strip() for word in (formats or by_suffix).split(",") if word.strip()]
    for word in wanted:
        if word not in NAMES:
            given = f"--format {word}" if formats else f"--output {output}"
            raise SpecError(
                f"{given}: there is no such format.{suggestion(word, NAMES)} "
                f"Known: {', '.join(NAMES)}."
            )
    if suffix and len(wanted) > 1:
        raise SpecError(f"--output {output}: several formats need a folder. Write --output DIR.")
    if suffix and output is not None and not output.is_dir():
        return {wanted[0]: output}
    return {word: (output or Path()) / NAMES[word] for word in wanted}


def _take_api(overrides: list[str], api: str | None, *, plan: bool) -> tuple[list[str], str | None]:
    """`--plan update` names an API method: a word that is neither key=value nor a folder."""
    bare = [word for word in overrides if "=" not in word and not Path(word).is_dir()]
    if not plan or not bare or bare[0].startswith("~"):
        return overrides, api
    if len(bare) > 1 or api not in (None, bare[0]):
        raise SpecError(
            f"--plan {bare[0]}: one API method at a time, or all: leave out {bare[-1]}."
        )
    return [word for word in overrides if word != bare[0]], bare[0]


def _config(line: CommandLine, trust_plugins: bool) -> dict[str, Any]:
    first, *others = line.overrides or [""]
    if "=" in first or not first or first.startswith("~"):
        from rlg.api.composing.compose import composed

        return composed(line)
    if others:
        raise SpecError(
            f"{others[0]}: a run's graph is drawn as it is. Give the folder alone, or the "
            "overrides of `rlg train`."
        )
    from rlg.api.folders import run_config

    return run_config(first, imports_plugins=True, trust_plugins=trust_plugins)


def _write(executor: Any, kind: str, path: Path, api: str | None, *how: Any) -> None:
    from rlg.api.picture import write_picture
    from rlg.display.readable import short
    from rlg.tracking.files import writing

    with writing(path, "--output"):
        write_picture(executor, kind, path, api, *how)
    print(f"{kind + ':':13}{short(path)}")
