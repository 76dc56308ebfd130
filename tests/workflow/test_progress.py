"""What a terminal shows of a job under way, and what is left when one is interrupted."""

import contextlib
import html
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from api_server import MODEL, Server
from conftest import ROOT, snakemake

from biasatlas import progress
from biasatlas.progress import AtMostEvery, Progress
from biasatlas.workflow.failures import KILLED

TARGET = "results/responses/endpoint/crows_pairs/recommended.parquet"
NAME = "[answer_requests endpoint crows_pairs recommended"


@pytest.fixture
def config(tmp_path):
    """Writes a configuration of one endpoint that is asked 168 questions, one at a time."""

    def write(url):
        entry = {"kind": "api", "base_url": url, "model": MODEL, "concurrency": 1, "price_output_per_million": 100}
        path = tmp_path / "config.json"
        benchmarks = {"crows_pairs": {"data": "sample"}}
        path.write_text(json.dumps({"models": {"endpoint": entry}, "benchmarks": benchmarks}))
        return str(path)

    return write


def stored(folder):
    """Answers in the run's store."""
    return sum(path.read_text().count("\n") for path in folder.glob("results/**/store/**/*.jsonl"))


def _snakemake(configfile, folder):
    """Snakemake itself, whose terminal tells it and its jobs of a signal."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder)]
    command += ["--cores", "2", "--profile", "none", "--workflow-profile", str(ROOT / "profiles/default")]
    return [*command, TARGET, "--configfile", configfile], os.killpg


def _verb(configfile, folder):
    """The verb, which alone is told of a signal."""
    command = [sys.executable, "-m", "biasatlas", "run", configfile, "--directory", str(folder), "--cores", "2"]
    return [*command, "--profile", "none", "--", TARGET], os.kill


@pytest.mark.parametrize(
    ("started", "sent"),
    [
        (_snakemake, signal.SIGTERM),
        (_verb, signal.SIGINT),
        (_verb, signal.SIGHUP),
    ],
)
def test_an_interruption_is_one_line_and_the_next_run_says_how_far_it_is(tmp_path, config, started, sent):
    with Server(delay_s=0.12) as server:
        command, tell = started(config(server.url), tmp_path)
        run = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            # Tests may run under nohup or in a script's background, whose children ignore SIGHUP or SIGINT.
            preexec_fn=lambda: signal.signal(sent, signal.SIG_DFL),
        )
        while stored(tmp_path) < 5 and run.poll() is None:
            time.sleep(0.1)
        tell(run.pid, sent)
        said = run.communicate()[0]
        assert (run.returncode == 128 + sent) if started is _verb else run.returncode, said
        assert f"{NAME}] interrupted; stored answers are kept" in said
        assert "Traceback" not in said
        assert "going on with" not in said
        again = snakemake(TARGET, "--configfile", config(server.url), folder=tmp_path)
    assert again.returncode == 0, again.stdout
    # At most the one in flight is asked again.
    assert sum(map(len, server.answered.values())) <= 168 + 1
    lines = re.findall(rf"^{re.escape(NAME)} pair_choice\] .*$", again.stdout, flags=re.MULTILINE)
    assert 1 <= len(lines) <= 2, again.stdout
    assert re.search(r"\d+ of \d+ answers, [\d.]+ a second, 0:00:\d\d left, 0 failed, 0\.\d{4} USD$", lines[0])


def answering(folder):
    """Processes of jobs that answer requests there."""
    script = rf"{folder}/.snakemake/scripts/\S*answer_requests\.py\0$"
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            if re.search(script, place.read_text(errors="replace")):
                found.append(int(place.parent.name))
    return found


def test_a_job_that_is_killed_says_so_in_one_line_and_on_the_page(tmp_path, config):
    with Server(delay_s=0.12) as server:
        path = config(server.url)
        written = json.loads((tmp_path / "config.json").read_text())
        written["models"]["known"] = {"kind": "simulated"}
        (tmp_path / "config.json").write_text(json.dumps(written))
        command = [sys.executable, "-m", "biasatlas", "run", path, "--directory", str(tmp_path), "--cores", "2"]
        run = subprocess.Popen(
            [*command, "--profile", "none"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        jobs: list[int] = []
        # The other model's job ends by itself.
        while (stored(tmp_path) < 5 or len(jobs) != 1) and run.poll() is None:
            time.sleep(0.1)
            jobs = answering(tmp_path)
        os.kill(jobs[0], signal.SIGKILL)
        said = run.communicate()[0]
    assert run.returncode != 0
    log = "results/logs/answer_requests/endpoint-crows_pairs-recommended.log"
    assert f"error: answer_requests endpoint crows_pairs recommended: {KILLED} (log: {log})\n" in said
    assert said.count(log) == 1 and "Traceback" not in said and "Exiting because" not in said
    assert f"model endpoint in crows_pairs (recommended) pair_choice: {KILLED}" in html.unescape(
        (tmp_path / "results/report/index.html").read_text()
    )


def test_progress_of_parts_is_that_of_the_whole(monkeypatch, caplog):
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    caplog.set_level(logging.INFO)
    whole = Progress("requests", 200)
    with whole.part(100):
        rounds = Progress("questions", 10)
        rounds.advance(2.5)
        rounds.reach(1)  # what was estimated too high does not go back
    assert [record.getMessage().partition(",")[0] for record in caplog.records] == [
        "25 of 200 requests",
        "25 of 200 requests",
        "100 of 200 requests",
    ]
    with pytest.raises(RuntimeError), whole.part(100):
        raise RuntimeError
    assert whole.done == 100


def test_where_nobody_watches_it_is_a_line_a_minute():
    once = AtMostEvery(60)
    record = logging.makeLogRecord({"created": 1000.0})
    assert once.filter(record)
    record.created += 59
    assert not once.filter(record)
    record.created += 1
    assert once.filter(record)
