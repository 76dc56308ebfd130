"""What a job of an endpoint asks for: time by its calls and rates, memory by its answers, more with every attempt."""

import json
from dataclasses import asdict

import pandas as pd
import pytest
from api_server import requests_for

from biasatlas.models.endpoint import Found
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.local.entry import HfEntry
from biasatlas.workflow.job_resources import job_resources


@pytest.mark.parametrize(
    ("settings", "n", "repeats", "attempt", "minutes"),
    [
        ({"requests_per_minute": 60}, 1, 1, 1, 10 + 1.5 * 600 / 57),  # at 95% of the rate
        ({"requests_per_minute": 60}, 1, 1, 3, 3 * (10 + 1.5 * 600 / 57)),
        ({"requests_per_minute": 60}, 1, 10, 1, 10 + 1.5 * 6000 / 57),
        ({"requests_per_minute": 60}, 10, 10, 1, 10 + 1.5 * 600 / 57),
        ({"requests_per_minute": 1}, 1, 1, 1, 10 + 1.5 * 600 / 0.95),
        ({"requests_per_minute": 0.5}, 1, 1, 1, 24 * 60),
        ({"tokens_per_minute": 3500}, 1, 1, 1, 10 + 1.5 * 600 * 45 / (3500 * 0.95)),  # 29 of the prompt, 16 written
        ({"concurrency": 10}, 1, 1, 1, 10 + 1.5 * 10),  # 10 s a call where no rate is known
    ],
)
def test_time_follows_calls_and_rates(tmp_path, settings, n, repeats, attempt, minutes):
    requests, checked = tmp_path / "task.parquet", tmp_path / "m.checked"
    requests_for(["six up"] * 600, repeats=repeats).to_parquet(requests)
    checked.write_text(json.dumps(asdict(Found(n=n))))
    entry = ApiEntry(kind="api", base_url="http://h/v1", model="m", **settings)
    asked = job_resources(entry, attempt, {"requests": [str(requests)], "ready": [str(checked)], "items_file": []})
    assert asked["runtime"] == int(minutes)
    assert asked["mem_mb"] == int((1000 + 6 * repeats) * attempt)


def test_a_judge_is_asked_once_for_each_answer(tmp_path):
    pd.DataFrame({"text": ["x"] * 120}).to_parquet(tmp_path / "responses.parquet")
    entry = ApiEntry(kind="api", base_url="http://h/v1", model="m", requests_per_minute=60)
    inputs = {"responses": str(tmp_path / "responses.parquet"), "requests": "no.parquet", "ready": []}
    assert job_resources(entry, 1, inputs)["runtime"] == 13


def test_what_is_not_there_yet_may_take_a_day():
    entry = ApiEntry(kind="api", base_url="http://h/v1", model="m")
    assert job_resources(entry, 1, {"requests": ["no.parquet"], "ready": []})["runtime"] == 24 * 60
    assert job_resources(entry)["runtime"] == 24 * 60


THINKS = {"budget": 7500, "how": "tags"}


def test_the_tokens_that_a_thinking_model_may_write_count_in_its_time(tmp_path):
    path = tmp_path / "task.parquet"
    requests_for(["think"] * 600, repeats=1).assign(max_tokens=500).to_parquet(path)
    model = {"kind": "hf", "source": "./m", "size_billion": 0.5, "gpu": 0}
    asked = [
        job_resources(HfEntry(**model, thinking=thinking), attempt, {"requests": [str(path)], "ready": []})["runtime"]
        for thinking, attempt in ((None, 1), (THINKS, 1), (THINKS, 2))
    ]
    assert asked == [30, 30 + 4.8 * 65, 2 * (30 + 4.8 * 65)]
    gpu = HfEntry(**model | {"gpu": 1}, thinking=THINKS)
    assert job_resources(gpu, 1, {"requests": [str(path)]})["runtime"] == int(30 + 4.8)
    assert job_resources(HfEntry(**model, thinking=THINKS))["runtime"] == 30  # no requests yet
