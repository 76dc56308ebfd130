"""Pin the dataset's bytes at the first download: nothing printed says what they are."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from biasatlas.benchmarks.mcbe.items import check_sizes, read_items
from biasatlas.errors import UserError
from biasatlas.files import write_text


def check(files: Mapping[str, str | Path], revision: str, lock: Path) -> list[str]:
    """Hold downloaded workbooks against the lock file; where there is none yet, check them and write it.

    ``files`` maps names in the dataset to paths on disk; ``revision`` is the hub's commit. The lock is JSON:
    ``revision``, ``files`` (name -> SHA-256), ``remarks`` (accepted differences from Table 6). Before it is written the
    workbooks are read and counted, so a broken download pins nothing. Returns the remarks. Raises :class:`UserError`
    where a file is missing, new or changed.
    """
    found = {name: hashlib.sha256(Path(path).read_bytes()).hexdigest() for name, path in sorted(files.items())}
    if not lock.exists():
        remarks = check_sizes(read_items(files))
        text = json.dumps({"revision": revision, "files": found, "remarks": remarks}, ensure_ascii=False, indent=2)
        write_text(text + "\n", lock)
        return remarks
    pinned = json.loads(lock.read_text(encoding="utf-8"))
    changed = sorted(name for name, _ in pinned["files"].items() ^ found.items())
    if changed:
        raise UserError(
            f"{changed[0]}: not the file that {lock} pins ({len(changed)} of {len(found)} differ; locked revision "
            f"{pinned['revision']}, downloaded {revision}). Set the locked revision; to measure on the new data "
            "knowingly, delete the lock file."
        )
    return pinned["remarks"]
