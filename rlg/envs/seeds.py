"""Seeds of episodes: hashed, so that neighbouring root seeds share no episode."""

from __future__ import annotations

import hashlib


def episode_seed(seed: int, env: int, episode: int) -> int:
    """The seed of one episode of one environment, below 2**31: what ALE takes."""
    text = f"{seed}/{env}/{episode}".encode()
    digest = hashlib.blake2b(text, digest_size=4, person=b"rlg.episode").digest()
    return int.from_bytes(digest, "little") >> 1
