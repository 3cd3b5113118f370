"""Layer 2, the component graph: spaces, the core that assembles and builds, and the components.

Why no framework is imported here: an algorithm is written once, against the operations contract;
which backend runs it is decided in layer 3.
"""

from rlg.graph.core.component.component import Component
from rlg.graph.core.component.methods import Size, Static, api, graph_fn, host_fn
from rlg.graph.core.component.ops import Tensor, Variable

__all__ = ["Component", "Size", "Static", "Tensor", "Variable", "api", "graph_fn", "host_fn"]
