"""Real data for tests: the folder named by BIASATLAS_MIRROR, unpacked for one test session."""

import gzip
from pathlib import Path

from needs import MIRROR, need


def mirrored(folder: str, unpacked: Path, pattern: str = "**/*") -> dict[str, str]:
    """The files of ``folder`` in the mirror that match ``pattern``, as {upstream path: local path}.

    Files that the mirror holds as gzip are written to ``unpacked`` under their own name. Skips without a mirror.
    """
    need("mirror")
    root = MIRROR / folder
    files = {}
    for path in sorted(path for path in root.glob(pattern) if path.is_file()):
        name = path.relative_to(root)
        if path.suffix == ".gz":
            name = name.with_suffix("")
            target = unpacked / folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(gzip.decompress(path.read_bytes()))
            path = target
        files[name.as_posix()] = str(path)
    return files
