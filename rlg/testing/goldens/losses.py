"""Goldens of returns and losses."""

from __future__ import annotations

from typing import Any

from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple
from rlg.testing.goldens.golden import Golden

NUMBER = FloatBox(ranks="")
WEIGHTS = FloatBox(0.0, 1.0)
LOG_PROBS = FloatBox(-3.0, 0.0)
TWINS = Tuple(FloatBox(), FloatBox())
TWIN_ROWS = Tuple(Box((3,)), Box((3,)))


def episodes(ranks: str) -> dict[str, Any]:
    """What estimators over time take."""
    return {
        **dict.fromkeys(["rewards", "values", "final_values"], FloatBox(ranks=ranks)),
        **dict.fromkeys(["terminals", "truncations"], BoolBox(ranks=ranks)),
        "bootstrap": FloatBox(ranks=ranks.replace("T", "")),
    }


def policies(ranks: str) -> dict[str, Any]:
    """Log-probabilities of a policy that learns and of one that acted."""
    return dict.fromkeys(["log_probs", "behaviour_log_probs"], FloatBox(-3.0, 0.0, ranks=ranks))


LOSSES: list[Golden] = [
    # returns
    Golden(
        "discounted_sum",
        {"type": "discounted_sum", "gamma": 0.9},
        {
            "inputs": FloatBox(ranks="BT"),
            "ends": BoolBox(ranks="BT"),
            "bootstrap": FloatBox(),
        },
    ),
    Golden(
        "lambda_returns",
        {"type": "lambda_returns", "lambda_": 0.8},
        {
            "rewards": FloatBox(ranks="BT"),
            "discounts": FloatBox(0.0, 1.0, ranks="BT"),
            "next_values": FloatBox(ranks="BT"),
        },
    ),
    Golden("n_step_returns", {"type": "n_step_returns", "n_step": 2}, episodes("TB")),
    Golden("n_step_returns-all", {"type": "n_step_returns", "gamma": 0.9}, episodes("T")),
    Golden("gae", {"type": "gae", "gamma": 0.9, "gae_lambda": 0.8}, episodes("TB")),
    Golden("vtrace", {"type": "vtrace", "rho_bar": 2.0}, {**episodes("BT"), **policies("BT")}),
    # losses
    Golden(
        "a2c_loss",
        {"type": "a2c_loss", "ent_coef": 0.01},
        {
            **dict.fromkeys(["values", "advantages", "returns", "entropies"], FloatBox()),
            "log_probs": LOG_PROBS,
            "weights": WEIGHTS,
        },
    ),
    Golden(
        "ppo_loss",
        {"type": "ppo_loss", "clip_range_vf": 0.5, "ent_coef": 0.01},
        {
            **dict.fromkeys(["values", "old_values", "advantages", "returns"], FloatBox()),
            **dict.fromkeys(["log_probs", "old_log_probs"], LOG_PROBS),
            "entropies": FloatBox(0.0, 1.0),
            "weights": WEIGHTS,
            "clip_range": FloatBox(0.1, 0.3, ranks=""),
        },
    ),
    Golden(
        "sac_loss",
        {"type": "sac_loss", "gamma": 0.9},
        {
            **dict.fromkeys(["q", "q_next", "q_pi"], TWINS),
            **dict.fromkeys(["log_probs", "log_probs_next"], LOG_PROBS),
            "rewards": FloatBox(),
            "terminals": BoolBox(),
            "alpha": NUMBER,
            "weights": WEIGHTS,
            "discounts": WEIGHTS,
        },
    ),
    Golden(
        "discrete_sac_loss",
        {"type": "discrete_sac_loss"},
        {
            **dict.fromkeys(["q", "q_next", "q_pi"], TWIN_ROWS),
            **dict.fromkeys(["log_probs", "log_probs_next"], FloatBox(-3.0, 0.0, shape=(3,))),
            "actions": IntBox(3),
            "rewards": FloatBox(),
            "terminals": BoolBox(),
            "alpha": NUMBER,
            "weights": WEIGHTS,
            "discounts": WEIGHTS,
        },
    ),
    Golden(
        "temperature",
        {"type": "temperature", "action_space": IntBox(3).to_spec(), "ent_coef": "auto_0.5"},
        {"log_probs": FloatBox(-3.0, 0.0, shape=(3,)), "weights": WEIGHTS},
    ),
    Golden(
        "cross_entropy_loss",
        {"type": "cross_entropy_loss"},
        {"logits": Box((2, 3)), "labels": IntBox(3, shape=(2,)), "weights": WEIGHTS},
    ),
    Golden("nll_loss", {"type": "nll_loss"}, {"log_probs": Box((2,)), "weights": WEIGHTS}),
    Golden(
        "euclidean_loss",
        {"type": "euclidean_loss"},
        {**dict.fromkeys(["predictions", "targets"], Box((2, 2))), "weights": WEIGHTS},
    ),
    Golden(
        "l2_loss",
        {"type": "l2_loss", "weight": 0.5},
        {"variables": Dict(a=Box((3,), ranks=""), b=NUMBER)},
    ),
    Golden(
        "large_margin_loss",
        {"type": "large_margin_loss", "margin": 0.5},
        {"q": Box((2, 3)), "actions": IntBox(3, shape=(2,)), "weights": WEIGHTS},
    ),
    Golden(
        "gaussian_nll_loss",
        {"type": "gaussian_nll_loss"},
        {
            **dict.fromkeys(["mean", "targets"], Box((2,))),
            "stddev": FloatBox(0.5, 2.0, shape=(2,)),
            "weights": WEIGHTS,
        },
    ),
    Golden(
        "impala_loss",
        {"type": "impala_loss", "gamma": 0.9},
        {
            **episodes("TB"),
            **policies("TB"),
            "entropies": FloatBox(0.0, 1.0, ranks="TB"),
            "weights": WEIGHTS,
        },
    ),
]
