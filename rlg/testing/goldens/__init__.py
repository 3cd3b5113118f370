"""One small instance of each component: a line here buys a component every cross-cutting test.

`tests/components/test_goldens.py` pushes each golden through the properties that all components
share: it builds, its outputs lie in the spaces that the build found, building writes nothing,
equal seeds give equal results, state saves and restores, backends and define-by-run agree,
gradients are finite, its spec makes it again.
"""

from rlg.testing.goldens.distributional import DISTRIBUTIONAL
from rlg.testing.goldens.golden import Golden
from rlg.testing.goldens.layers import LAYERS
from rlg.testing.goldens.losses import LOSSES
from rlg.testing.goldens.memories import MEMORIES
from rlg.testing.goldens.off_policy import OFF_POLICY
from rlg.testing.goldens.on_policy import ON_POLICY
from rlg.testing.goldens.optimizers import OPTIMIZERS
from rlg.testing.goldens.policies import POLICIES
from rlg.testing.goldens.preprocessing import PREPROCESSING
from rlg.testing.goldens.proof import PROOF
from rlg.testing.goldens.schedules import SCHEDULES

GOLDENS: list[Golden] = [
    *PROOF,
    *DISTRIBUTIONAL,
    *MEMORIES,
    *LAYERS,
    *PREPROCESSING,
    *POLICIES,
    *SCHEDULES,
    *LOSSES,
    *OPTIMIZERS,
    *ON_POLICY,
    *OFF_POLICY,
]

__all__ = ["GOLDENS", "Golden"]
