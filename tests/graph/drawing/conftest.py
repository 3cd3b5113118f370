"""Two built graphs: one on one device, one on three."""

from __future__ import annotations

import pytest

from rlg.graph.core.build.builder import Builder
from tests.graph.drawing.parts import build_dqn, build_placed


@pytest.fixture(scope="session")
def dqn() -> Builder:
    return build_dqn()


@pytest.fixture(scope="session")
def placed() -> Builder:
    return build_placed()
