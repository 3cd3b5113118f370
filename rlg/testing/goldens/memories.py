"""Goldens of memories and of what stands before them."""

from __future__ import annotations

from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing.goldens.golden import Golden

NUMBERS = FloatBox()
NESTED = Dict(a=Box((3,)), b=Dict(c=IntBox(5), d=BoolBox()))
STEPS = Dict(states=Box((2,)), terminals=BoolBox(), truncations=BoolBox())
IMAGES = Box((2, 3, 3), "uint8")
TRANSITIONS = Dict(
    states=IMAGES, actions=IntBox(4), rewards=NUMBERS, terminals=BoolBox(), next_states=IMAGES
)
# Single frames of 7 environments; places are taken modulo what is there.
ROWS = Dict(
    frames=Box((2, 3), "uint8"),
    env_ids=IntBox(7),
    positions=IntBox(2),
    before=IntBox(2),
    ages=IntBox(3),
).with_ranks("F")
PLACES = {"env_ids": IntBox(7), "positions": IntBox(2)}
STEPS_BETWEEN = {"actions": IntBox(4), "rewards": NUMBERS, "terminals": BoolBox(), **PLACES}
PRIORITIES = {
    "priorities": NUMBERS,
    "td_errors": NUMBERS,
    "keys": IntBox(4),
    "beta": FloatBox(0.0, 1.0, ranks=""),
}

MEMORIES: list[Golden] = [
    Golden(
        "priority_tree",
        {"type": "priority_tree", "buffer_size": 5},
        {
            "rows": IntBox(5),
            "priorities": FloatBox(0.1, 2.0),
            "prefixes": FloatBox(0.0, 1.0),
            "start": IntBox(5),
            "stop": IntBox(5),
            "chosen": BoolBox(),
        },
        [
            ("set", {}),
            ("set", {}),
            ("update", {}),
            ("draw", {"n": 4}),
            ("get", {}),
            ("find", {}),
            ("sum", {}),
            ("min", {}),
            ("total", {}),
            ("least", {}),
        ],
    ),
    Golden(
        "prioritized_replay",
        {"type": "prioritized_replay", "buffer_size": 5, "alpha": 0.7},
        {"records": NESTED, **PRIORITIES},
        [
            ("insert", {}),
            ("sample", {"n": 4}),
            ("update", {}),
            ("insert", {}),
            ("size", {}),
            ("sample", {"n": 3}),
        ],
    ),
    Golden(
        "demonstration_replay",
        {"type": "demonstration_replay", "buffer_size": 12, "alpha": 0.7},
        {"records": NESTED, **PRIORITIES},
        [
            ("demonstrate", {}),
            ("insert", {}),
            ("sample", {"n": 4}),
            ("update", {}),
            ("demonstrated", {}),
            ("insert", {}),
            ("size", {}),
            ("sample", {"n": 3}),
        ],
    ),
    Golden(
        "frame_replay",
        {"type": "frame_replay", "buffer_size": 56, "num_envs": 7, "alpha": 0.5},
        {
            "records": Dict({"rows": ROWS, **STEPS_BETWEEN, "spans": IntBox(1, 3)}),
            **PRIORITIES,
        },
        [
            *[("insert", {}) for _ in range(7)],
            ("sample", {"n": 4}),
            ("update", {}),
            ("size", {}),
            ("sample", {"n": 3}),
        ],
    ),
    Golden(
        "ring_buffer",
        {"type": "ring_buffer", "buffer_size": 8},
        {"records": STEPS},
        [
            ("insert", {}),
            ("insert", {}),
            ("size", {}),
            ("num_episodes", {}),
            ("get_records", {"n": 2}),
            ("get_episodes", {"n": 0}),
        ],
    ),
    Golden(
        "fifo_queue",
        {"type": "fifo_queue", "buffer_size": 16, "timeout": 5.0},
        {"records": NESTED},
        [("put", {}), ("put", {}), ("size", {}), ("get", {"n": 2}), ("size", {})],
    ),
    Golden(
        "n_step",
        {"type": "n_step", "n_step": 2, "gamma": 0.9},
        {
            "rewards": FloatBox(ranks="TB"),
            "terminals": BoolBox(ranks="TB"),
            "truncations": BoolBox(ranks="TB"),
        },
    ),
    Golden(
        "n_step_transitions",
        {"type": "n_step_transitions", "n_step": 2, "gamma": 0.9},
        {"records": Dict({**TRANSITIONS, "truncations": BoolBox()}).with_ranks("TB")},
    ),
    Golden(
        "one_and_n_step",
        {"type": "one_and_n_step", "n_step": 2, "gamma": 0.9},
        {"records": Dict({**TRANSITIONS, "truncations": BoolBox()}).with_ranks("TB")},
    ),
    Golden(
        "frame_transitions",
        {"type": "frame_transitions", "n_step": 1, "gamma": 0.9},
        {
            "records": Dict(
                rows=ROWS,
                steps=Dict({**STEPS_BETWEEN, "truncations": BoolBox()}).with_ranks("TB"),
            )
        },
    ),
    Golden(
        "first_priorities",
        {"type": "first_priorities", "n_step": 1, "gamma": 0.9},
        {
            "records": Dict(
                {**TRANSITIONS, "q_values": Box((4,)), "truncations": BoolBox()}
            ).with_ranks("TB")
        },
    ),
]
