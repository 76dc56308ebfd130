"""Object storage, on a server of our own: a run from planted weights to the report, and answers that jobs share."""

import json
import os
import subprocess
import sys
import time

import pytest
from api_server import MODEL, Server
from conftest import ROOT, snakemake
from needs import need
from small_run import KNOWN


@pytest.fixture
def bucket(monkeypatch):
    """An empty bucket of a server on this machine."""
    # What they need slows down the start of every job, so requirements.in leaves it out.
    need("s3")
    import boto3
    from moto import server as moto

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    yield boto3.resource("s3").create_bucket(Bucket="atlas")
    server.stop()


def test_a_run_in_a_bucket_is_finished_there(bucket, tmp_path):
    planted = {"planted": {"kind": "planted", "odds_ratio": 2.0}}
    (tmp_path / "config.json").write_text(json.dumps(KNOWN | {"models": planted}))
    storage = ["--default-storage-provider", "s3", "--default-storage-prefix", "s3://atlas/run"]
    storage += ["--storage-s3-endpoint-url", bucket.meta.client.meta.endpoint_url]

    def run(*arguments):
        done = snakemake(*arguments, *storage, "--configfile", str(tmp_path / "config.json"), folder=tmp_path)
        assert done.returncode == 0, done.stdout
        return done.stdout

    run()
    objects = {item.key for item in bucket.objects.all()}
    assert "run/results/report/index.html" in objects
    assert not (tmp_path / "results/report").exists()
    assert "Nothing to be done" in run("--dry-run")


def start(folder, url, prompts, **settings):
    """Start a job on a machine of its own, whose answers lie in the bucket alone."""
    folder.mkdir(exist_ok=True)
    entry = {"kind": "api", "base_url": url, "model": MODEL} | settings
    arguments = [folder, "job", json.dumps(prompts), json.dumps(entry), "s3://atlas/run"]
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "scripts")])
    return subprocess.Popen(
        [sys.executable, ROOT / "tests/api/job.py", *arguments], env=os.environ | {"PYTHONPATH": path}
    )


def test_jobs_that_share_a_bucket_alone_pay_for_nothing_twice(bucket, tmp_path):
    """Two at once; the first gets SIGTERM half way, a third is killed, and what it was answered is in the bucket too."""
    prompts = [f"{index}" for index in range(60)]
    with Server(delay_s=0.2) as server:
        first = start(tmp_path / "first", server.url, prompts[:40], concurrency=4)
        while len(server.answered) < 10:
            time.sleep(0.05)
        second = start(tmp_path / "second", server.url, prompts[:40], concurrency=4)
        time.sleep(0.5)
        first.terminate()
        assert (first.wait(), second.wait()) == (130, 0)
        assert {len(times) for times in server.answered.values()} == {1}
        assert len(server.answered) == 40
        third = start(tmp_path / "third", server.url, prompts, concurrency=2, timeout_s=1)
        while len(server.answered) < 50:
            time.sleep(0.05)
        third.kill()
        third.wait()
        on_their_way = 2 + 2 * 8  # of the last second, and in flight
        assert start(tmp_path / "fourth", server.url, prompts, concurrency=8).wait() == 0
        assert len(server.answered) == 60
        assert sum(len(times) - 1 for times in server.answered.values()) <= on_their_way
