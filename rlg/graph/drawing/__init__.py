"""Drawings of a built graph: a text tree, Graphviz source, an SVG, and a page that folds.

All show one `Picture`: components in nested scopes with their variables, and an arrow for each
distinct API call. `flows` adds which values go from where to where. Equal graphs give equal bytes,
and nothing here needs another program.
"""

from rlg.graph.drawing.dot import to_dot
from rlg.graph.drawing.html import to_html
from rlg.graph.drawing.svg import to_svg
from rlg.graph.drawing.tree import text_tree

__all__ = ["text_tree", "to_dot", "to_html", "to_svg"]
