"""A response store on object storage: jobs on machines that share nothing share its answers, and one asks at a time."""

import threading
import time

import pytest
from api_server import MODEL, Server, requests_for, said
from obstore.store import MemoryStore, from_url

from biasatlas.errors import UserError
from biasatlas.models import objects
from biasatlas.models.endpoint import Found
from biasatlas.models.endpoint.answer import Endpoint
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.endpoint.spending import Budget
from biasatlas.models.objects import Objects
from biasatlas.models.store import ResponseStore


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("ssl.SSLContext.load_verify_locations", lambda *_: None)  # slow, and nothing here is encrypted
    monkeypatch.setattr(objects, "_POLL_S", 0.01)


def on(bucket, folder):
    return ResponseStore(folder, Objects(bucket, folder))


def test_what_one_machine_puts_another_has(tmp_path):
    bucket, key = MemoryStore(), "ab" * 32
    one, other = on(bucket, tmp_path / "one"), on(bucket, tmp_path / "other")
    one.put({key: {"text": "A"}})
    assert other.get([key]) == {key: {"text": "A"}}
    one.put({key: None})
    assert other.get([key]) == {}
    assert len(list((tmp_path / "other").glob("*.jsonl"))) == 2  # each put closed a shard


def test_what_a_killed_job_left_on_its_machine_is_put_by_the_next(tmp_path):
    bucket, key = MemoryStore(), "cd" * 32
    ResponseStore(tmp_path / "one").put({key: {"text": "A"}})
    on(bucket, tmp_path / "one").refresh()
    assert on(bucket, tmp_path / "other").get([key])


def test_jobs_on_two_machines_pay_for_nothing_twice(tmp_path):
    prompts = [f"{index}" for index in range(30)]
    bucket, frames = MemoryStore(), {}
    with Server(delay_s=0.02) as server:
        entry = ApiEntry(
            kind="api",
            base_url=server.url,
            model=MODEL,
            price_input_per_million=1e6,
            price_output_per_million=0,
            budget=1e9,
        )

        def job(name):
            endpoint = Endpoint(entry, found=Found())
            frames[name], _ = endpoint.answer(requests_for(prompts), "task", on(bucket, tmp_path / name))

        jobs = [threading.Thread(target=job, args=(name,)) for name in ("one", "other")]
        for thread in jobs:
            thread.start()
        for thread in jobs:
            thread.join()
    assert [list(frame["text"]) for frame in frames.values()] == [[said(prompt) for prompt in prompts]] * 2
    assert {len(times) for times in server.answered.values()} == {1}
    spent = {Budget(tmp_path / name, None).spent for name in frames}
    assert spent == {float(sum(map(len, prompts)))}  # the server counts a token a character


def test_a_lease_of_a_dead_holder_is_taken_over_by_one_after_its_time(tmp_path, monkeypatch):
    monkeypatch.setattr(objects, "_POLL_S", 0.02)
    bucket = MemoryStore()
    dead, holders, most = Objects(bucket, tmp_path), [], []
    dead._acquire(0.3)
    began = time.monotonic()

    def hold():
        with Objects(bucket, tmp_path).leased(0):
            holders.append(1)
            most.append(len(holders))
            time.sleep(0.02)
            holders.pop()

    threads = [threading.Thread(target=hold) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4
    assert time.monotonic() - began > 0.3


def test_a_second_run_is_refused_while_the_first_lives(monkeypatch, caplog):
    bucket, ends = MemoryStore(), []
    monkeypatch.setattr(objects, "from_url", lambda url, **_: bucket if "://" in url else from_url(url))
    monkeypatch.setattr(objects.atexit, "register", lambda end, *given: ends.append(lambda: end(*given)))
    monkeypatch.setattr(objects, "_POLL_S", 0.01)
    monkeypatch.setattr(objects, "RENEW_S", 0.02)
    monkeypatch.setattr(objects, "SPARE_S", 0.5)
    objects.hold("s3://bucket/run")
    with pytest.raises(
        UserError, match=r"^s3://bucket/run: another run works there\. Wait until it has ended, or give"
    ):
        objects.hold("s3://bucket/run")
    ends.pop()()
    began = time.monotonic()
    objects.hold("s3://bucket/run")  # it gave it up
    assert time.monotonic() - began < 0.4
    ends.pop()()
    Objects(bucket, None)._acquire(0.5)  # and one that was killed did not
    objects.hold("s3://bucket/run")
    ends.pop()()
    assert time.monotonic() - began > 0.5 and "looking for 0.5 s whether a run that began there" in caplog.text
    objects.hold("a/folder")
    assert "a/folder: nothing keeps a second run away" in caplog.text and not ends


def test_who_lost_the_lease_sends_nothing_more(tmp_path):
    bucket = MemoryStore()
    store = on(bucket, tmp_path)
    assert not store.objects.may_send(1)
    with Server() as server, store.objects.leased(10):
        assert store.objects.may_send(10)
        assert not store.objects.may_send(10 + objects.SPARE_S)
        entry = ApiEntry(kind="api", base_url=server.url, model=MODEL)
        late = on(bucket, tmp_path)
        late.objects.leased = lambda _: threading.Lock()  # as if it were theirs
        with pytest.raises(UserError, match="another job asks"):
            Endpoint(entry, found=Found()).answer(requests_for(["one"]), "task", late)
    assert not server.answered
