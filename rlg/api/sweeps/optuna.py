"""`hydra/sweeper=optuna` as rlg wants it: maximise, repeat by a seed, survive failed trials.

Stored by name, so that it composes without the extra too: what is missing is then said in one line
instead of a page about search paths.
"""

from __future__ import annotations

import logging
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins

from rlg.errors import SpecError, pip_install

PLUGIN = "hydra_plugins.hydra_optuna_sweeper"
SWEEPER: dict[str, Any] = {
    "_target_": f"{PLUGIN}.optuna_sweeper.OptunaSweeper",
    "defaults": [{"sampler": "tpe"}, "_self_"],
    "direction": "maximize",  # the mean reward of a run's last evaluation
    "storage": None,  # sqlite:///study.db: keeps the study beside the folders
    "study_name": None,
    "n_trials": 20,
    "n_jobs": 1,  # trials asked for at once; as many as a parallel launcher runs
    "max_failure_rate": 1.0,  # a failed trial is reported, and the study continues
    "search_space": None,
    "params": None,
    "custom_search_space": None,
}
SAMPLERS: dict[str, dict[str, Any]] = {
    "tpe": {"_target_": "optuna.samplers.TPESampler", "seed": 0, "n_startup_trials": 10},
    "random": {"_target_": "optuna.samplers.RandomSampler", "seed": 0},
    "cmaes": {"_target_": "optuna.samplers.CmaEsSampler", "seed": 0},
}


def offer_optuna() -> None:
    """Replaces the plugin's own defaults, or stands in for them where it isn't installed."""
    Plugins.instance()  # scans for plugins, which store theirs
    store = ConfigStore.instance()
    store.store(group="hydra/sweeper", name="optuna", node=SWEEPER, provider="rlg")
    for name, sampler in SAMPLERS.items():
        store.store(group="hydra/sweeper/sampler", name=name, node=sampler, provider="rlg")


def check_optuna(sweeper: str) -> None:
    """Raises if it was chosen and isn't installed; else it is made to say less."""
    if not sweeper.startswith(PLUGIN):
        return
    try:
        is_there = find_spec(PLUGIN) is not None and find_spec("optuna") is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        raise SpecError(
            f"hydra/sweeper=optuna: it needs an extra. Install it with {pip_install('optuna')}."
        )
    optuna = import_module("optuna")
    # What becomes of trials is in the table; a study's name and failures need no lines besides.
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    logging.getLogger(PLUGIN).setLevel(logging.CRITICAL + 1)
