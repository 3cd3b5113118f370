"""`hydra/sweeper=optuna`: a search with the extra, and one line without it."""

from __future__ import annotations

import json
import sys

import pytest
from hydra.core.plugins import Plugins

from tests.cli.conftest import TINY

SEARCH = ["hydra/sweeper=optuna", "optimizer.learning_rate=interval(1e-4,1e-2)"]
with_optuna = [
    # optuna 2.10 uses what newer versions of its own dependencies and of Python give up.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def test_without_the_extra_one_line_says_what_to_install(rlg, folder, monkeypatch):
    Plugins.instance()  # looks for plugins once; later tests want the one that is there
    monkeypatch.setitem(sys.modules, "optuna", None)
    result = rlg("train", "-m", *TINY, *SEARCH)
    assert result.code == 2
    assert result.err == (
        "rlg: error: hydra/sweeper=optuna: it needs an extra. Install it with "
        "pip install 'rlgraph-next[optuna]'.\n"
    )
    assert list(folder.glob("multirun/*/*/0")) == []


class TestSearch:
    pytestmark = with_optuna

    def test_a_failed_trial_does_not_end_the_search_and_the_best_is_named(self, rlg, folder):
        words = ["hydra.sweeper.n_trials=4", "agent.gamma=0.9,7", "hydra.sweep.dir=s"]
        result = rlg("train", "-m", *TINY, *SEARCH, *words)
        assert result.code == 1
        table = json.loads(rlg("sweep", "s", "--json").out)
        states = {job["number"]: job["state"] for job in table["jobs"]}
        assert sorted(states) == [0, 1, 2, 3]
        assert set(states.values()) == {"done", "failed"}  # by the sampler's seed
        best = max(table["jobs"], key=lambda job: job["last_reward"] or -1.0)
        assert table["direction"] == "maximize"
        assert table["jobs"][0]["last_reward"] == best["last_reward"]
        assert f"best:       job {table['best']} (optimizer.learning_rate=" in result.out
        text = (folder / "s/optimization_results.yaml").read_text()
        assert f"best_value: {best['last_reward']}" in text

    def test_a_search_repeats_and_is_resumed_by_its_seed(self, rlg, folder):
        values = []
        for name in ("a", "b"):
            words = ["hydra.sweeper.n_trials=2", f"hydra.sweep.dir={name}"]
            assert rlg("train", "-m", *TINY, *SEARCH, *words).code == 0
            jobs = json.loads(rlg("sweep", name, "--json").out)["jobs"]
            values.append({job["number"]: (job["values"], job["last_reward"]) for job in jobs})
        assert values[0] == values[1]
        assert values[0][0][0] != values[0][1][0]
        words = ["hydra.sweeper.n_trials=3", "hydra.sweep.dir=a"]
        longer = rlg("train", "-m", *TINY, *SEARCH, *words)
        assert longer.code == 0, longer.err
        assert longer.out.count("kept, it was done before") == 2
