"""The api model kind against a loopback server: `PYTHONPATH=scripts:tests python bench/api.py clients|faults|store`.

``clients``: requests a second, and processor time a request, of the bare client and of ours, at concurrency 32.
``faults``: 500 requests at 20 % faults of twelve kinds, at every concurrency from 1 to 64.
``store``: rows a second, of some 600 bytes each, written one by one and in batches, and read back.
"""

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import api_server
import openai

from biasatlas.models.endpoint import errors
from biasatlas.models.endpoint.answer import Endpoint
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.store import ResponseStore, key

CONCURRENCY = 32


async def bare(url: str, prompts: list[str]) -> None:
    """What a short script does: the client's own call, its own retries off, under a semaphore."""
    places = asyncio.Semaphore(CONCURRENCY)

    async def ask(prompt: str) -> str:
        async with places:
            reply = await client.chat.completions.create(
                model=api_server.MODEL,
                messages=[{"role": "user", "content": prompt}],
                temperature=0.7,
                top_p=1.0,
                frequency_penalty=0.0,
                max_tokens=16,
            )
        return reply.choices[0].message.content

    async with openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0) as client:
        texts = await asyncio.gather(*map(ask, prompts))
    assert texts == [api_server.said(prompt) for prompt in prompts]


def ours(url: str, prompts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        entry = ApiEntry(kind="api", base_url=url, model=api_server.MODEL, concurrency=CONCURRENCY)
        frame, _ = Endpoint(entry).answer(api_server.requests_for(prompts), "bench", ResponseStore(folder))
    assert list(frame["text"]) == [api_server.said(prompt) for prompt in prompts]


def clients(count: int = 1000, rounds: int = 7) -> None:
    server = subprocess.Popen([sys.executable, api_server.__file__], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        wall, processor = {"bare": [], "ours": []}, {"bare": [], "ours": []}
        for round_ in range(rounds + 1):  # the first warms up
            for name, run in (("bare", lambda *args: asyncio.run(bare(*args))), ("ours", ours)):
                started, used = time.perf_counter(), time.process_time()
                run(url, [f"{round_} {index}" for index in range(count)])
                if round_:
                    wall[name].append(time.perf_counter() - started)
                    processor[name].append(time.process_time() - used)
    finally:
        server.kill()
    for name in wall:
        rate, each = count / statistics.median(wall[name]), 1000 * statistics.median(processor[name]) / count
        print(f"{name}: {rate:.0f} requests a second, {each:.2f} ms of processor time a request")
    for name, measure in (("wall", wall), ("processor", processor)):
        pairs = zip(measure["ours"], measure["bare"], strict=True)
        print(f"overhead in {name} time: {statistics.median(a / b for a, b in pairs) - 1:+.1%}")


def faults(count: int = 500) -> None:
    errors.BACKOFF_S = 0.01
    print("concurrency  lost  answered twice  faults met  seconds")
    for concurrency in range(1, 65):
        prompts = [f"{concurrency} {index}" for index in range(count)]
        kinds = (*api_server.QUICK_FAULTS * 2, *api_server.FAULTS)
        server = api_server.Server(faults=0.2, kinds=kinds, retry_after="0.02", seed=concurrency)
        with tempfile.TemporaryDirectory() as folder, server:
            limits = {"concurrency": concurrency, "timeout_s": 5, "max_failed_share": 1}
            entry = ApiEntry(kind="api", base_url=server.url, model=api_server.MODEL, **limits)
            started = time.perf_counter()
            frame, _ = Endpoint(entry).answer(api_server.requests_for(prompts), "bench", ResponseStore(folder))
            seconds = time.perf_counter() - started
        lost = sum(text != api_server.said(prompt) for text, prompt in zip(frame["text"], prompts, strict=True))
        twice = sum(len(times) > 1 for times in server.answered.values())
        met = server.met.total()
        print(f"{concurrency:11d}  {lost:4d}  {twice:14d}  {met:10d}  {seconds:7.1f}", flush=True)


def store(count: int = 1_000_000) -> None:
    value = {"status": "ok", "text": "x" * 430, "finish_reason": "stop", "prompt_tokens": 100, "completion_tokens": 99}
    names = [key({}, {"n": index}, 0) for index in range(count)]

    def measure(what: str, rows: int, run: Callable[[], None]) -> None:
        started, used = time.perf_counter(), time.process_time()
        run()
        seconds, used = time.perf_counter() - started, time.process_time() - used
        print(f"{what}: {rows / seconds:,.0f} rows a second ({rows / used:,.0f} by processor time), {seconds:.1f} s")

    def put(kept: ResponseStore, size: int, rows: int) -> None:
        for start in range(0, rows, size):
            kept.put(dict.fromkeys(names[start : start + size], value))

    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as many:
        measure("put, each row to the disk", 2000, lambda: put(ResponseStore(one), 1, 2000))
        measure("put, batches of 1,000", count, lambda: put(ResponseStore(many), 1000, count))
        measure("get all", count, lambda: ResponseStore(many).get(names))
        measure("get 1 in 100", count, lambda: ResponseStore(many).get(names[::100]))


if __name__ == "__main__":
    {"clients": clients, "faults": faults, "store": store}[sys.argv[1]]()
