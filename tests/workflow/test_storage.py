"""Object storage, on a server of our own: a run from planted weights to the report, answers that jobs share, and pods."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from api_server import MODEL, RANDOM, Server
from conftest import ROOT, copy_workflow, snakemake, start_snakemake
from needs import need
from pods import Cluster
from small_run import KNOWN

IMAGE = "registry.example/bias-atlas:1"
KEY = "sk-pods-1234567890"


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
    monkeypatch.setenv("AWS_ENDPOINT_URL", url := f"http://{host}:{port}")
    # What a test before put into a bucket of this name lives on in the process.
    urllib.request.urlopen(urllib.request.Request(f"{url}/moto-api/reset", method="POST")).close()
    yield boto3.resource("s3").create_bucket(Bucket="atlas")
    server.stop()


def test_a_run_in_a_bucket_is_finished_there(bucket, tmp_path):
    root = copy_workflow(tmp_path / "clone")
    grammar = root / "resources/planted/en.yaml"
    grammar.write_text(
        re.sub("^steps: .*", "steps: 10", grammar.read_text(), flags=re.M)
    )  # what it learns is no matter
    planted = {"planted": {"kind": "planted", "odds_ratio": 2.0}}
    (tmp_path / "config.json").write_text(json.dumps(KNOWN | {"models": planted}))
    storage = ["--default-storage-provider", "s3", "--default-storage-prefix", "s3://atlas/run"]
    storage += ["--storage-s3-endpoint-url", bucket.meta.client.meta.endpoint_url]

    def objects():
        return {item.key for item in bucket.objects.all()}

    # A second controller, in a folder of its own, is refused while the first is at work.
    arguments = [*storage, "--configfile", str(tmp_path / "config.json")]
    other = tmp_path / "other"
    other.mkdir()
    with (tmp_path / "output").open("w+b") as output:
        first = start_snakemake(*arguments, folder=tmp_path, output=output, root=root, forks=True)
        while "run/run/lease" not in objects() and first.exitcode is None:
            time.sleep(0.2)
        second = snakemake(*arguments, folder=other, root=root)
        assert first.exitcode is None
        assert (second.returncode, second.stdout.count("Traceback")) == (1, 0)
        assert "error: s3://atlas/run: another run works there. Wait until it has ended" in second.stdout
        first.join()
        assert first.exitcode == 0, (tmp_path / "output").read_text()
    assert "run/results/report/index.html" in objects()
    assert not (tmp_path / "results/report").exists()
    again = snakemake("--dry-run", *arguments, folder=other, root=root)
    assert again.returncode == 0 and "Nothing to be done" in again.stdout, again.stdout


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


def image(folder):
    """The environment of the Dockerfile's image, whose files are this machine's."""
    said = dict(
        re.findall(r"(\w+)=(\S+)", " ".join(re.findall(r"^ENV (.*)$", (ROOT / "Dockerfile").read_text(), re.M)))
    )
    plugins = folder / "plugins"
    wheels = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", plugins]
    (plugin,) = re.findall(r"^snakemake-storage-plugin-s3.*$", (ROOT / "requirements-s3.txt").read_text(), re.M)
    subprocess.run([*wheels, plugin], check=True)
    here = {"/opt/plugins": str(plugins), "/opt/bias-atlas": str(ROOT), "/work": str(folder)}
    for place, path in here.items():
        said = {name: re.sub(rf"^{place}(?=/|$)", path, value) for name, value in said.items()}
    pip = folder / "bin/pip"
    pip.parent.mkdir()
    pip.write_text(f'#!/bin/sh\nexec {sys.executable} -m pip "$@"\n')
    pip.chmod(0o755)
    programs = [str(pip.parent), str(Path(sys.executable).parent), "/usr/bin", "/bin"]
    return said | {"PATH": os.pathsep.join(programs), "HOME": str(folder), "OMP_NUM_THREADS": "1"}


def run_in_pods(root, cluster, *arguments):
    """Snakemake in the clone ``root``, which is made one of git, by the profile for Kubernetes: how it ended."""
    git = ["git", "-C", str(root), "-c", "user.name=n", "-c", "user.email=n@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x", "--no-verify"]):
        subprocess.run([*git, *command], check=True)
    command = [sys.executable, "-m", "snakemake", "--profile", "none", "--workflow-profile"]
    command += [
        str(ROOT / "profiles/kubernetes"),
        "--container-image",
        IMAGE,
        "--default-storage-prefix",
        "s3://atlas/run",
    ]
    command += ["--seconds-between-status-checks", "1", "--envvars", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
    command += ["AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", *arguments]
    env = os.environ | {"KUBECONFIG": str(cluster.config), "PYTHONPATH": str(root / "scripts")}
    return subprocess.run(command, cwd=root, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def in_pods(root, cluster, *arguments):
    """The pods, and their specs as text, of :func:`run_in_pods`, which comes to its end."""
    done = run_in_pods(root, cluster, *arguments)
    logs = [path.read_text("utf-8", "replace")[-3000:] for path in cluster.folder.glob("*.log")]
    assert done.returncode == 0, "\n".join([done.stdout, *logs])
    assert set(cluster.jobs) == set(cluster.ended) == cluster.deleted & set(cluster.jobs)
    return [(job["spec"]["template"]["spec"], json.dumps(job)) for job in cluster.jobs.values()]


def test_a_run_in_pods_is_finished_in_the_bucket(bucket, tmp_path, monkeypatch):
    root = copy_workflow(tmp_path / "clone")
    monkeypatch.setenv("POD_KEY", KEY)
    with (
        Server(key=KEY, reply=lambda body, prompt: "A") as server,
        Cluster(tmp_path / "pods", image(tmp_path)) as cluster,
    ):
        endpoint = {"kind": "api", "base_url": server.url, "model": MODEL, "key_env": "POD_KEY"}
        run = {"data": "sample", "tasks": ["pair_choice"]}
        config = {"results": "results", "models": {"endpoint": endpoint}, "benchmarks": {"crows_pairs": run}}
        (root / "mine.json").write_text(json.dumps(config | {"store": "s3://atlas/store"}))
        pods = in_pods(root, cluster, "POD_KEY", "--configfile", "mine.json")
        assert len(server.answered) == server.calls["/chat/completions"] == 168
    made = {item.key for item in bucket.objects.all()}
    # A pod makes the site, and we unpack it.
    assert {"run/results/report/index.html", "run/results/report/pages/numbers.html"} <= made
    asked = [" ".join(pod["containers"][0]["args"]) for pod, _ in pods]
    assert sum(bool(re.search(r"--allowed-rules\W+write_report\b", command)) for command in asked) == 1
    assert not any(re.search(r"--allowed-rules\W+unpack_report\b", command) for command in asked)
    for pod, text in pods:
        (container,) = pod["containers"]
        assert container["image"] == IMAGE
        assert {"POD_KEY", "AWS_ACCESS_KEY_ID"} <= {variable["name"] for variable in container["env"]}
        assert (
            KEY not in text and str(tmp_path) not in text
        )  # a pod has neither the key in its command, nor our folders
        limits = container["resources"]["limits"]
        assert limits.keys() == {"cpu", "memory", "ephemeral-storage"} and not pod.get("tolerations")


def test_a_job_that_fails_in_a_pod_says_why_on_the_head(bucket, tmp_path):
    """Once, by its entry's name, with its log in the bucket; what was paid for is there."""
    root = copy_workflow(tmp_path / "clone")
    target = "results/responses/endpoint/crows_pairs/recommended.parquet"
    with Server(reply=lambda body, prompt: "A") as server, Cluster(tmp_path / "pods", image(tmp_path)) as cluster:
        answer = server.answer

        def empty_account(path, body):
            paid = len(server.answered) < 9 or body["messages"][-1]["content"] == RANDOM
            return answer(path, body) if paid else (402, {"error": {"message": "Insufficient Balance"}})

        server.answer = empty_account
        endpoint = {"kind": "api", "base_url": server.url, "model": MODEL}
        run = {"data": "sample", "tasks": ["pair_choice"]}
        config = {"results": "results", "models": {"endpoint": endpoint}, "benchmarks": {"crows_pairs": run}}
        (root / "mine.json").write_text(json.dumps(config | {"store": "s3://atlas/store"}))
        arguments = ("--configfile", "mine.json", "--logger", "atlas", "--retries", "0", "--", target)
        done = run_in_pods(root, cluster, *arguments)
    assert (done.returncode, done.stdout.count("Insufficient Balance")) == (1, 1), done.stdout
    (told,) = (line for line in done.stdout.splitlines() if "Insufficient Balance" in line)
    where = "s3://atlas/run/results/logs/answer_requests/endpoint-crows_pairs-recommended.log"
    assert re.match(r"error: models\.endpoint: .* no credit left: Insufficient Balance\. All answers are kept;", told)
    assert f"(log: {where}, " in told and told.endswith(".log)"), told
    made = {item.key: item for item in bucket.objects.all()}
    assert b"Insufficient Balance" in made[where.removeprefix("s3://atlas/")].get()["Body"].read()
    kept = b"".join(item.get()["Body"].read() for key, item in made.items() if key.endswith(".jsonl"))
    assert kept.count(b"\n") == len(server.answered) >= 9
    assert f"run/{target}" not in made


def test_a_pod_of_a_gpu_asks_for_it_as_a_cluster_has_it(bucket, tmp_path):
    root = tmp_path / "clone"
    root.mkdir()
    (root / "Snakefile").write_text(
        'rule all:\n    output: "done"\n    resources: gpu=2\n    shell: "touch {output}"\n'
    )
    with Cluster(tmp_path / "pods", image(tmp_path)) as cluster:
        ((pod, _),) = in_pods(root, cluster)
    (container,) = pod["containers"]
    assert (
        container["resources"]["limits"]["nvidia.com/gpu"]
        == container["resources"]["requests"]["nvidia.com/gpu"]
        == "2"
    )
    assert [toleration["key"] for toleration in pod["tolerations"]] == ["nvidia.com/gpu"]
