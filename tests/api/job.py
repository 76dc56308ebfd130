"""One job as the workflow runs it: job.py FOLDER NAME PROMPTS ENTRY, the last two as JSON."""

import json
import sys
import tempfile
from pathlib import Path

from api_server import requests_for

from biasatlas.files import write_responses
from biasatlas.models.endpoint import api
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.store import ResponseStore
from biasatlas.workflow.job import logged


def run(folder: str, name: str, prompts: str, entry: str) -> None:
    """Answer ``prompts``: store, log, output and the machine's limits are in ``folder``."""
    folder = Path(folder)
    tempfile.tempdir = str(folder)
    with logged(str(folder / f"{name}.log")):
        requests, store = requests_for(json.loads(prompts)), ResponseStore(folder / "store")
        frame, metadata = api.answer(requests, ApiEntry(**json.loads(entry)), store=store, readers={})
        write_responses(frame, folder / f"{name}.parquet", "generation", metadata)


if __name__ == "__main__":
    run(*sys.argv[1:])
