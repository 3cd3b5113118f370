"""What `--json` prints: one form for all commands, and valid JSON whatever the numbers are."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from rlg.cli.output import print_json
from tests.cli.conftest import TINY


@pytest.mark.parametrize("words", [["list", "optimizer"], ["list", "env=pong"], ["config"]])
def test_documents_are_indented(rlg, words):
    out = rlg(*words, "--json").out
    assert out == json.dumps(json.loads(out), indent=2) + "\n"


def test_an_evaluation_is_printed_as_all_others_are(rlg):
    assert rlg("train", *TINY, "evaluation.interval=0", "hydra.run.dir=run").code == 0
    out = rlg("eval", "run", "--episodes", "2", "--json").out
    assert out == json.dumps(json.loads(out), indent=2) + "\n"
    names = ["mean_reward", "std_reward", "mean_length", "returns", "lengths", "cut"]
    assert list(json.loads(out)) == names


def test_numbers_that_json_lacks_are_null_and_named_at_the_end(capsys):
    rows = [{"error": np.float32(math.inf)}, {"error": 0.5}]
    print_json({"mean": math.nan, "rows": rows, "low": (-math.inf,)})
    assert json.loads(capsys.readouterr().out) == {
        "mean": None,
        "rows": [{"error": None}, {"error": 0.5}],
        "low": [None],
        "not_finite": {"mean": "NaN", "rows[0].error": "Infinity", "low[0]": "-Infinity"},
    }


def test_errors_of_components_are_numbers_or_null(rlg):
    words = ["check_infinite_on_torch", "plugins=[tests.testing.wrong]", "--backends=numpy,torch"]
    result = rlg("test-component", *words, "spaces.inputs={type: float, shape: [3]}", "--json")
    assert result.code == 1
    content = json.loads(result.out)
    assert content["methods"][0]["error"] == {"absolute": None, "relative": None}
    assert content["not_finite"]["methods[0].error.absolute"] == "Infinity"
