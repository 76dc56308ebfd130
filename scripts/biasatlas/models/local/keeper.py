"""Run a server for as long as its job lives: keeper.py LOG COMMAND..., with input from a pipe that only the job holds.

The kernel closes the pipe however the job dies, even by ``kill -9``. The keeper then ends the server and all that it
started, and exits with the server's status.
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
    """Run ``command`` until it or standard input ends; return its exit status."""
    signal.signal(signal.SIGTERM, lambda *_: None)  # the pipe ends with the job
    with open(log, "ab") as said:
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
    while server.poll() is None and not select.select([sys.stdin], [], [], 0.1)[0]:
        pass
    with contextlib.suppress(ProcessLookupError, PermissionError):  # no process is left, or, on macOS, only dead ones
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
