"""What holds over whole jobs: faults at any concurrency, kills, limits that jobs share, and a key that goes nowhere.

No test takes the clock of this machine for that of an endpoint: when it is busy, calls arrive late and in heaps.
"""

import bisect
import json
import logging
import os
import random
import subprocess
import sys
import time

import job
import pytest
from api_server import FAULTS, MODEL, QUICK_FAULTS, Server, requests_for, said
from conftest import fork

from biasatlas.models.endpoint import transport
from biasatlas.models.endpoint.answer import Endpoint
from biasatlas.models.endpoint.calls import call_of
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.store import ResponseStore


def start(folder, url, prompts, name="job", **settings):
    """Start a job in a process of its own."""
    entry = {"kind": "api", "base_url": url, "model": MODEL} | settings
    return fork(job.run, str(folder), name, json.dumps(prompts), json.dumps(entry))


def finish(process):
    process.join()
    return process.exitcode


@pytest.mark.parametrize(("concurrency", "timeout_s"), [(1, 1.5), (64, 6)])
def test_500_requests_at_20_per_cent_faults(tmp_path, monkeypatch, caplog, concurrency, timeout_s):
    """None lost, and none answered twice but those that this machine was too busy to be answered in time.

    bench/api.py does the same at every concurrency from 1 to 64.
    """
    caplog.set_level(logging.DEBUG, "biasatlas.models.endpoint.send")
    monkeypatch.setattr(transport, "BACKOFF_S", 0.01)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    prompts = [f"prompt {index}" for index in range(500)]
    with Server(faults=0.2, kinds=(*QUICK_FAULTS * 2, *FAULTS), retry_after="0.02", seed=concurrency) as server:
        entry = ApiEntry(kind="api", base_url=server.url, model=MODEL, concurrency=concurrency, timeout_s=timeout_s)
        frame, _ = Endpoint(entry).answer(requests_for(prompts), "task", ResponseStore(tmp_path / "store"))
    assert len(server.met) >= 9
    assert list(frame["text"]) == [said(prompt) for prompt in prompts]
    assert sorted(server.answered) == sorted(prompts)
    given_up = sum("no whole reply within" in message for message in caplog.messages)
    late = given_up - server.met["silent"] - server.met["drip"]
    assert sum(map(len, server.answered.values())) - len(prompts) <= late


def most_in_a_second(folder):
    """How many calls the jobs in ``folder`` let go within a second at most, by the clock that their limits go by."""
    turns = sorted(map(float, (folder / "turns").read_text().split()))
    return max(bisect.bisect_left(turns, turn + 1) - place for place, turn in enumerate(turns))


def test_below_a_cap_of_50_a_second(tmp_path):
    """With the endpoint's own limit in the entry no call is sent that would go beyond it, and each takes a turn."""
    with Server() as server:
        prompts = [f"{index}" for index in range(200)]
        assert finish(start(tmp_path, server.url, prompts, concurrency=32, requests_per_minute=3000)) == 0
    assert most_in_a_second(tmp_path) <= 50
    assert len((tmp_path / "turns").read_text().split()) == len(server.arrivals) + server.calls["capability_check"]
    assert len(server.arrivals) == 200


def test_20_kills_lose_nothing(tmp_path):
    """What the store holds is never asked again; a kill costs at most what is in flight. The file is a quiet run's."""
    prompts = [f"prompt {index}" for index in range(500)]
    generator = random.Random(0)
    with Server(delay_s=0.1) as server:
        entry = ApiEntry(kind="api", base_url=server.url, model=MODEL)
        rows = requests_for(prompts).to_dict("records")
        names = {call_of(row, entry).name: prompt for row, prompt in zip(rows, prompts, strict=True)}
        kept, on_their_way = {}, 0  # how often each prompt in the store had been answered at the last kill
        for _ in range(20):
            before = len(server.bodies)
            process = start(tmp_path, server.url, prompts, concurrency=4)
            while len(server.bodies) == before:
                time.sleep(0.005)
            time.sleep(generator.uniform(0, 0.3))
            assert process.is_alive()
            killed = time.monotonic()
            process.kill()
            process.join()
            answered = {prompt: len(times) for prompt, times in server.answered.items()}
            assert kept.items() <= answered.items()
            kept = {names[name]: answered[names[name]] for name in ResponseStore(tmp_path / "store").get(names)}
            gone = [times for prompt, times in server.answered.items() if prompt not in kept]
            on_their_way += sum(killed - 1 < times[-1] < killed for times in gone)
        assert finish(start(tmp_path, server.url, prompts, concurrency=64)) == 0
        assert all(len(server.answered[prompt]) == count for prompt, count in kept.items())
        print(f"{on_their_way} of {len(prompts)} answers were on their way at one of 20 kills")
        (tmp_path / "quiet").mkdir()
        assert finish(start(tmp_path / "quiet", server.url, prompts, concurrency=64)) == 0
    assert (tmp_path / "job.parquet").read_bytes() == (tmp_path / "quiet/job.parquet").read_bytes()


def test_a_job_that_is_told_to_stop_keeps_what_is_in_flight(tmp_path):
    with Server(delay_s=0.5) as server:
        process = start(tmp_path, server.url, [f"{index}" for index in range(200)], concurrency=32)
        while server.in_flight < 30:
            time.sleep(0.01)
        process.terminate()
        assert finish(process) == 130
        store = ResponseStore(tmp_path / "store")
        store.refresh()
        assert 30 <= len(list(store.values())) == len(server.answered) < 200


def test_four_jobs_keep_one_limit_together(tmp_path):
    """30 requests a second and three in flight, over all of them."""
    with Server(delay_s=0.02) as server:
        jobs = [
            start(
                tmp_path,
                server.url,
                [f"{index} {number}" for number in range(30)],
                name=f"job-{index}",
                concurrency=3,
                requests_per_minute=1800,
            )
            for index in range(4)
        ]
        assert [finish(process) for process in jobs] == [0] * 4
    assert server.most_in_flight <= 3
    assert most_in_a_second(tmp_path) <= 30
    assert len((tmp_path / "turns").read_text().split()) == len(server.arrivals) + server.calls["capability_check"]
    assert len(server.arrivals) == len(server.answered) == 120


@pytest.mark.parametrize(("right", "returncode"), [(True, 0), (False, 1)])
def test_a_key_reaches_no_file_log_error_or_command_line(tmp_path, monkeypatch, right, returncode):
    """Not when all goes well, and not when the endpoint repeats it in its error."""
    canary = "sk-canary-5f3a9e71c0de"
    monkeypatch.setenv("ATLAS_CANARY_KEY", canary)
    monkeypatch.setenv("OPENAI_LOG", "debug")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    with Server(key=canary if right else "another", delay_s=0.2) as server:
        entry = {
            "kind": "api",
            "base_url": server.url,
            "model": MODEL,
            "key_env": "ATLAS_CANARY_KEY",
            "max_failed_share": 0.5,
        }
        process = subprocess.Popen(
            [sys.executable, job.__file__, tmp_path, "job", '["one", "INVALID"]', json.dumps(entry)],
            stderr=subprocess.PIPE,
            text=True,
        )
        command_lines = []
        while process.poll() is None:
            command_lines.append(subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True).stdout)
            time.sleep(0.1)
        errors = process.stderr.read()
    assert process.returncode == returncode
    assert "ATLAS_CANARY_KEY" in (errors or command_lines[0])
    searched = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".log" for path in searched)
    for text in (errors, *command_lines):
        assert canary not in text
    for path in searched:
        assert canary.encode() not in path.read_bytes(), path
