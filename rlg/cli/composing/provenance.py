"""Where the values of a configuration come from: which file, or the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hydra import compose, initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from rlg.api.config.named_envs import NamedEnvs
from rlg.cli.composing.errors import explain_composition, explain_resolution
from rlg.cli.composing.flags import Words
from rlg.cli.composing.hydra_task import PACKAGE, user_folder
from rlg.errors import SpecError
from rlg.spelling import leaves

COMMAND_LINE = "command line"


@contextmanager
def hydra_for(words: Words) -> Iterator[None]:
    """Hydra with the user's folder; its errors come out in one line."""
    try:
        with (
            user_folder(words.config_dir),
            initialize_config_module(PACKAGE, version_base="1.3"),
        ):
            yield
    except OmegaConfBaseException as error:
        raise SpecError(explain_resolution(error, words)) from error
    except (HydraException, YAMLError, ValueError) as error:
        if isinstance(error, SpecError):
            raise
        raise SpecError(explain_composition(error, words)) from error


def composed(words: Words) -> dict[str, Any]:
    """The configuration as `rlg train` would get it, resolved."""
    with hydra_for(words):
        config = compose(words.config_name, overrides=words.overrides)
        content: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    return {str(key): value for key, value in content.items()}


def sources(words: Words) -> dict[str, str]:
    """The file that gave each value its last word, or the command line, by dotted path."""
    found: dict[str, str] = {}
    with hydra_for(words):
        loader: Any = GlobalHydra.instance().config_loader()
        chosen = loader.compute_defaults_list(words.config_name, words.overrides, RunMode.RUN)
        for default in chosen.defaults:
            package = default.package or ""
            if default.config_path is None or package.partition(".")[0] == "hydra":
                continue
            loaded = loader.repository.load_config(default.config_path)
            for path in _paths(loaded.config, package):
                found[path] = _file(loaded.provider, default.config_path, words)
        for override in chosen.config_overrides:
            for path in _paths(override.value(), override.key_or_group):
                found[path] = COMMAND_LINE
    return found


def source_of(path: str, found: Mapping[str, str]) -> str:
    """Of a value; one that only a signature gives is a default."""
    while path:
        if path in found:
            return found[path]
        path = path.rpartition(".")[0]
    return "default"


def _paths(value: Any, prefix: str) -> list[str]:
    if isinstance(value, (DictConfig, Mapping)):
        content: Any = value
        if isinstance(value, DictConfig):
            content = OmegaConf.to_container(value, resolve=False)
        inner = leaves(content)
        return [f"{prefix}.{path}" if prefix else path for path in inner]
    return [prefix]


def _file(provider: str, path: str, words: Words) -> str:
    if provider == "user" and words.config_dir is not None:
        return f"{words.config_dir / path}.yaml"
    if provider == NamedEnvs.provider:
        return path.replace("/", "=", 1)  # env=FrozenLake-v1
    return f"conf/{path}.yaml"
