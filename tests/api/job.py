"""One job as the workflow runs it: job.py FOLDER NAME PROMPTS ENTRY, the last two as JSON."""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

from api_server import requests_for

from biasatlas import ROOT
from biasatlas.files import write_responses
from biasatlas.models.endpoint.answer import Endpoint
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.store import ResponseStore
from biasatlas.workflow.job import job


def run(folder: str, name: str, prompts: str, entry: str) -> None:
    """Answer ``prompts``: store, log, output and the machine's limits are in ``folder``."""
    folder = Path(folder)
    os.environ["XDG_CACHE_HOME"] = str(folder)
    described = SimpleNamespace(
        log=[str(folder / f"{name}.log")], scriptdir=ROOT / "scripts", rule="job", wildcards={}, params={}, resources={}
    )
    with job(described):
        requests, store = requests_for(json.loads(prompts)), ResponseStore(folder / "store")
        frame, metadata = Endpoint(ApiEntry(**json.loads(entry))).answer(requests, "task", store)
        write_responses({"task": (frame, "generation", metadata)}, folder / f"{name}.parquet")


if __name__ == "__main__":
    run(*sys.argv[1:])
