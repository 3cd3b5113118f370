"""What people look at: progress while a run is under way, readable numbers, and plots.

Why apart from `tracking`: what a run leaves behind must be readable by processes that draw
nothing. rich and matplotlib are imported only when something is drawn.
"""

from rlg.display.figures import Figures, Title
from rlg.display.progress import PlainProgress, Progress, make_progress

__all__ = ["Figures", "PlainProgress", "Progress", "Title", "make_progress"]
