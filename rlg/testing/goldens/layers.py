"""Goldens of layers and networks beyond those of a dueling DQN."""

from __future__ import annotations

from rlg.graph.spaces import BoolBox, Box, Dict, IntBox, Tuple
from rlg.testing.goldens.golden import Golden

FEATURES = Box((3,))
SEQUENCE = Box((3,), ranks="TB")
DENSE = {"type": "dense", "units": 3, "activation": "tanh"}
LSTM_STATES = Dict(c=Box((2,)), h=Box((2,)))
SIGHT = Tuple(Box((36, 36, 1), "uint8"), Dict(kind=IntBox(3), speed=FEATURES))

LAYERS: list[Golden] = [
    Golden(
        "lstm_layer",
        {"type": "lstm_layer", "units": 2, "forget_bias": 0.5},
        {"inputs": SEQUENCE, "states": LSTM_STATES, "resets": BoolBox(ranks="TB")},
    ),
    Golden(
        "lstm_layer-step",
        {"type": "lstm_layer", "units": 2},
        {"inputs": FEATURES, "states": LSTM_STATES, "resets": BoolBox()},
    ),
    Golden(
        "gru_layer",
        {"type": "gru_layer", "units": 2},
        {"inputs": Box((3,), ranks="BT"), "states": Box((2,)), "resets": BoolBox(ranks="BT")},
    ),
    Golden(
        "lstm",
        {"type": "lstm", "network": {"type": "mlp", "units": [4]}, "units": 2},
        {"inputs": SEQUENCE, "states": LSTM_STATES, "resets": BoolBox(ranks="TB")},
    ),
    Golden(
        "gru",
        {"type": "gru", "units": 2},
        {"inputs": FEATURES, "states": Box((2,)), "resets": BoolBox()},
    ),
    Golden(
        "max_pool2d",
        {"type": "max_pool2d", "pool_size": [3, 2], "stride": 2, "padding": "same"},
        {"inputs": Box((5, 4, 2))},
    ),
    Golden(
        "conv2d_transpose",
        {"type": "conv2d_transpose", "filters": 2, "kernel_size": [3, 2], "stride": [2, 1]},
        {"inputs": Box((2, 3, 3))},
    ),
    Golden(
        "conv2d_transpose-same",
        {
            "type": "conv2d_transpose",
            "filters": 2,
            "kernel_size": [4, 1],
            "stride": 2,
            "padding": "same",
        },
        {"inputs": Box((2, 3, 1), ranks="BT")},
    ),
    Golden("layer_norm", {"type": "layer_norm"}, {"inputs": SEQUENCE}),
    Golden("mlp-norm", {"type": "mlp", "units": [4, 2], "layer_norm": True}, {"inputs": SEQUENCE}),
    Golden(
        "local_response_norm",
        {"type": "local_response_norm", "depth_radius": 1, "beta": 0.75},
        {"inputs": Box((2, 2, 4))},
    ),
    Golden("residual", {"type": "residual", "layers": [DENSE, DENSE]}, {"inputs": FEATURES}),
    Golden(
        "concat", {"type": "concat"}, {"inputs": Dict(a=FEATURES, b=Tuple(Box((2,)), FEATURES))}
    ),
    Golden(
        "vectors",
        {"type": "vectors"},
        {
            "inputs": Dict(
                bits=IntBox(2, shape=(2,), dtype="int8"),
                kind=IntBox(4),
                kinds=IntBox([2, 3], shape=(2,)),
                pixels=Box((2, 2), "uint8"),
                speed=FEATURES,
            )
        },
    ),
    Golden(
        "auto",
        {"type": "auto", "observation_space": SIGHT.to_spec(), "units": [4], "features_dim": 6},
        {"inputs": SIGHT},
    ),
    Golden(
        "auto-categories",
        {"type": "auto", "observation_space": IntBox(5).to_spec(), "units": [4]},
        {"inputs": IntBox(5, ranks="BT")},
    ),
    Golden("embedding", {"type": "embedding", "embedding_dim": 2}, {"inputs": IntBox(5)}),
    Golden(
        "repeater_stack",
        {"type": "repeater_stack", "layers": [DENSE], "repeats": 3},
        {"inputs": FEATURES},
    ),
    Golden(
        "repeater_stack-shared",
        {"type": "repeater_stack", "layers": [DENSE], "repeats": 2, "shared": True},
        {"inputs": FEATURES},
    ),
    Golden(
        "multi_input",
        {
            "type": "multi_input",
            "networks": {
                "image": {"type": "stack", "layers": ["scale", "flatten"]},
                "speed": {"type": "mlp", "units": [2]},
            },
            "trunk": {"type": "mlp", "units": [2]},
        },
        {"inputs": Dict(image=Box((2, 2, 1), "uint8"), speed=FEATURES)},
    ),
    Golden(
        "impala_small",
        {"type": "impala_small", "features_dim": 4},
        {"inputs": Box((20, 20, 1), "uint8")},
    ),
    Golden(
        "impala_large",
        {"type": "impala_large", "features_dim": 4, "filters": [2]},
        {"inputs": Box((5, 4, 1), "uint8")},
    ),
    Golden(
        "variational_autoencoder",
        {
            "type": "variational_autoencoder",
            "latent": 2,
            "encoder": {"type": "mlp", "units": [4], "activation": "tanh"},
            "decoder": {"type": "mlp", "units": [4], "activation": "tanh"},
        },
        {"inputs": Box((3,)), "code": Box((2,))},
    ),
]
