"""A rehearsal of McBE's experiment: workbooks as the hub has them, eleven stub models, three protocols, all results.

python bench/rehearsal.py FOLDER                    a tenth of the rows: eight models of kind `known`, three endpoints
python bench/rehearsal.py FOLDER --share 1 --known  all 4,077 rows, every model of kind `known`
    --protocols released recommended                some of the protocols; what a folder has is not made again

All rows under `released` and `recommended` are 218 jobs: every table and 18 figures in 24 minutes of processor time, 8 of
them Snakemake's own. tests/unit/test_mcbe_rehearsal.py has the same in process, on few rows.

The data are of ours; the endpoints are served here. `released` and `paper` ask in stand-ins for the authors' words, and
`paper` runs only where BIASATLAS_MIRROR has the papers' printed prompts beside it.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

import standins  # noqa: E402
from api_server import MODEL, Server  # noqa: E402
from rehearsal import write_workbooks  # noqa: E402

LOCAL = ("llama2-7b", "baichuan2-7b", "mistral-7b", "internlm2.5-7b")
QWEN = tuple(f"qwen2.5-{size}b" for size in ("0.5", "1.5", "7", "32"))
ENDPOINTS = ("glm4-air", "glm4-0520", "deepseek-v3")


def reply(body: dict, prompt: str) -> str:
    """Something readable to every task."""
    if "0到" in prompt or "分" in prompt.rpartition("\n")[2]:
        return str(len(prompt) % 5)
    if "A" in prompt:
        return "AB"[len(prompt) % 2]
    listed = prompt.partition("、")
    return listed[0].rpartition("：")[2].rpartition(":")[2] + "是偏见。" if listed[1] else "这句话以偏概全。"


def prompts_file(folder: Path) -> dict[str, str]:
    """The user's file of printed prompts, where their texts are here."""
    texts = standins.copied_prompts()
    (folder / "prompts.json").write_text(json.dumps(texts, ensure_ascii=False), encoding="utf-8")
    return {"prompts": "prompts.json"} if texts else {}


def entries(url: str, known: bool) -> dict[str, dict]:
    """Eleven models: a bias of their own each; the three of the paper's services behind the endpoint."""
    sampling = {name: {"temperature": 0.9} for name in ("table8", "checkpoint")}
    api = {"kind": "api", "base_url": url, "model": MODEL, "sampling": sampling, "concurrency": 32}
    names = [*LOCAL, *QWEN, *ENDPOINTS]
    return {
        name: api
        if name in ENDPOINTS and not known
        else {"kind": "known", "bias": place / 10, "right": 1.0, "seed": place}
        for place, name in enumerate(names)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--known", action="store_true")
    parser.add_argument("--models", type=int, help="the last so many of the eleven; the endpoints are the last three")
    parser.add_argument("--protocols", nargs="+", default=["paper", "released", "recommended"])
    parser.add_argument("--cores", default="2")
    parser.add_argument("targets", nargs="*", help="files below FOLDER, as results/tables/mcbe/paper/scores.csv")
    arguments = parser.parse_intermixed_args()
    folder = arguments.folder.resolve()
    rows = write_workbooks(folder / "mirror" / "mcbe", arguments.share)
    standins.wording(folder / "data", "mcbe")
    (folder / "data/mcbe_code.sha256").write_text("")
    with Server(reply=reply) as server:
        every = entries(server.url, arguments.known)
        chosen = {name: every[name] for name in list(every)[-(arguments.models or len(every)) :]}
        judge = next(name for name in reversed(chosen) if chosen[name]["kind"] == "known")
        config = {
            "results": "results",
            "mirror": "mirror",
            "models": chosen,
            "benchmarks": {
                "mcbe": {
                    "protocols": arguments.protocols,
                    "judge": judge,
                    "skip_invalid": arguments.share < 1,
                    "files": prompts_file(folder),
                }
            },
        }
        (folder / "config.json").write_text(json.dumps(config))
        command = [
            sys.executable,
            "-m",
            "snakemake",
            "--snakefile",
            str(ROOT / "Snakefile"),
            "--directory",
            str(folder),
        ]
        command += [
            "--cores",
            arguments.cores,
            "--profile",
            "none",
            "--workflow-profile",
            str(ROOT / "profiles/default"),
        ]
        finished = subprocess.run(
            [*command, *arguments.targets, "--configfile", str(folder / "config.json")], check=False, env=os.environ
        )
    made = {suffix: len(list((folder / "results").rglob(f"*/mcbe/*/*.{suffix}"))) for suffix in ("csv", "svg")}
    print(
        f"{sum(rows.values())} rows; exit status {finished.returncode}; {made['csv']} tables and {made['svg']} figures"
    )
    sys.exit(finished.returncode)


if __name__ == "__main__":
    main()
