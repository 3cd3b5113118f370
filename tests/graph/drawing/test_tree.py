"""The tree of text shows scopes, API methods, variables, devices and totals."""

from __future__ import annotations

from rlg.graph.drawing import text_tree


def test_the_tree_shows_scopes_apis_variables_and_totals(dqn):
    assert text_tree(dqn) == TREE


TREE = """\
dqn: DQN  act, observe, update, sync
├─ policy: Policy  q, act
│  ├─ network: Stack  call
│  │  ├─ dense-0: Dense  call
│  │  │     · kernel f32[4,64]  256 trainable
│  │  │     · bias f32[64]  64 trainable
│  │  └─ dense-1: Dense  call
│  │        · kernel f32[64,64]  4,096 trainable
│  │        · bias f32[64]  64 trainable
│  └─ head: Dense  call
│        · kernel f32[64,2]  128 trainable
│        · bias f32[2]  2 trainable
├─ memory: Memory  insert, sample
│     · actions i64[100]  100 state
│     · next_states f32[100,4]  400 state
│     · rewards f32[100]  100 state
│     · states f32[100,4]  400 state
│     · terminals bool[100]  100 state
│     · size i64  1 state
├─ target: Policy  q, act
│  ├─ network: Stack  call
│  │  ├─ dense-0: Dense  call
│  │  │     · kernel f32[4,64]  256 trainable
│  │  │     · bias f32[64]  64 trainable
│  │  └─ dense-1: Dense  call
│  │        · kernel f32[64,64]  4,096 trainable
│  │        · bias f32[64]  64 trainable
│  └─ head: Dense  call
│        · kernel f32[64,2]  128 trainable
│        · bias f32[2]  2 trainable
├─ loss: Loss  loss
└─ syncing: Sync  sync

14 components, 20 API calls
18 variables, 9,220 trainable parameters
"""


def test_the_tree_names_other_devices_and_counts_shared_variables_once(placed):
    assert text_tree(placed).splitlines() == [
        "placed: Placed  call, stay",
        "├─ first: Dense  call  on gpu:0  variables in common/layer",
        "├─ stack: Stack  call",
        "│  └─ dense-0: Dense  call  on gpu:0  variables in common/layer",
        "├─ away: Stack  call",
        "│  └─ dense-0: Dense  call  on gpu:1",
        "│        · kernel f32[4,4]  16 trainable  on gpu:1",
        "│        · bias f32[4]  4 trainable  on gpu:1",
        "└─ torn: Dense  call  on gpu:0",
        "      · kernel f32[4,3]  12 trainable",
        "      · bias f32[3]  3 trainable",
        "common/layer: shared scope",
        "   · kernel f32[4,4]  16 trainable  on gpu:0",
        "   · bias f32[4]  4 trainable  on gpu:0",
        "",
        "7 components, 9 API calls",
        "6 variables, 55 trainable parameters",
    ]


def test_a_depth_folds_what_is_below_and_counts_it(dqn):
    assert text_tree(dqn, depth=1).splitlines()[:3] == [
        "dqn: DQN  act, observe, update, sync",
        "├─ policy: Policy  q, act  [4 inside, 4,610 trainable parameters]",
        "├─ memory: Memory  insert, sample",
    ]
    assert text_tree(dqn, depth=0).splitlines() == [
        "dqn: DQN  act, observe, update, sync  [13 inside, 9,220 trainable parameters]",
        *text_tree(dqn).splitlines()[-3:],
    ]
    assert text_tree(dqn, depth=9) == text_tree(dqn)


def test_a_tree_of_one_api_method_counts_what_it_uses(dqn):
    assert text_tree(dqn, "act").splitlines() == [
        "dqn: DQN  act",
        "└─ policy: Policy  q, act",
        *(line.replace("│  ", "   ", 1) for line in TREE.splitlines()[2:12]),
        "",
        "6 components, 7 API calls",
        "6 variables, 4,610 trainable parameters",
    ]
