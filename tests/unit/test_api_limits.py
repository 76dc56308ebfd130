"""Limits and budgets: kept over tasks and processes, and let go by the dead."""

import asyncio
import time

import pytest
from conftest import python

from biasatlas.models.endpoint import limits
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.endpoint.limits import HEADROOM, Budget, Limits


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """Limits of this test's own."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.fixture
def slept(monkeypatch):
    """The waits asked for, none of them waited."""
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    monkeypatch.setattr(limits.asyncio, "sleep", sleep)
    return waits


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
def test_calls_are_spaced_to_keep_both_rates(slept, settings, tokens, spacing_s):
    async def four():
        for _ in range(4):
            await Limits(entry(**settings)).turn(tokens)  # as of four jobs

    asyncio.run(four())
    assert slept == pytest.approx([index * spacing_s / HEADROOM for index in range(4)], abs=0.2)


def test_a_hold_is_everybodys(slept):
    Limits(entry()).hold(150)
    asyncio.run(Limits(entry()).turn(1))
    assert slept == pytest.approx([150], abs=0.2)


def test_models_and_endpoints_have_limits_of_their_own(slept):
    Limits(entry()).hold(150)
    asyncio.run(Limits(ApiEntry(kind="api", base_url="http://host/v1", model="other")).turn(1))
    asyncio.run(Limits(ApiEntry(kind="api", base_url="http://other/v1", model="m")).turn(1))
    assert slept == [0, 0]


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
import asyncio, sys, tempfile
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.endpoint.limits import Limits
tempfile.tempdir = sys.argv[1]
async def hold():
    async with Limits(ApiEntry(kind="api", base_url="http://host/v1", model="m", concurrency=1)).slot():
        print("held", flush=True)
        await asyncio.sleep(1000)
asyncio.run(hold())
"""


def test_the_dead_hold_no_slot(tmp_path):
    holder = python(HOLD, tmp_path)
    assert holder.stdout.readline() == "held\n"
    mine = Limits(entry(concurrency=1))
    assert mine._take() is None
    holder.kill()
    holder.wait()

    async def take():
        async with mine.slot():
            pass

    started = time.monotonic()
    asyncio.run(take())
    assert time.monotonic() - started < 1


SPEND = """
import sys
from biasatlas.models.endpoint.limits import Budget
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


def test_what_a_killed_job_had_set_aside_stays_spent(tmp_path):
    assert Budget(tmp_path, 10.0).reserve(6.0)
    assert not Budget(tmp_path, 10.0).reserve(6.0)
    assert Budget(tmp_path, 20.0).reserve(6.0)
