"""Pictures of learning curves as SVG, HTML and PNG, drawn from one list of shapes.

Why an own small writer: a picture of lines and bands needs no plotting library, and this way it is
the same in all three formats, follows the reader's light or dark theme, and is one file.
"""

from rlg.tracking.chart.html import to_html
from rlg.tracking.chart.layout import Chart, draw
from rlg.tracking.chart.png import to_png
from rlg.tracking.chart.svg import to_svg

__all__ = ["Chart", "draw", "to_html", "to_png", "to_svg"]
