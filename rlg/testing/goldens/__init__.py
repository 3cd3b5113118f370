"""One small instance of each component: a line here buys a component every cross-cutting test.

`tests/components/test_goldens.py` pushes each golden through the properties that all components
share: it builds, its outputs lie in the spaces that the build found, building writes nothing,
equal seeds give equal results, state saves and restores, backends and define-by-run agree,
gradients are finite, its spec makes it again.
"""

from rlg.testing.goldens.golden import Golden
from rlg.testing.goldens.proof import PROOF

GOLDENS: list[Golden] = [
    *PROOF,
]

__all__ = ["GOLDENS", "Golden"]
