"""The recall task: what is seen, when it is asked, and what is earned."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.envs.builtin.recall import Recall


@pytest.mark.parametrize("seed", range(4))
def test_a_cue_is_shown_once_and_asked_for_after_the_delay(seed):
    env = Recall(num_cues=3, delay=2)
    first, _ = env.reset(seed=seed)
    cue = int(first.argmax())
    assert first.tolist() == [float(i == cue) for i in range(3)] + [0.0]
    seen = []
    for _ in range(3):
        observation, reward, terminated, truncated, _ = env.step(cue)
        seen.append(observation.tolist())
        assert (reward, terminated, truncated) == (0.0, False, False)
    assert seen == [[0.0] * 4, [0.0] * 4, [0.0, 0.0, 0.0, 1.0]]
    _, reward, terminated, _, _ = env.step(cue)
    assert (reward, terminated) == (1.0, True)


def test_another_answer_earns_nothing():
    env = Recall(num_cues=2, delay=0)
    first, _ = env.reset(seed=1)
    env.step(0)
    assert env.step(1 - int(first.argmax()))[1:3] == (0.0, True)


def test_cues_differ_between_episodes():
    env = Recall(num_cues=4)
    env.reset(seed=0)
    cues = [int(env.reset()[0].argmax()) for _ in range(200)]
    assert np.bincount(cues, minlength=4).min() > 30


def test_sizes_that_make_no_task_are_refused():
    with pytest.raises(ValueError, match="num_cues is 1"):
        Recall(num_cues=1)
