"""Films of episodes: .mp4 by imageio's ffmpeg or else OpenCV, .gif by Pillow."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rlg.envs import VectorEnv
from rlg.errors import SpecError, TrackingError, pip_install
from rlg.tracking.files import writing

Frame = NDArray[np.uint8]  # RGB [height, width, 3]


class Video:
    """A file that grows frame by frame, and gets its name when it is complete."""

    def __init__(self, path: Path) -> None:
        if path.suffix not in WRITERS:
            known = " or ".join(WRITERS)
            raise SpecError(f"--video {path}: its name must end in {known}.")
        self.path = path
        self._part = path.with_name(f".{path.stem}.part{path.suffix}")
        self._writer: _Writer | None = None

    def add(self, env: VectorEnv, observations: Any) -> None:
        """Films what the environment shows now."""
        frame = env.picture(observations)
        height, width = frame.shape[0] // 2 * 2, frame.shape[1] // 2 * 2  # as codecs want it
        if self._writer is None:
            with writing(self.path, "--video"):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._part.touch()
            self._writer = WRITERS[self.path.suffix](self._part, env.fps, (width, height))
        self._writer.write(np.ascontiguousarray(frame[:height, :width]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._writer is not None:
            self._writer.close()
            if error is None:
                self._part.replace(self.path)
        with suppress(OSError):  # its folder may be none
            self._part.unlink()


class _Writer(NamedTuple):
    write: Callable[[Frame], Any]
    close: Callable[[], Any]


def _mp4(path: Path, fps: float, size: tuple[int, int]) -> _Writer:
    """H.264, which browsers play too, or MPEG-4 part 2: OpenCV's wheels can't encode the first."""
    if find_spec("imageio") is not None and find_spec("imageio_ffmpeg") is not None:
        film: Any = import_module("imageio").get_writer(path, fps=fps, macro_block_size=2)
        return _Writer(film.append_data, film.close)
    import cv2

    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), fps, size)
    if not writer.isOpened():
        raise TrackingError(
            f"--video {path.name}: OpenCV has no codec for it. Install one with "
            f"{pip_install('video')}, or write a .gif."
        )
    return _Writer(lambda frame: writer.write(frame[:, :, ::-1]), writer.release)  # BGR


def _gif(path: Path, fps: float, size: tuple[int, int]) -> _Writer:
    from PIL import Image

    frames: list[Any] = []
    pause = max(20, round(1000 / fps))  # milliseconds; players take less for none at all

    def close() -> None:
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=pause, loop=0)

    return _Writer(lambda frame: frames.append(Image.fromarray(frame).quantize(64)), close)


WRITERS: dict[str, Callable[[Path, float, tuple[int, int]], _Writer]] = {
    ".mp4": _mp4,
    ".gif": _gif,
}
