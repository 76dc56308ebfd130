"""Limits and budgets: kept over tasks and processes, and let go by the dead."""

import asyncio
import struct
from collections import deque

import pytest
from conftest import python

from biasatlas.models.endpoint import spending
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.endpoint.spending import HEADROOM, Budget, Limits


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """Limits of this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def clock(monkeypatch):
    """A clock of this test's own, in a list, that sleeping moves."""
    now = [1e9]

    async def sleep(seconds):
        now[0] += seconds

    monkeypatch.setattr(spending.asyncio, "sleep", sleep)
    monkeypatch.setattr(spending.time, "time", lambda: now[0])
    return now


def entry(**settings):
    return ApiEntry(kind="api", base_url="http://host/v1", model="m", **settings)


@pytest.mark.parametrize(
    ("settings", "tokens", "spacing_s"),
    [
        ({"requests_per_minute": 60}, 1000, 1),
        ({"tokens_per_minute": 6000}, 100, 1),
        ({"requests_per_minute": 60, "tokens_per_minute": 6000}, 300, 3),
        ({"requests_per_minute": 60, "tokens_per_minute": 6000}, 50, 1),
        ({}, 100, 0),
    ],
)
def test_calls_are_spaced_to_keep_both_rates(clock, settings, tokens, spacing_s):
    sent = []

    async def four():
        for _ in range(4):
            await Limits(entry(**settings)).turn(tokens)  # as of four jobs
            sent.append(clock[0] - 1e9)

    asyncio.run(four())
    assert sent == pytest.approx([index * spacing_s / HEADROOM for index in range(4)], abs=0.2)


def test_a_hold_is_everybodys_with_a_rate_too(clock):
    """Also of those who wait for their turn already."""
    settings = {"requests_per_minute": 60}
    asyncio.run(Limits(entry(**settings)).turn(1))
    Limits(entry(**settings)).hold(150)
    asyncio.run(Limits(entry(**settings)).turn(1))
    assert clock[0] - 1e9 == pytest.approx(150, abs=0.2)


def test_a_hold_reaches_who_waits_for_a_turn(clock, monkeypatch):
    slow = {"requests_per_minute": 1}
    sleep, waits = spending.asyncio.sleep, []

    async def held_meanwhile(seconds):
        waits.append(seconds)
        if len(waits) == 1:
            Limits(entry(**slow)).hold(500)
        await sleep(seconds)

    monkeypatch.setattr(spending.asyncio, "sleep", held_meanwhile)
    for _ in range(2):
        asyncio.run(Limits(entry(**slow)).turn(1))
    assert clock[0] - 1e9 == pytest.approx(500, abs=0.2)


@pytest.mark.parametrize("content", [b"abc", struct.pack("d", float("nan")), b"x" * 12, struct.pack("d", 1e30)])
def test_a_damaged_pace_holds_nobody(tmp_path, clock, content):
    Limits(entry())
    (folder,) = (tmp_path / "biasatlas-limits").iterdir()
    for name in ("pace", "held"):
        (folder / name).write_bytes(content)
    asyncio.run(Limits(entry()).turn(1))
    assert clock[0] == 1e9


def test_models_and_endpoints_have_limits_of_their_own(clock):
    Limits(entry()).hold(150)
    asyncio.run(Limits(ApiEntry(kind="api", base_url="http://host/v1", model="other")).turn(1))
    asyncio.run(Limits(ApiEntry(kind="api", base_url="http://other/v1", model="m")).turn(1))
    assert clock[0] == 1e9


class Hurried(asyncio.SelectorEventLoop):
    """A loop whose clock goes to the next thing that is due whenever nothing else is to be done."""

    now = 1e9

    def time(self):
        return self.now

    def _run_once(self):
        self.now += 1e-6
        if not self._ready and self._scheduled:
            self.now = max(self.now, self._scheduled[0]._when)
        super()._run_once()


def calls_of(monkeypatch, jobs, answers, cap, seconds, latency_s=0.4, in_flight=16, asked_s=0.0):
    """How many calls each of ``jobs`` takes for so many ``answers``, at a cap of calls in so many seconds.

    The endpoint asks to wait ``asked_s`` seconds, or says nothing (0).
    """
    loop = Hurried()
    monkeypatch.setattr(spending.time, "time", loop.time)
    came, calls = deque(), [0] * jobs

    async def call(job, limits):
        while True:
            await limits.turn(1)
            calls[job] += 1
            began = loop.time()
            while came and came[0] <= began - seconds:
                came.popleft()
            refused = len(came) >= cap
            if not refused:
                came.append(began)
            await asyncio.sleep(latency_s)
            if not refused:
                return limits.answered()
            limits.slow(asked_s, loop.time() - began)

    async def work(job):
        limits, left = Limits(entry()), iter(range(answers))

        async def worker():
            for _ in left:
                await call(job, limits)

        await asyncio.gather(*(worker() for _ in range(in_flight // jobs)))
        done.append((job, list(calls)))

    done = []

    async def all_():
        await asyncio.gather(*map(work, range(jobs)))

    loop.run_until_complete(all_())
    loop.close()
    return calls, done


@pytest.mark.parametrize(
    ("cap", "seconds", "answers", "most"), [(3, 1, 150, 1.2), (20, 60, 60, 1.6), (50, 1, 2000, 1.1), (10**9, 1, 50, 1)]
)
def test_an_endpoint_that_does_not_say_how_long_to_wait_is_hardly_asked_in_vain(
    monkeypatch, cap, seconds, answers, most
):
    (calls,), _ = calls_of(monkeypatch, 1, answers, cap, seconds)
    assert calls <= most * answers


@pytest.mark.parametrize(
    ("cap", "seconds", "answers", "asked_s", "most"),
    [(3, 1, 150, 1, 1.2), (3, 1, 150, 0.3, 1.2), (20, 60, 60, 20, 1.6)],
)
def test_an_endpoint_that_says_how_long_to_wait_is_asked_no_more_than_one_that_does_not(
    monkeypatch, cap, seconds, answers, asked_s, most
):
    (calls,), _ = calls_of(monkeypatch, 1, answers, cap, seconds, asked_s=asked_s)
    assert calls <= most * answers


def test_the_pace_is_soon_back_after_a_limit_of_a_longer_time(monkeypatch):
    """Nothing is answered for ten minutes, then everything: ten more at most until calls are a second apart."""
    now = [1e9]
    monkeypatch.setattr(spending.time, "time", lambda: now[0])
    limits = Limits(entry())
    for _ in range(60):
        limits.slow(0.0, 1.0)
        now[0] += 10
    came = []
    for _ in range(60):
        while (wait_s := limits._wait_s(1)) > 0:
            now[0] += wait_s
        limits.answered()
        came.append(now[0] - 1e9 - 600)
    assert came[-1] - came[-2] < 1
    assert came[-1] < 600


def test_jobs_of_one_key_share_the_pace_fairly(monkeypatch):
    _, ((_, calls), _) = calls_of(monkeypatch, 2, 150, 3, 1)
    assert min(calls) > 0.7 * max(calls)


def test_a_clock_that_was_ahead_holds_nobody(clock):
    """Five hours, until somebody set it right: all that it wrote lies in the future."""
    settings = {"requests_per_minute": 60}
    clock[0] += 5 * 3600
    asyncio.run(Limits(entry(**settings)).turn(1))
    Limits(entry(**settings)).hold(10)
    Limits(entry(**settings)).slow(0.0, 1.0)
    clock[0] -= 5 * 3600
    asyncio.run(Limits(entry(**settings)).turn(1))
    assert clock[0] == 1e9


def test_keys_have_limits_of_their_own(clock):
    Limits(entry()).hold(150)
    asyncio.run(Limits(entry(key_env="OTHER", insecure=True)).turn(1))
    assert clock[0] == 1e9


def test_slots_are_shared_and_given_back():
    one, other = Limits(entry(concurrency=2)), Limits(entry(concurrency=2))
    inside = most = 0

    async def use(which):
        nonlocal inside, most
        async with which.slot():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.01)
            inside -= 1

    async def all_():
        await asyncio.gather(*(use(which) for which in (one, other) * 5))

    asyncio.run(all_())
    assert most == 2


HOLD = """
import asyncio, os, sys
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.endpoint.spending import Limits
os.environ["XDG_CACHE_HOME"] = sys.argv[1]
async def hold():
    async with Limits(ApiEntry(kind="api", base_url="http://host/v1", model="m", concurrency=1)).slot():
        print("held", flush=True)
        await asyncio.sleep(1000)
asyncio.run(hold())
"""


def test_the_dead_hold_no_slot(tmp_path, monkeypatch):
    holder = python(HOLD, tmp_path)
    assert holder.stdout.readline() == "held\n"
    mine = Limits(entry(concurrency=1))
    assert mine._take() is None
    holder.kill()
    holder.wait()

    async def take():
        async with mine.slot():
            pass

    def waiting(seconds):
        raise AssertionError("a slot of the dead was waited for")

    monkeypatch.setattr(asyncio, "sleep", waiting)
    asyncio.run(take())


SPEND = """
import sys
from biasatlas.models.endpoint.spending import Budget
budget = Budget(sys.argv[1], 100.0)
count = 0
while budget.reserve(2.0):
    budget.settle(2.0, 1.0)
    count += 1
print(count)
"""


def test_a_budget_is_shared_by_jobs(tmp_path):
    jobs = [python(SPEND, tmp_path) for _ in range(3)]
    assert 97 <= sum(int(job.communicate()[0]) for job in jobs) <= 99
    assert 97 <= Budget(tmp_path, None).spent <= 99


@pytest.mark.parametrize("content", [b"abc", struct.pack("d", float("nan")), struct.pack("d", -5.0), b"x" * 12])
def test_a_damaged_budget_is_counted_anew(tmp_path, content):
    (tmp_path / "spent").write_bytes(content)
    assert not Budget(tmp_path, 10.0, lambda: 8.0).reserve(3.0)
    assert Budget(tmp_path, 10.0, lambda: 8.0).reserve(2.0)
    assert Budget(tmp_path, None).spent == 10.0


def test_what_an_earlier_version_wrote_is_read(tmp_path):
    (tmp_path / "spent").write_bytes(struct.pack("d", 7.5))
    assert Budget(tmp_path, None).spent == 7.5


def test_what_a_killed_job_had_set_aside_stays_spent(tmp_path):
    assert Budget(tmp_path, 10.0).reserve(6.0)
    assert not Budget(tmp_path, 10.0).reserve(6.0)
    assert Budget(tmp_path, 20.0).reserve(6.0)
