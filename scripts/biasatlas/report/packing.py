"""Data that a page opened from disk can load. Such a page may fetch nothing, so a file is a classic script that hands
over its data.

A file calls ``atlas.put(key, value)``, where ``value`` is JSON. A column is ``[type, data]``: raw deflate in base64 of
float32 ("f", byte planes apart, 15 bits of mantissa), int32 ("i"), uint8 or uint16 ("b", "h"), or of a JSON list ("j");
or ``["c", labels, codes]``, a column of text as places in the list of its distinct values (missing: the last place +
1).
"""

import base64
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from biasatlas.files import write_text
from biasatlas.report.text import visible_column

#: A packed column.
Packed = list[Any]

#: Text with more distinct values than this share of its rows is not packed as a list of these.
_REPEATED = 0.7


def to_script(value: object) -> str:
    """``value`` as JSON that is safe in a script, whatever text is in it."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def put(folder: Path, key: str, value: object) -> None:
    """Write ``{folder}/{key}.js``, which hands ``value`` to the page."""
    write_text(f"atlas.put({to_script(key)},{to_script(value)});\n", folder / f"{key}.js")


def pack(frame: pd.DataFrame) -> dict[str, Packed]:
    """The columns of ``frame``, by name, each in the smallest type that holds it."""
    return {str(name): pack_column(frame[name]) for name in frame}


def pack_column(values: pd.Series) -> Packed:
    """One column: numbers as numbers, text made visible."""
    if pd.api.types.is_bool_dtype(values) and not values.hasnans:
        return pack_codes(values.to_numpy(int))
    if pd.api.types.is_float_dtype(values):
        return pack_floats(values.to_numpy(np.float32))
    if pd.api.types.is_integer_dtype(values):
        return ["i", _squeeze(values.to_numpy(np.int32).tobytes())]
    return pack_text(values)


def pack_text(values: pd.Series) -> Packed:
    """A column of text; a missing value is null (or the last place + 1)."""
    codes, labels = pd.factorize(values)
    shown = visible_column(pd.Series(labels.astype(object))).tolist()
    if len(labels) > _REPEATED * len(values) and len(labels) > 16:
        return pack_json([None if code < 0 else shown[code] for code in codes])
    return ["c", pack_json(shown), pack_codes(np.where(codes < 0, len(labels), codes))]


def pack_json(value: object) -> Packed:
    """Any value as JSON."""
    return ["j", _squeeze(_json(value))]


def pack_floats(values: np.ndarray) -> Packed:
    """Numbers to about five digits, as float32 whose last byte is 0 and whose bytes lie plane by plane."""
    values = np.ascontiguousarray(values, dtype="<f4")
    bits = values.view("<u4")
    rounded = np.where(np.isfinite(values), (bits + 0x80) & ~np.uint32(0xFF), bits)
    return ["f", _squeeze(np.ascontiguousarray(rounded.astype("<u4").view(np.uint8).reshape(-1, 4).T).tobytes())]


def pack_codes(codes: np.ndarray | Sequence[int]) -> Packed:
    """Whole numbers from 0 on, in one, two or four bytes each."""
    codes = np.asarray(codes)
    top = int(codes.max(initial=0))
    letter, dtype = ("b", "<u1") if top < 2**8 else ("h", "<u2") if top < 2**16 else ("i", "<i4")
    return [letter, _squeeze(codes.astype(dtype).tobytes())]


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _squeeze(data: bytes) -> str:
    compressor = zlib.compressobj(level=6, wbits=-15)
    return base64.b64encode(compressor.compress(data) + compressor.flush()).decode()
