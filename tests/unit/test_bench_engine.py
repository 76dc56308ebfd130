"""bench/engine.py runs, with every kind of work on a few requests of a model of a small vocabulary."""

import importlib
import importlib.util
import json
import sys

import pytest
import torch
from conftest import ROOT

PROMPT = "The nurse and the doctor were late. Who was late? A: the nurse, B: the doctor. Answer {}: "
COLUMNS = {
    "likelihood": ["over the best peer", "of the ideal", "its products alone"],
    "choice": ["over the likelihoods", "by their operations", "of the ideal", "its products alone"],
    "generation": ["over the best batch", "no more than"],
}


@pytest.fixture
def bench(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "bench")
    monkeypatch.delitem(sys.modules, "workloads", raising=False)
    spec = importlib.util.spec_from_file_location("bench_engine", ROOT / "bench/engine.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    items = [[(PROMPT.format(at), letter) for letter in "AB"] for at in range(3)]
    choices = next(iter(module.CHOICES.values()))._replace(make=lambda mirror: items, labels=["A", "B"])
    prompts = [[prompt for prompt, _ in item[:1]] for item in items]
    monkeypatch.setattr(module, "LIKELIHOODS", {"two letters": lambda mirror: items})
    monkeypatch.setattr(module, "CHOICES", {"two letters": choices})
    monkeypatch.setattr(module, "GENERATIONS", {"answers": (lambda mirror: prompts, 2)})
    monkeypatch.setattr(module, "VOCABULARY", 8192)
    monkeypatch.setattr(module, "WORK", 1e6)
    monkeypatch.setattr(module.logging, "disable", lambda level: None)
    monkeypatch.setenv("BIASATLAS_MIRROR", str(tmp_path))
    threads = torch.get_num_threads()
    yield module
    torch.set_num_threads(threads)


@pytest.mark.parametrize("kind", COLUMNS)
def test_the_bench_of_the_engine_measures(kind, bench, monkeypatch, capsys):
    options = ["--rounds", "1", "--harness", "--max-tokens", "4", "--batch", "2", "--steps", "2"]
    monkeypatch.setattr(sys, "argv", ["engine.py", kind, *options])
    bench.main()
    header, _, row = (line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("|"))
    measured = dict(zip(header, row, strict=True))
    values = [float(value) for name in COLUMNS[kind] for value in measured[name].split(",")]
    assert len(values) >= 2 and all(0 <= value < 1e6 for value in values)  # a busy machine prints 0.00 of the ideal
    if kind != "choice":  # the best of all settings of all peers counts
        times = {name.partition(", ms")[0]: float(ms) for name, ms in measured.items() if ", ms" in name}
        engine = times.pop("engine")
        assert {name.rpartition(", ")[2] for name in times} == {"MKL", "oneDNN"} and len(times) > 1
        assert values[0] == pytest.approx(min(times.values()) / engine, rel=0.02, abs=0.06)


def test_a_gpu_day_goes_on_where_it_stopped(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "bench")
    monkeypatch.delitem(sys.modules, "gpu_day", raising=False)
    gpu_day = importlib.import_module("gpu_day")
    out, fails = tmp_path / "day.json", tmp_path / "fails"
    fails.touch()

    def step(name, script):
        return gpu_day.Step(name, 60, [sys.executable, "-c", script], "little")

    table = "print('| a | largest difference, nats |\\n| --- | --- |\\n| 1 | 2e-06, 1e-05 |')"
    once = f"open({str(tmp_path / 'runs')!r}, 'a').write('x')"
    planned = [step("agree", f"{table}; {once}"), step("next", f"import os; exit(os.path.exists({str(fails)!r}))")]
    monkeypatch.setattr(gpu_day, "steps", lambda device, shape: planned)
    monkeypatch.setattr(sys, "argv", ["gpu_day.py", "--out", str(out)])
    gpu_day.main()
    assert {name: one["status"] for name, one in json.loads(out.read_text()).items()} == {"agree": 0, "next": 1}
    fails.unlink()
    gpu_day.main()
    assert {name: one["status"] for name, one in json.loads(out.read_text()).items()} == {"agree": 0, "next": 0}
    assert (tmp_path / "runs").read_text() == "x" and "| 1 | 2e-06, 1e-05 |" in out.with_suffix(".md").read_text()
    planned[:] = [step("agree", table.replace("1e-05", "1e-02"))]
    out.unlink()
    with pytest.raises(SystemExit, match="do not agree"):
        gpu_day.main()
