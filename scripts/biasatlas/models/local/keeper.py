"""Keeps a server for as long as its job lives: keeper.py LOG COMMAND..., with a pipe that the job alone holds as input.

The kernel closes the pipe at any death of the job, ``kill -9`` too; the keeper then ends the server and all that it
started. It ends with the server's exit status.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time

#: Seconds between SIGTERM and SIGKILL.
_GRACE_S = 2.0


def keep(log: str, command: list[str]) -> int:
    """Run ``command`` until it ends, or standard input does; its exit status."""
    signal.signal(signal.SIGTERM, lambda *_: None)  # what ends the job ends the pipe, too
    with open(log, "ab") as said:
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
    while server.poll() is None and not select.select([sys.stdin], [], [], 0.1)[0]:
        pass
    with contextlib.suppress(ProcessLookupError, PermissionError):  # none is left, or, on macOS, none but the dead
        os.killpg(server.pid, signal.SIGTERM)
        until = time.monotonic() + _GRACE_S
        while time.monotonic() < until:
            server.poll()
            os.killpg(server.pid, 0)
            time.sleep(0.05)
        os.killpg(server.pid, signal.SIGKILL)
    return server.wait()


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1], sys.argv[2:]))
