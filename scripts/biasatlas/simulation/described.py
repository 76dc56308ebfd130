"""The test of a described benchmark: what its data are taken to mean, and simulated models scored against theory."""

from pathlib import Path

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.scaffold import check_described
from biasatlas.benchmarks.shared.audit import audit
from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.simulation.simulated_models import validate_against_theory
from biasatlas.sources import names_in, raw_files
from biasatlas.userfiles import listed


def test_description(name: str, data: str) -> tuple[str, bool]:
    """What is to be read about benchmark ``name`` on the files of folder ``data`` ('': its sample), and whether all is right.

    Raises UserError for a name that is no described benchmark's, and where there are no data.
    """
    check_described(name)
    spec = registry.load_spec(name)
    folder = Path(data) if data else ROOT / "resources" / "samples" / spec.sample
    names = names_in(folder) if data or spec.sample else []
    if not names:
        raise UserError(f"{name}: no data. Name their folder: make test-benchmark NAME={name} DATA=./folder")
    items = registry.read_items(name)(raw_files(names, [folder / each for each in names]), Resources({}))
    missing = sorted(set(next(iter(spec.tasks.values())).categories) - set(items["category"]))
    counts = ", ".join(f"{count} of {each}" for each, count in items["category"].value_counts(sort=False).items())
    lines = [f"{spec.title}: {len(items)} items ({counts}); categories without one: {listed(missing)}"]
    lines += [f"{item['item_id']}: {_in_words(item)}" for item in items.head(2).to_dict("records")]
    lines += audit(items) or ["nothing odd in these items"]
    found = validate_against_theory(name, items)
    wrong = found[~found["right"]]
    lines += [
        found.drop(columns="right").to_string(index=False, na_rep="none", float_format="%.2f"),
        f"{len(found) - len(wrong)} of {len(found)} as theory says",
        *(
            f"wrong: {row.responder}: {row.metric} {row.condition} is {row.found:.4f}, by theory {row.theory:.4f}"
            for row in wrong.itertuples()
        ),
    ]
    return "\n".join(lines), wrong.empty


#: Columns of a case that are no factor's.
_CASE = ("item_id", "category", "scenario", "arm", "placebo", "document")


def _in_words(item: dict[str, str]) -> str:
    """What an item is taken to mean, to be read by who knows the data."""
    if "more" in item:
        return f"{item['more']!r} is the stereotype, {item['less']!r} is not"
    if "gold" in item and "target" not in item:
        return f"{item['condition']}, the right option is {item['gold']}: {item['question']!r}"
    if "document" in item:
        levels = [f"{name} {item[name]}" for name in item if name not in _CASE and item[name]]
        what = "a placebo" if item["placebo"] else ", ".join(levels) or "nothing changed"
        return f"{what} in scenario {item['scenario']!r}: {item['document']!r}"
    roles = ", ".join(f"{role} {item[item[role]]!r}" for role in ("target", "gold", "unknown"))
    return f"{item['context']!r} {item['question']!r}: {roles}"
