"""Measurements that decide what the engine does on a GPU, the most telling first, in 45 minutes; a rerun resumes.

    BIASATLAS_MIRROR=<folder> python bench/gpu_day.py
    BIASATLAS_MIRROR=<folder> python bench/gpu_day.py --device cpu --shape tiny      # to try it

Writes FILE.json after each step, and from it the page FILE.md. Models are random: only the datasets of DBB, TWBias and
McBE are needed, and no network.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import torch

HERE = Path(__file__).resolve().parent


class Step(NamedTuple):
    """A command, its time limit in seconds, and what its numbers decide."""

    name: str
    seconds: int
    command: list[str]
    decides: str


def steps(device: str, shape: str) -> list[Step]:
    """The steps, the most telling first: without the first two the others mean little."""
    small = device == "cpu"
    where = ["--device", device, "--rounds", "1"]
    large = [*where, "--shape", shape, "--dtype", "float32" if small else "bfloat16"]
    exact = [*where, "--shape", shape if small else "0.5b", "--dtype", "float32"]
    whole = ["--tokens", "600" if small else "0"]
    some = [*whole, "--questions", "3", "--peer-tokens", "100", "--max-tokens", "4"] if small else whole

    def bench(kind: str, *options: str) -> list[str]:
        return [sys.executable, str(HERE / "engine.py"), kind, *options]

    first = ["--workload", "0"]
    own = [sys.executable, str(HERE / "gpu_day.py"), "--device", device, "--shape", shape if small else "0.5b"]
    dbb = ["--workload", "2"]
    agree = ["--tokens", "600" if small else "20000", "--peer-tokens", "100" if small else "4000", "--harness"]
    planned = [
        Step("product", 60, [*own, "--only", "product"], "the peak"),
        Step(
            "parity",
            600,
            [sys.executable, str(HERE / "parity.py"), *(["qwen2", "gemma2", "mamba"] if small else ["--cuda"])],
            "an architecture beyond 1e-4 nats: its route is wrong on a GPU",
        ),
        Step("agree", 240, bench("likelihood", *exact, *dbb, *agree), "beyond 1e-3 nats: stop the day"),
        Step("twice", 120, [*own, "--only", "twice"], "other bytes: no shards, no resumed runs"),
        Step(
            "likelihood",
            420,
            bench("likelihood", *large, *dbb, *whole, "--engine-only"),
            "of the peak: 0.5 or more, leave it; 0.3 to 0.5, `pass_tokens` from 170 to 1,000; less, profile",
        ),
        Step("choice", 420, bench("choice", *large, *first, *some, "--steps"), "over 1.5 likelihoods: waits"),
        Step(
            "generation",
            420,
            bench("generation", *large, *first, *some, "--batch", *(["2"] if small else ["32", "128"])),
            "below half of vLLM: texts by a server beside the job",
        ),
        Step("exhausted", 120, [*own, "--only", "exhausted"], "other values, or an end: smaller passes do not help"),
        Step(
            "likelihood compiled",
            300,
            bench("likelihood", *large, *dbb, "--tokens", "600" if small else "200000", "--engine-only", "--compiled"),
            "under 5% gained: `compiled` goes (8% on an H200)",
        ),
        Step(
            "choice compiled",
            240,
            bench("choice", *large, *first, *(some if small else ["--tokens", "100000"]), "--compiled", "--steps"),
            "the same",
        ),
    ]
    # On a CPU, which others may use too, a step may take all the time that is left.
    return [step._replace(seconds=2700) for step in planned] if small else planned


def product(device: str, _: str) -> None:
    """Print the rate of a matrix product."""
    small = device == "cpu"
    size, dtype = (512, torch.float32) if small else (8192, torch.bfloat16)
    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    for count in (3, 10):  # the first to warm up
        began = time.perf_counter()
        for _ in range(count):
            a @ b
        if not small:
            torch.cuda.synchronize()
        seconds = (time.perf_counter() - began) / count
    print(f"| TFLOP/s |\n| --- |\n| {2e-12 * size**3 / seconds:.3g} |")


def twice(device: str, shape: str) -> None:
    """Ask for likelihoods and texts of the same requests twice; exit status 1 where a byte differs."""
    import engine
    import numpy as np

    from biasatlas.engine.generate import Prompt, generate
    from biasatlas.engine.memory import Memory
    from biasatlas.engine.routes import log_likelihoods
    from biasatlas.engine.sampling import Sampling

    model = engine.make_model(shape, torch.float32 if device == "cpu" else torch.bfloat16, device)
    random, count = np.random.default_rng(0), 20 if device == "cpu" else 400
    trunk = random.integers(0, 8000, 100)
    tokens = [np.append(trunk, random.integers(0, 8000, 20)).astype(np.int32) for _ in range(count)]
    seen = []
    for _ in range(2):
        values, _ = log_likelihoods(model, tokens, np.full(count, 90), Memory(1024))
        texts, _ = generate(model, [Prompt(ids, Sampling(), 8) for ids in tokens], [0], Memory(1024))
        seen.append(hashlib.sha256(values.tobytes() + json.dumps(texts).encode()).hexdigest())
    print(
        f"| likelihoods and texts | first | second |\n| --- | --- | --- |\n| {count} | {seen[0][:12]} | {seen[1][:12]} |"
    )
    sys.exit(seen[0] != seen[1])


def exhausted(device: str, shape: str) -> None:
    """Likelihoods in passes of 1,024 tokens, beside passes that begin at 65,536 and have 2 GiB besides the model.

    65,536 tokens do not fit: the fp32 logits of a quarter of them alone are 10 GB, and a perceptron of the 0.5B shape
    takes three arrays of 1.3 GB. On a CPU 4,000 tokens have 0.5 GiB, a third of what their logits take. Exit status 1
    where memory did not run out, or where values differ.
    """
    import engine
    import numpy as np

    from biasatlas.engine.memory import Memory
    from biasatlas.engine.routes import log_likelihoods

    model = engine.make_model(shape, torch.float32, device)
    random = np.random.default_rng(0)
    tokens = [random.integers(0, 8000, 200).astype(np.int32) for _ in range(20 if device == "cpu" else 600)]
    start, memory = np.full(len(tokens), 100), Memory(2**16)
    wanted, _ = log_likelihoods(model, tokens, start, Memory(1024))
    if device == "cpu":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**29, -1))
    else:
        torch.cuda.empty_cache()
        share = (torch.cuda.memory_reserved() + 2**31) / torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(share)
    found, _ = log_likelihoods(model, tokens, start, memory)
    apart = float(np.abs(found - wanted).max())
    print("| largest difference, nats | tokens of a pass | at the end |\n| --- | --- | --- |")
    print(f"| {apart:.0e} | {2**16} | {memory.token_budget} |")
    sys.exit(apart > 1e-3 or memory.token_budget == 2**16)


def differs(output: str) -> bool:
    """Whether a table of bench/engine.py has a difference beyond 1e-3 nats, or has no rows."""
    lines = [line.strip("| ").split(" | ") for line in output.splitlines() if line.startswith("|")]
    if len(lines) < 3:
        return True
    at = next(i for i, name in enumerate(lines[0]) if name.startswith("largest difference"))
    return any(float(value) > 1e-3 for row in lines[2:] for value in row[at].split(","))


def page(done: dict, planned: list[Step]) -> str:
    """All steps in Markdown: what each decides, and the tables that it printed."""
    parts = ["# A GPU's day\n"]
    for step in planned:
        result = done.get(step.name)
        said = "not run" if result is None else f"{result['seconds']} s, exit status {result['status']}"
        parts.append(f"## {step.name}\n\n{said}. Decides: {step.decides}.\n")
        if result:
            lines = [line for line in result["output"].splitlines() if line.strip()]
            table = [line for line in lines if line.startswith("|")]
            rest = [f"    {line}" for line in lines if not line.startswith("|")][-8:]
            parts += ["\n".join(part) + "\n" for part in (table, rest) if part]
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--shape", default="7b")
    parser.add_argument("--minutes", type=float, default=45)
    parser.add_argument("--out", type=Path, default=Path("gpu_day.json"))
    parser.add_argument("--only", choices=["product", "twice", "exhausted"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        {"product": product, "twice": twice, "exhausted": exhausted}[given.only](given.device, given.shape)
        return
    planned, began = steps(given.device, given.shape), time.monotonic()
    done = json.loads(given.out.read_text()) if given.out.exists() else {}
    for step in planned:
        seconds = min(step.seconds, given.minutes * 60 - (time.monotonic() - began))
        if done.get(step.name, {}).get("status") == 0 or seconds < 30:
            continue
        start = time.monotonic()
        command, known = ["timeout", str(int(seconds)), *step.command], {"PYTHONPATH": str(HERE.parent / "scripts")}
        run = subprocess.run(command, env=os.environ | known, capture_output=True, text=True, check=False)
        done[step.name] = {
            "status": run.returncode,  # 124: it exceeded its time limit
            "seconds": round(time.monotonic() - start, 1),
            "output": (run.stdout + run.stderr)[-6000:],
            "command": step.command[1:],
        }
        for path, text in (
            (given.out, json.dumps(done, indent=1)),
            (given.out.with_suffix(".md"), page(done, planned)),
        ):
            new = path.with_name(f"{path.name}.new")
            new.write_text(text, encoding="utf-8")
            os.replace(new, path)
        print(f"{step.name}: {done[step.name]['seconds']} s, exit status {run.returncode}", flush=True)
        if step.name == "agree" and (run.returncode or differs(run.stdout)):
            sys.exit("the engine and its peers do not agree on this device: nothing else is worth its time")


if __name__ == "__main__":
    main()
