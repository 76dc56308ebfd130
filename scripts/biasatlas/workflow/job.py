"""What every script of the workflow does around its one call: a log, and errors for people."""

import contextlib
import errno
import gc
import logging
import os
import shutil
import sys
import traceback
from collections.abc import Iterator

from biasatlas.errors import UserError

_DISK = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the disk quota is used up"}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}


def explain(error: BaseException) -> str | None:
    """One message for a person if ``error`` is the user's to mend (bad input, a full or read-only disk), else None."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError) and error.errno in _DISK:
        folder = os.path.dirname(os.path.abspath(error.filename or "."))
        free = shutil.disk_usage(folder if os.path.isdir(folder) else ".").free / 2**20
        return f"{error.filename or folder}: {_DISK[error.errno]} ({free:.0f} MiB free). Free some space and run again."
    if isinstance(error, OSError) and error.errno in _DENIED:
        return f"{error.filename}: may not be written. Make the folder writable, or set another in the configuration."
    return None


@contextlib.contextmanager
def logged(log: str) -> Iterator[None]:
    """Log to the file ``log`` inside the block. A user's error becomes one message there and exit status 1.

    Garbage is looked for rarely, and not at all when the process ends: a job that imports torch spent two seconds on
    looking through what it had imported.
    """
    gc.set_threshold(100_000)
    os.makedirs(os.path.dirname(log) or ".", exist_ok=True)
    logging.basicConfig(
        filename=log, filemode="w", level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", force=True
    )
    logging.captureWarnings(True)
    try:
        yield
    except Exception as error:
        message = explain(error)
        logging.error(message or traceback.format_exc())
        print(f"error: {message}" if message else traceback.format_exc(), file=sys.stderr)
        sys.exit(1)
    finally:
        gc.freeze()
