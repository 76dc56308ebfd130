"""The api model kind against a loopback server: `PYTHONPATH=scripts:tests python bench/api.py NAME [ARGUMENTS]`.

``faults``: 1,000 calls for each of 45 kinds of fault, which 20% of them meet: answers lost, paid twice, wrong; crashes.
``kills controller`` and ``kills group``: a run killed 20 times, Snakemake alone or with its jobs; ``jobs``: two jobs at
once, and SIGTERM. ``bucket``: two jobs that share only a bucket; one is killed, 20 times (needs moto[server], boto3).
``memory 1000000``: the memory that a million answers take; ``memory 1000000 100``: with 100 answers a call.
"""

import asyncio
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import api_server
import pandas as pd

from biasatlas import ROOT
from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.models.endpoint import Found, transport
from biasatlas.models.endpoint.answer import Endpoint
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.store import ResponseStore


def faults(count: int = 1000, share: float = 0.2) -> None:
    """Run a job for each kind of fault, and count the rows without a text, the prompts that were answered twice, the
    rows with a wrong text, and crashes.
    """
    transport.BACKOFF_S = 0.01
    kinds = (
        *api_server.FAULTS,
        *api_server.STATUSES,
        *api_server.NO_ANSWERS,
        *api_server.ODDITIES,
        *api_server.TRANSPORT,
    )
    print(f"{count} calls, {share:.0%} of them met by:\nfault               met  lost  twice  wrong  crashed  seconds")
    for kind in kinds:
        prompts = [f"{kind} {index}" for index in range(count)]
        server = api_server.Server(faults=share, kinds=(kind,), retry_after="0.02", seed=len(kind))
        with tempfile.TemporaryDirectory() as folder, server:
            slow = kind in ("silent", "drip")
            limits = {"concurrency": 64 if slow else 16, "timeout_s": 3 if slow else 20, "max_failed_share": 1}
            entry = ApiEntry(kind="api", base_url=server.url, model=api_server.MODEL, **limits)
            started, crashed, texts = time.perf_counter(), 0, [None] * count
            try:
                frame, _ = Endpoint(entry).answer(api_server.requests_for(prompts), "bench", ResponseStore(folder))
                texts = list(frame["text"])
            except Exception as error:
                crashed = 1
                print(repr(error)[:200])
            seconds = time.perf_counter() - started
        row(kind, server, prompts, texts, crashed, seconds)


def row(kind: str, server: api_server.Server, prompts: list[str], texts: list, crashed: int, seconds: float) -> None:
    expected = [api_server.said(prompt) for prompt in prompts]
    lost = sum(not text for text in texts)
    wrong = sum(bool(text) and text != right for text, right in zip(texts, expected, strict=True))
    twice = sum(len(times) > 1 for times in server.answered.values())
    print(
        f"{kind:18s} {server.met.total():4d}  {lost:4d}  {twice:5d}  {wrong:5d}  {crashed:7d}  {seconds:7.1f}",
        flush=True,
    )


def kills(who: str = "controller", times: int = 20) -> None:
    """Kill runs of McBE's sample: Snakemake alone (its jobs live on beside those of the next run), or its jobs, too.

    Prints the answers paid twice, and the calls that were in flight when Snakemake and its jobs were killed.
    """
    rng, in_flight = random.Random(1), 0
    with tempfile.TemporaryDirectory() as folder, api_server.Server(delay_s=0.3) as server:
        config = Path(folder) / "config.json"
        entry = {"kind": "api", "base_url": server.url, "model": api_server.MODEL, "n": 1, "concurrency": 16}
        slow, journal = entry | {"requests_per_minute": 300}, Path(folder) / "results/store/endpoint/journal"
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", folder]
        command += ["--cores", "2", "--profile", "none", "--workflow-profile", str(ROOT / "profiles/default")]
        command += ["--configfile", str(config)]
        target = "results/responses/endpoint/mcbe/recommended.parquet"

        def start(model: dict) -> subprocess.Popen:
            models = {"results": "results", "models": {"endpoint": model}, "benchmarks": {"mcbe": {"data": "sample"}}}
            config.write_text(json.dumps(models))
            output = open(Path(folder) / "log", "a")  # noqa: SIM115 (of the process)
            return subprocess.Popen([*command, "--", target], stdout=output, stderr=output, start_new_session=True)

        for _ in range(times):
            process, before = start(slow), jobs_in(journal)
            while (
                process.poll() is None and jobs_in(journal) == before
            ):  # until its job asks; jobs of earlier runs may live on
                time.sleep(0.05)
            time.sleep(rng.uniform(0, 1))
            if process.poll() is None:
                in_flight += server.in_flight if who == "group" else 0
                (os.killpg if who == "group" else os.kill)(process.pid, signal.SIGKILL)
            process.wait()
            subprocess.run([*command, "--unlock"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        returncode = start(entry | {"concurrency": 64}).wait()
        while server.in_flight:
            time.sleep(1)
        frame = pd.read_parquet(Path(folder) / target) if returncode == 0 else pd.DataFrame({"status": ["failed"]})
        store = ResponseStore(Path(folder) / "results/store/endpoint")
        store.refresh()
        stored, paid = sum(1 for _ in store.values()), sum(map(len, server.answered.values()))
        asked = jobs_in(journal)
    lost, crashed = int((frame["status"] == "failed").sum()), int(returncode != 0)
    print(
        f"{times} kills of {who}: {asked} jobs, {stored} answers, lost {lost}, twice {paid - stored}, crashed "
        f"{crashed}, ",
        end="",
    )
    print(f"in flight at kills of all {in_flight}", flush=True)


def jobs_in(journal: Path) -> int:
    """The number of jobs that have sent a request."""
    return len({line[18:26] for line in journal.read_bytes().splitlines()}) if journal.exists() else 0


def jobs(count: int = 300, times: int = 20) -> None:
    """Run two jobs with equal requests on one store at once; and one that gets SIGTERM with 30 calls in flight."""
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "scripts")])
    environment = os.environ | {"PYTHONPATH": path}

    def start(folder: str, name: str, server: api_server.Server) -> subprocess.Popen:
        entry = {"kind": "api", "base_url": server.url, "model": api_server.MODEL, "concurrency": 32}
        arguments = [folder, name, json.dumps([f"{index}" for index in range(count)]), json.dumps(entry)]
        command = [sys.executable, str(ROOT / "tests/api/job.py"), *arguments]
        return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)

    twice = lost = 0
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder, api_server.Server(delay_s=0.05) as server:
            both = [start(folder, name, server) for name in ("one", "other")]
            crashed = sum(process.wait() != 0 for process in both)
            twice += sum(len(times) - 1 for times in server.answered.values())
            lost += count - len(server.answered) + crashed * count
    print(f"{times} times two jobs at once: lost {lost}, twice {twice}", flush=True)
    twice = lost = 0
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder, api_server.Server(delay_s=0.5) as server:
            process = start(folder, "job", server)
            while server.in_flight < 30:
                time.sleep(0.01)
            process.terminate()
            process.wait()
            store = ResponseStore(Path(folder) / "store")
            store.refresh()
            lost += len(server.answered) - sum(1 for _ in store.values())
    print(f"{times} times SIGTERM with 30 calls in flight: answers lost {lost}", flush=True)


#: A job whose lease lasts four seconds more than a call, instead of a minute more.
QUICK_LEASE = """
import sys, job
from biasatlas.models import objects
objects.RENEW_S, objects.MARGIN_S, objects.SPARE_S = 0.5, 1.0, 4.0
job.run(*sys.argv[1:])
"""


def bucket(count: int = 1000, times: int = 20) -> None:
    """Run two jobs with their own folders and one bucket; the one that asks is killed, and restarted in a new folder.

    Answers paid twice are those in flight at a kill, and those of the second before it.
    """
    import boto3
    from moto.server import ThreadedMotoServer

    s3 = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    s3.start()
    address, port = s3.get_host_and_port()
    keys = {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none", "AWS_DEFAULT_REGION": "us-east-1"}
    os.environ |= keys | {"AWS_ENDPOINT_URL": f"http://{address}:{port}"}
    boto3.resource("s3").create_bucket(Bucket="atlas")
    path = os.pathsep.join(str(ROOT / part) for part in ("tests/api", "tests", "scripts"))

    with tempfile.TemporaryDirectory() as folder, api_server.Server(delay_s=0.2) as server:

        def start(number: int) -> subprocess.Popen:
            own = Path(folder) / str(number)
            own.mkdir()
            entry = {"kind": "api", "base_url": server.url, "model": api_server.MODEL, "timeout_s": 2, "concurrency": 4}
            arguments = [str(own), "job", json.dumps([f"{index}" for index in range(count)]), json.dumps(entry)]
            command = [sys.executable, "-c", QUICK_LEASE, *arguments, "s3://atlas/run"]
            return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}, stderr=subprocess.DEVNULL)

        rng, running = random.Random(1), {number: start(number) for number in range(2)}
        for number in range(2, 2 + times):
            before = len(server.arrivals)
            while len(server.arrivals) < before + 8:
                time.sleep(0.05)
            time.sleep(rng.uniform(0, 1))
            asking = next(name for name in running if (Path(folder) / str(name) / "store/spent").exists())
            process = running.pop(asking)
            process.kill()
            process.wait()
            running[number] = start(number)
        crashed = sum(process.wait() != 0 for process in running.values())
        paid = sum(map(len, server.answered.values()))
        lost = count - len(server.answered)
    s3.stop()
    print(f"{times} kills: lost {lost}, twice {paid - len(server.answered)}, crashed {crashed}", flush=True)


def memory(answers: int = 1_000_000, n: int = 1) -> None:
    """Peak memory of a job of ``answers``, ``n`` a call, above that of a job of 100; nothing is really sent."""
    reply = {"id": "chatcmpl-1", "model": api_server.MODEL, "usage": {"prompt_tokens": 100, "completion_tokens": n}}
    choice = {"message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}
    content = json.dumps(reply | {"choices": [choice] * n}).encode()

    async def sent(*_: object) -> bytes:
        await asyncio.sleep(0)
        return content

    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    transport.reply_bytes = sent
    entry = ApiEntry(kind="api", base_url="http://127.0.0.1:9/v1", model=api_server.MODEL, concurrency=32)
    settings = {"kind": "choice", "labels": '["A", "B"]', "parser": "letter", "repeats": 100}
    prompts = [f"{index}: {'which of the two is it? ' * 10}" for index in range(answers // 100)]
    endpoint = Endpoint(entry, parsers=PARSERS, found=Found(n=n))
    with tempfile.TemporaryDirectory() as folder:
        endpoint.answer(api_server.requests_for(prompts[:1], **settings), "bench", ResponseStore(Path(folder) / "one"))
        base, started = peak(), time.perf_counter()
        frame, _ = endpoint.answer(
            api_server.requests_for(prompts, **settings), "bench", ResponseStore(Path(folder) / "all")
        )
        seconds = time.perf_counter() - started
    assert set(frame["status"]) == {"ok"}
    print(f"{answers:,} answers, {n} in a call: {peak() - base:.0f} MiB above {base:.0f}, {seconds:.0f} s")


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    benches = {"faults": faults, "kills": kills, "jobs": jobs, "bucket": bucket, "memory": memory}
    benches[name](*(int(argument) if argument.isdigit() else argument for argument in arguments))
