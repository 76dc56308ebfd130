"""Size and speed of a large site: 17 models of kind `simulated` on a whole task of DBB, opened in a browser.

    BIASATLAS_MIRROR=/my/mirror python bench/report.py FOLDER [SG] [MODELS]

The task is MCQ or SG. The published data lack SG's variations: here they are each option with ten openings. FOLDER
keeps the run; a second call only builds and measures. Prints build time, peak memory, size, and times in Chromium: of
first paint, the first model's rows, a filter, a search, a second model with flips, an opened item.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

MODELS = 17
#: Nuisances of the models in turn; each also has its own dose of bias, from 0 to 1.6, and its own seed.
NUISANCES: tuple[dict, ...] = (
    *({}, {"icc": 0.5}, {"letter": 1}, {"refused": 0.1}, {"unreadable": 0.1}, {"affected": 0.3}),
    *({"token_noise": 0.5}, {"frequency": 0.5}, {"prompt_correlation": 0.5}),
)
TABLES = {"MCQ": ("bias", "consistency"), "SG": ("sg_bias", "sg_consistency")}
OPENINGS = ("", "Then ", "So ", "Now ", "Later ", "Here ", "Well, ", "At last ", "For once ", "In short, ")

#: Actions by name; each is timed from its start to the frame that shows its outcome.
ACTIONS = {
    "filter": "() => { const s = document.getElementById('filter-type'); s.value = s.options[1].value; "
    "s.dispatchEvent(new Event('change')); }",
    "order": "() => { const s = document.getElementById('sort'); s.value = 'low'; s.dispatchEvent(new "
    "Event('change')); }",
    "second model": "() => { const s = document.getElementById('model-b'); s.value = s.options[s.options.length - "
    "1].value; s.dispatchEvent(new Event('change')); }",
}


def main(folder: Path, task: str = "MCQ", models: int = MODELS) -> None:
    """Make what is missing, build, measure."""
    folder.mkdir(parents=True, exist_ok=True)
    variations = {"files": {"variations": str(write_variations(folder))}} if task == "SG" else {}
    config = {
        "results": "results",
        "models": {f"known-{n:02}": known(n) for n in range(models)},
        "benchmarks": {"dbb": {"tasks": [task], **variations}},
    }
    (folder / "config.json").write_text(json.dumps(config))
    tables = [f"results/tables/dbb/recommended/{table}.csv" for table in TABLES[task]]
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder)]
    command += ["--cores", "1", "--configfile", str(folder / "config.json"), "--quiet", "--", *tables]
    subprocess.run(command, check=True)
    build(folder)
    measure(folder / "report", task)


def known(n: int) -> dict:
    """The ``n``-th model: no two are alike."""
    return {"kind": "simulated", "bias": round(n / 10, 1), "seed": n, **NUISANCES[n % len(NUISANCES)]}


def write_variations(folder: Path) -> Path:
    """Ten rows for each published question: its options, after ten openings."""
    (questions,) = (Path(os.environ["BIASATLAS_MIRROR"]) / "dbb" / "Questions").glob("*_all_data_questions*.csv")
    rows = pd.read_csv(questions)[["s1", "s2", "bias type1", "bias type2"]].assign(id=lambda rows: range(len(rows)))
    several = pd.concat([rows.assign(s1=start + rows["s1"], s2=start + rows["s2"]) for start in OPENINGS])
    several.sort_values("id", kind="stable").to_csv(folder / "variations.csv", index=False)
    return folder / "variations.csv"


def build(folder: Path) -> None:
    """Write the site in a separate process; prints its time, size and peak memory."""
    code = (
        "import json, sys; from pathlib import Path; from biasatlas.workflow.config import load_config;"
        "from report_site import write_site; folder = Path(sys.argv[1]);"
        "write_site(load_config(json.loads((folder / 'config.json').read_text())), folder / 'results', folder / "
        "'report')"
    )
    start = time.monotonic()
    environment = {
        "PYTHONPATH": f"{ROOT / 'scripts'}:{ROOT / 'tests'}",
        "PATH": "/usr/bin:/bin",
        "OMP_NUM_THREADS": "1",
    }
    process = subprocess.Popen([sys.executable, "-c", code, str(folder)], env=environment)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("the site could not be built")
    took = time.monotonic() - start
    size = sum(path.stat().st_size for path in (folder / "report").rglob("*") if path.is_file())
    files = sum(path.is_file() for path in (folder / "report").rglob("*"))
    print(
        f"build {took:.0f} s ({used.ru_utime:.0f} s of CPU), {size / 1e6:.0f} MB in {files} files; peak "
        f"{used.ru_maxrss / 1024:.0f} MiB"
    )


def measure(report: Path, task: str) -> None:
    """Time the actions of a reader."""
    from browser import browsing

    with browsing(viewport={"width": 1440, "height": 900}) as visitor:
        page = visitor.page
        visitor.open(report / "index.html")
        paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        print(f"index: first paint {page.evaluate(paint):.0f} ms")
        fragment = f"#set=dbb.recommended.{task}&a=m1"
        visitor.explore(report / "pages", fragment)  # dismisses the notice for good
        visitor.open(report / "pages" / "items.html", fragment)
        page.wait_for_selector("body[data-ready]", timeout=60_000)
        ready = page.evaluate("performance.now()")
        print(f"items: first paint {page.evaluate(paint):.0f} ms, rows {ready:.0f} ms, {page.inner_text('#told')}")
        for name, action in ACTIONS.items():
            took = page.evaluate(
                "async (name) => { const before = document.getElementById('told').textContent; const start = "
                "performance.now(); act();"
                "const told = () => document.querySelector('#grid tbody tr') && (name !== 'second model' || "
                "document.getElementById('flips'));"
                "await new Promise((done) => { const wait = () => requestAnimationFrame(() => (told() ? done() : "
                "wait())); wait(); });"
                "return performance.now() - start; }".replace("act()", f"({action})()"),
                name,
            )
            print(f"{name}: {took:.0f} ms, {page.inner_text('#told')}")
        start = time.monotonic()
        page.fill("#find", "nurse")
        page.wait_for_timeout(200)
        print(
            f"search: {1000 * (time.monotonic() - start):.0f} ms with its pause of 120 ms, {page.inner_text('#told')}"
        )
        start = time.monotonic()
        page.locator("#grid tbody a").first.click()
        page.wait_for_selector("#item h2")
        print(f"open an item: {1000 * (time.monotonic() - start):.0f} ms")
        heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
        print(f"heap {heap:.0f} MB; noticed: {visitor.noticed}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), *sys.argv[2:3], *map(int, sys.argv[3:]))
