"""Benchmarks that a YAML file describes: start one, hold it against theory, write its page.

make new-benchmark NAME=mine FAMILY=questions
make test-benchmark NAME=mine DATA=./folder
make benchmark-page NAME=mine
"""

import argparse
import sys
from pathlib import Path

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.page import write_page
from biasatlas.errors import UserError
from biasatlas.laboratory.responders import hold_against_theory
from biasatlas.resources import Resources
from biasatlas.sources import names_in, raw_files
from biasatlas.userfiles import listed
from biasatlas.validation import unknown

_NEW = ROOT / "resources" / "scaffold"


def start(name: str, family: str) -> None:
    """Write a description that works, and a few rows of data to go with it; nothing that is there is touched."""
    if family not in registry.FAMILIES:
        raise UserError(f"FAMILY: {family!r} is none; expected {' or '.join(registry.FAMILIES)}.")
    if not name.isidentifier():
        raise UserError(f"NAME: {name!r} names files; use letters, digits and _.")
    files = {
        ROOT / "config" / "benchmarks" / f"{name}.yaml": _NEW / f"{family}.yaml",
        ROOT / "resources" / "samples" / name / "data.csv": _NEW / f"{family}.csv",
    }
    taken = [path for path in files if path.exists()] or [name for name in [name] if registry.is_benchmark(name)]
    if taken:
        raise UserError(f"{taken[0]}: there already. Take another NAME.")
    for path, origin in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(origin.read_text(encoding="utf-8").replace("NAME", name), encoding="utf-8")
        print(path.relative_to(ROOT))
    print(f"Edit them, then: make test-benchmark NAME={name}")


def _described(name: str) -> None:
    """Raise UserError for a name that is no description's."""
    if not registry.is_benchmark(name):
        raise UserError(unknown("NAME", name, "a benchmark", registry.benchmark_names()))
    if registry.description(name) is None:
        raise UserError(f"NAME: {name} is a folder of Python, of which this knows nothing; name a described benchmark.")


def _in_words(item: dict[str, str]) -> str:
    """What an item is taken to mean, to be read by who knows the data."""
    if "more" in item:
        return f"{item['more']!r} is the stereotype, {item['less']!r} is not"
    roles = ", ".join(f"{role} {item[item[role]]!r}" for role in ("target", "gold", "unknown"))
    return f"{item['context']!r} {item['question']!r}: {roles}"


def test(name: str, data: str) -> bool:
    """Print what responders with a known answer score, and what they must; whether all is right."""
    spec = registry.load_spec(name)
    folder = Path(data) if data else ROOT / "resources" / "samples" / spec.sample
    names = names_in(folder) if data or spec.sample else []
    if not names:
        raise UserError(f"{name}: no data. Name their folder: make test-benchmark NAME={name} DATA=./folder")
    items = registry.read_items(name)(raw_files(names, [folder / each for each in names]), Resources({}))
    missing = sorted(set(next(iter(spec.tasks.values())).categories) - set(items["category"]))
    counts = ", ".join(f"{count} of {each}" for each, count in items["category"].value_counts(sort=False).items())
    print(f"{spec.title}: {len(items)} items ({counts}); categories without one: {listed(missing)}")
    for item in items.head(2).to_dict("records"):
        print(f"{item['item_id']}: {_in_words(item)}")
    found = hold_against_theory(name, items)
    print(found.drop(columns="right").to_string(index=False, na_rep="none", float_format="%.2f"))
    wrong = found[~found["right"]]
    print(f"{len(found) - len(wrong)} of {len(found)} as theory says")
    for row in wrong.itertuples():
        print(f"wrong: {row.responder}: {row.metric} {row.condition} is {row.found:.4f}, by theory {row.theory:.4f}")
    return wrong.empty


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=("new", "test", "page"))
    parser.add_argument("name")
    parser.add_argument("more", nargs="?", default="", help="new: the family; test: a folder with data")
    given = parser.parse_args()
    try:
        if given.do == "new":
            start(given.name, given.more)
            return
        _described(given.name)
        if given.do == "page":
            print(write_page(given.name))
        elif not test(given.name, given.more):
            sys.exit(1)
    except UserError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
