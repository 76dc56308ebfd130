"""Snakemake in a process, and a process group, of its own."""

import os
import sys
from collections.abc import Mapping
from multiprocessing.reduction import DupFd
from pathlib import Path


def run(command: list[str], output: DupFd, env: Mapping[str, str], folder: Path) -> None:
    """What ``command`` does in ``folder`` with the environment ``env``; what it prints goes to the file ``output``."""
    from snakemake import cli  # here, since the process that only starts this one needs none of it

    os.setpgrp()  # so that it can be killed with its jobs
    descriptor = output.detach()
    os.dup2(descriptor, sys.stdout.fileno())
    os.dup2(descriptor, sys.stderr.fileno())
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    sys.argv = command
    cli.main(command[1:])
