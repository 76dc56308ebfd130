"""Inputs and outputs on object storage: CrowS-Pairs' sample from planted weights to the report, on a server of our own."""

import json

import pytest
from conftest import snakemake
from small_run import PLANTED

#: They slow down the start of every job, so requirements.in leaves them out.
HOW = "to run it: pip install 'moto[server]' snakemake-storage-plugin-s3"
moto = pytest.importorskip("moto.server", reason=HOW)
pytest.importorskip("snakemake_storage_plugin_s3", reason=HOW)
boto3 = pytest.importorskip("boto3", reason=HOW)


@pytest.fixture
def bucket(monkeypatch):
    """An empty bucket of a server on this machine."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield boto3.resource("s3", endpoint_url=f"http://{host}:{port}").create_bucket(Bucket="atlas")
    server.stop()


def test_a_run_in_a_bucket_is_finished_there(bucket, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(PLANTED))
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
