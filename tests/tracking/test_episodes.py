"""Promises of episode statistics: means over a window, and an exact resume."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from rlg.tracking import EpisodeStats, TrackingError


def test_nothing_is_known_before_an_episode_has_ended():
    stats = EpisodeStats()
    stats.add([], [])
    assert (stats.means(), stats.episodes) == ({}, 0)


def test_means_are_over_the_newest_episodes():
    stats = EpisodeStats(window=3)
    stats.add([100.0, 1.0], [50, 10])
    stats.add(np.array([2, 6], "float32"), np.array([20, 30], "int32"))
    assert stats.means() == {"rollout/ep_rew_mean": 3.0, "rollout/ep_len_mean": 20.0}
    stats.add(13.0, 70)
    assert stats.means() == {"rollout/ep_rew_mean": 7.0, "rollout/ep_len_mean": 40.0}
    assert stats.episodes == 5


def test_a_resumed_window_goes_on_exactly():
    rng = np.random.default_rng(0)
    whole, half = EpisodeStats(window=7), EpisodeStats(window=7)
    episodes = [(rng.standard_normal(n), rng.integers(1, 500, n)) for n in rng.integers(0, 4, 20)]
    for returns, lengths in episodes[:10]:
        whole.add(returns, lengths)
        half.add(returns, lengths)
    resumed = EpisodeStats(window=7)
    resumed.restore(json.loads(json.dumps(half.state())))
    for returns, lengths in episodes[10:]:
        whole.add(returns, lengths)
        resumed.add(returns, lengths)
        assert resumed.means() == whole.means()
    assert resumed.state() == whole.state()


def test_infinite_returns_are_no_error():
    stats = EpisodeStats()
    stats.add([math.inf, -math.inf], [1, 1])
    assert math.isnan(stats.means()["rollout/ep_rew_mean"])


def test_returns_and_lengths_must_match():
    with pytest.raises(TrackingError, match="2 returns and 1 lengths"):
        EpisodeStats().add([1, 2], [1])


def test_an_empty_window_is_refused():
    with pytest.raises(TrackingError, match="window=0"):
        EpisodeStats(window=0)
