"""One job as the workflow runs it: job.py FOLDER NAME PROMPTS ENTRY [URL], prompts and entry as JSON.

URL is that of the object storage that holds the store.
"""

import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from api_server import requests_for

from biasatlas import ROOT
from biasatlas.files import write_responses
from biasatlas.models.endpoint import spending
from biasatlas.models.endpoint.answer import Endpoint
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.store import ResponseStore
from biasatlas.workflow.job import job

if TYPE_CHECKING:
    from biasatlas.models.objects import Objects


def run(folder: str, name: str, prompts: str, entry: str, url: str = "") -> None:
    """Answer ``prompts``; ``folder`` gets the store, log, output, limits and a line for each call that limits allow."""
    folder = Path(folder)
    os.environ["XDG_CACHE_HOME"] = str(folder)
    note_turns(folder / "turns")
    described = SimpleNamespace(
        log=[str(folder / f"{name}.log")], scriptdir=ROOT / "scripts", rule="job", wildcards={}, params={}, resources={}
    )
    with job(described):
        requests, stored = requests_for(json.loads(prompts)), folder / "store"
        store = ResponseStore(stored, on(url, stored) if url else None)
        frame, metadata = Endpoint(ApiEntry(**json.loads(entry))).answer(requests, "task", store)
        write_responses({"task": (frame, "generation", metadata)}, folder / f"{name}.parquet")


def note_turns(path: Path) -> None:
    """Have the limits write the time, by their own clock, of each call that they allow to the file ``path``."""
    looked, wait_s = [0.0], spending.Limits._wait_s

    def clock() -> float:
        looked[0] = time.time()
        return looked[0]

    def noted(limits: spending.Limits, tokens: float) -> float:
        left = wait_s(limits, tokens)
        if left == 0:
            with open(path, "a") as turns:
                turns.write(f"{looked[0]:.6f}\n")
        return left

    spending.time = SimpleNamespace(time=clock, sleep=time.sleep)
    spending.Limits._wait_s = noted


def on(url: str, folder: Path) -> "Objects":
    """The objects of a store; imports the package obstore here, since few of these jobs need it."""
    from biasatlas.models.objects import Objects

    return Objects.at(url, folder.parent, folder)


if __name__ == "__main__":
    run(*sys.argv[1:])
