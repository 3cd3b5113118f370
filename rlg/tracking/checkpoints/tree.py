"""Trees of arrays and plain values: as JSON without the arrays, back again, and as a digest.

Everything comes back with the value and type it went in with. What JSON lacks is an object with
one key that starts with "$": arrays (kept elsewhere, by name), numpy scalars, tuples, floats that
aren't finite, long integers; dicts that have such a key themselves become a list of pairs.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.errors import CheckpointError

Array = NDArray[Any]
Path = tuple[str, ...]
Store = Callable[[Path, Array], Any]
LONG = 64  # bits; Python refuses to print integers of thousands of digits


def encode(value: Any, store: Store, path: Path = ()) -> Any:
    """JSON for a tree; `store` keeps an array and returns how to refer to it."""
    if isinstance(value, np.ndarray):
        return {"$array": store(path, _checked(value, path))}
    if isinstance(value, np.generic):
        array = _checked(np.asarray(value), path)
        return {"$scalar": [array.dtype.str, array.tobytes().hex()]}
    if isinstance(value, Mapping):
        return _encode_mapping(value, store, path)
    if type(value) in (list, tuple):
        items = [encode(inner, store, (*path, str(i))) for i, inner in enumerate(value)]
        return items if type(value) is list else {"$tuple": items}
    return _encode_plain(value, path)


def _encode_plain(value: Any, path: Path) -> Any:
    kind = type(value)
    if kind is float and not math.isfinite(value):
        return {"$float": str(value)}
    if kind is int and value.bit_length() > LONG:
        return {"$int": hex(value)}
    if kind not in (int, float, str, bool, NoneType):
        raise CheckpointError(
            f"checkpoint entry {_name(path)} is of type {kind.__module__}.{kind.__qualname__}. "
            "Give a numpy array, number, string, bool, None, or a list, tuple or dict of these."
        )
    return value


def _encode_mapping(value: Mapping[Any, Any], store: Store, path: Path) -> Any:
    for key in value:
        if type(key) is not str:
            raise CheckpointError(
                f"checkpoint entry {_name(path)} has the key {key!r}. Use strings as keys."
            )
    items = {key: encode(inner, store, (*path, key)) for key, inner in value.items()}
    if any(key.startswith("$") for key in items):
        return {"$dict": [list(pair) for pair in items.items()]}
    return items


def _checked(array: Array, path: Path) -> Array:
    dtype = array.dtype
    if isinstance(array, np.ma.MaskedArray) or np.dtype(dtype.str) != dtype or not dtype.itemsize:
        raise CheckpointError(
            f"checkpoint entry {_name(path)} is a {type(array).__name__} of dtype {dtype}, "
            "which has no plain bytes. Save its parts as ordinary arrays."
        )
    if dtype.hasobject:
        raise CheckpointError(
            f"checkpoint entry {_name(path)} is an array of Python objects. Save numbers or text."
        )
    return np.asarray(array)


def decode(value: Any, fetch: Callable[[Any], Any]) -> Any:
    """The tree of some JSON; `fetch` returns the array of a reference."""
    decoders: dict[str, Callable[[Any], Any]] = {
        "$array": fetch,
        "$scalar": _scalar,
        "$float": float,
        "$int": lambda text: int(text, 16),
        "$tuple": tuple,
        "$dict": dict,
    }

    def decoded(found: dict[str, Any]) -> Any:
        for key in found.keys() & decoders.keys():
            return decoders[key](found[key])
        return found

    return json.loads(json.dumps(value), object_hook=decoded)  # inner objects come first


def _scalar(content: list[str]) -> Any:
    dtype, data = content
    return np.frombuffer(bytes.fromhex(data), np.dtype(dtype))[0]


def digest(value: Any) -> str:
    """A sha256 of a tree's content, whatever the order of its keys and the layout of its arrays."""

    def described(_: Path, array: Array) -> list[Any]:
        return [array.dtype.str, list(array.shape), sha256(as_bytes(array).data)]

    return digest_of_json(encode(value, described))


def digest_of_encoded(encoded: Any, described: Callable[[Any], list[Any]]) -> str:
    """The digest of a tree by its JSON; `described` returns dtype, shape and sha256 of an array."""

    def resolved(found: dict[str, Any]) -> dict[str, Any]:
        return {"$array": described(found["$array"])} if "$array" in found else found

    return digest_of_json(json.loads(json.dumps(encoded), object_hook=resolved))


def digest_of_json(value: Any) -> str:
    """A sha256 of plain values, whatever the order of keys."""
    return sha256(json.dumps(value, sort_keys=True).encode())


def sha256(content: bytes | memoryview) -> str:
    return hashlib.sha256(content).hexdigest()


def as_bytes(array: Array) -> NDArray[np.uint8]:
    """The bytes of an array in C order; no copy if they lie so already."""
    return np.asarray(array, order="C").reshape(-1).view(np.uint8)


def first_difference(expected: Any, found: Any, path: Path = ()) -> str | None:
    """Names the first entry in which two trees differ and how; None if they are equal."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for key in sorted({*expected, *found}):
            if key not in found or key not in expected:
                return f"{_name((*path, key))} is {'missing' if key in expected else 'new'}"
            if line := first_difference(expected[key], found[key], (*path, key)):
                return line
        return None
    if digest(expected) == digest(found):
        return None
    return f"{_name(path)} is {_brief(found)} instead of {_brief(expected)}"


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}" + (f" = {value}" if value.ndim == 0 else "")
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _name(path: Path) -> str:
    return "/".join(path) or "at the top"
