"""Who asks what: a call has one claimant, whatever becomes of it; a store is repaired by nobody else's side."""

import subprocess
import sys
import threading

import pytest
from api_server import MODEL, Server, requests_for
from conftest import ROOT, python

from biasatlas.errors import UserError
from biasatlas.models.claims import Journal, alone
from biasatlas.models.endpoint.answer import Endpoint
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.store import ResponseStore, key

NAMES = [key({}, {"n": number}, 0) for number in range(3)]


@pytest.fixture(autouse=True)
def own_limits(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("ssl.SSLContext.load_verify_locations", lambda *_: None)  # slow, and nothing here is encrypted


def test_a_call_has_one_claimant(tmp_path):
    one, other = Journal(tmp_path), Journal(tmp_path)
    assert one.claim(NAMES[0])
    assert one.claim(NAMES[0])  # twice by the same
    assert not other.claim(NAMES[0])
    assert other.claim(NAMES[1])
    one.release(NAMES[0])
    assert not other.claim(NAMES[0])
    one.release(NAMES[0])
    assert other.claim(NAMES[0])


def test_what_others_touched_is_known_and_what_is_under_way(tmp_path):
    one, other = Journal(tmp_path), Journal(tmp_path)
    assert one.read_claims() == 0
    other.claim(NAMES[0])
    other.claim(NAMES[1])
    other.release(NAMES[1])
    one.claim(NAMES[2])
    assert [one.is_touched(name) for name in NAMES] == [True, True, False]
    third = Journal(tmp_path)
    assert third.read_claims() == 2
    assert [third.is_touched(name) for name in NAMES] == [True, False, True]


HOLD = """
import sys, time
from pathlib import Path
from biasatlas.models.claims import Journal
journal = Journal(Path(sys.argv[1]))
print(journal.claim(sys.argv[2]), flush=True)
time.sleep(1000)
"""


def test_the_dead_claim_nothing(tmp_path):
    holder = python(HOLD, tmp_path, NAMES[0])
    assert holder.stdout.readline() == "True\n"
    mine = Journal(tmp_path)
    assert not mine.claim(NAMES[0])
    holder.kill()
    holder.wait()
    assert mine.claim(NAMES[0])
    assert mine.read_claims() == 1  # it may have been paid for


def test_a_cut_or_damaged_line_is_passed_over(tmp_path):
    Journal(tmp_path).claim(NAMES[0])
    path = tmp_path / "journal"
    path.write_bytes(b"\0\0garbage\n" + path.read_bytes() + b"+0123")
    assert Journal(tmp_path).read_claims() == 1


def ask(server, folder, prompts, **settings):
    entry = ApiEntry(**{"kind": "api", "base_url": server.url, "model": MODEL, "concurrency": 16} | settings)
    return Endpoint(entry).answer(requests_for(prompts), "task", ResponseStore(folder))[0]


def test_two_jobs_with_equal_requests_pay_once(tmp_path):
    prompts = [f"{index}" for index in range(150)]
    with Server(delay_s=0.02) as server:
        frames = {}
        jobs = [
            threading.Thread(target=lambda part=part: frames.update({part: ask(server, tmp_path, part)}))
            for part in (tuple(prompts), tuple(reversed(prompts)))
        ]
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
        assert {len(times) for times in server.answered.values()} == {1}
        assert len(server.answered) == 150
    assert all(set(frame["status"]) == {"ok"} for frame in frames.values())
    assert len(frames) == 2


def test_nobody_repairs_beside_a_job(tmp_path):
    journal = Journal(tmp_path)
    with pytest.raises(UserError, match="a job is working with this store"), alone(tmp_path):
        pass
    journal.close()
    with alone(tmp_path), pytest.raises(UserError, match="is being repaired"):
        Journal(tmp_path)


def store(*arguments):
    command = [sys.executable, "-m", "biasatlas", "check-store", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_damaged_store_is_reported_by_line_and_repaired(tmp_path, caplog):
    with Server() as server:
        before = ask(server, tmp_path / "m", ["one", "two", "three"])
        (shard,) = (tmp_path / "m").glob("*.jsonl")
        first, second, third = shard.read_bytes().splitlines(keepends=True)
        shard.write_bytes(first + second.replace(b'"text"', b'"tixt"') + third[:-9])
        looked = store(tmp_path)
        assert looked.returncode == 1
        assert f"{shard}, line 2: damaged" in looked.stdout and f"{shard}, line 3: damaged" in looked.stdout
        again = ask(server, tmp_path / "m", ["one", "two", "three"])
        assert f"{shard}, line 2: damaged, and passed over" in caplog.text
        assert server.calls["/chat/completions"] == 5
        repaired = store("--repair", tmp_path)
        assert (repaired.returncode, repaired.stdout.count("line ")) == (0, 2)
        assert shard.read_bytes() == first
        assert (tmp_path / "m/damaged" / shard.name).read_bytes().count(b"tixt") == 1
        assert store(tmp_path).returncode == 0
        ask(server, tmp_path / "m", ["one", "two", "three"])
        assert server.calls["/chat/completions"] == 5
    assert before.equals(again)
