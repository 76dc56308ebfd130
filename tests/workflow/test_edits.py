"""What an edit runs again: one row an edit, with exactly the rules that `snakemake -n` plans after it.

The run that is edited was never computed: its files are empty, and Snakemake was told that they are current. So every
rule of a large configuration takes part, and the table takes seconds an edit.
"""

import contextlib
import json
import re

import pytest
import steps
from conftest import copy_workflow, planned_rules, snakemake

LIBRARY = "scripts/biasatlas"
ASSERT = steps.body("assert True")

CONFIG = {
    "results": "results",
    "models": {
        "planted": {"kind": "planted", "odds_ratio": 4},
        "judge": {"kind": "planted", "odds_ratio": 1, "seed": 2},
        "hub": {"kind": "hf", "source": "./hub", "adapter": "./lora", "size_billion": 1, "gpu": 0},
        "endpoint": {
            "kind": "api",
            "base_url": "http://127.0.0.1:9/v1",
            "model": "m",
            "price_input_per_million": 1,
            "price_output_per_million": 1,
        },
        "masked": {"kind": "masked", "source": "./masked"},
        "published": {"kind": "released", "benchmark": "crows_pairs", "release": "bert"},
    },
    "benchmarks": {
        "twbias": {"data": "sample", "categories": ["female-male"]},
        "crows_pairs": {"data": "sample", "protocols": ["recommended", "released"]},
        "bbq": {"data": "sample", "categories": ["Age"]},
        "mcbe": {
            "data": "sample",
            "judge": "judge",
            "categories": ["gender"],
            "files": {"annotations": "annotations.csv"},
        },
        "dbb": {"data": "sample", "categories": ["Age"], "protocols": ["recommended", "paper"]},
    },
    "construction": {"writer": "judge"},
}

# Rules by what they make.
REPORT = {"write_report", "all"}
FIGURES = {"draw_figure"} | REPORT
TABLES = {"summarise_scores"} | FIGURES
SCORES = {
    "twbias": {"score perplexity"},
    "crows_pairs": {"score pair", "score pair_choice"},
    "bbq": {"score question"},
    "mcbe": {"score PC", "score SC", "score SS", "score BA", "score BS"},
    "dbb": {"score MCQ", "score SG"},
}
#: What stands on the tables or scores of a benchmark beside its own figures.
ACROSS = {
    "twbias": set(),
    "crows_pairs": {"compare_benchmarks"},
    "bbq": {"compare_benchmarks", "compare_dbb_bbq", "draw_comparison"},
    "mcbe": set(),
    "dbb": {"compare_benchmarks", "compare_dbb_bbq", "draw_comparison"},
}
#: What puts DBB beside other benchmarks under one protocol.
MATCHED = {"compare_benchmarks", "compare_dbb_bbq", "draw_comparison"}
#: What compares models by their scores.
WEIGHED = {"compare_models", "draw_comparison", "summarise_models"}
JUDGED = {"judge_responses", "score BA", "summarise_outcomes"} | TABLES | WEIGHED
RELEASED = {"answer_requests", "score pair", "summarise_outcomes"} | TABLES | WEIGHED
BENCHMARKS = tuple(SCORES)
CONSTRUCTION = {"construct_step", "collect_construction", "all"}
STARTED = {"start_construction", "estimate_construction"} | CONSTRUCTION


def tables(*benchmarks):
    """From the tables of ``benchmarks`` on; DBB's concepts are matched with BBQ's from scores."""
    compared = {"compare_benchmarks"} if {"crows_pairs", "bbq", "dbb"} & set(benchmarks) else set()
    return TABLES | compared


def scores(*benchmarks):
    """From the scores of ``benchmarks`` on."""
    return (TABLES | WEIGHED).union(*(SCORES[name] | ACROSS[name] for name in benchmarks))


def answers(*benchmarks):
    """From the answers to ``benchmarks`` on."""
    judged = {"judge_responses"} if "mcbe" in benchmarks else set()
    return {"answer_requests", "summarise_outcomes"} | scores(*benchmarks) | judged


def requests(*benchmarks):
    """From the requests of ``benchmarks`` on."""
    return {"build_requests", "check"} | answers(*benchmarks)


def items(*benchmarks):
    """From the items of ``benchmarks`` on."""
    return {"read_items"} | requests(*benchmarks)


#: Rules that check a user's model and count its requests.
CHECK = {"check_model", "check"}
#: What an endpoint answers, and all that follows.
ENDPOINT = answers("crows_pairs", "bbq", "mcbe", "dbb") - {"score pair", "score PC", "score SG"}


def code(path):
    """Append a statement."""
    return path, lambda text: text + "\nEDITED = 1\n"


def comment(path):
    """Append a comment."""
    return path, lambda text: text + "\n# edited\n"


def statement(path, name):
    """Put a statement that does nothing first in a function."""
    return path, lambda text: steps.edited_text(text, name, ASSERT)


def swap(path, old, new):
    """Replace the first match of the pattern ``old``."""
    return path, lambda text: re.sub(old, new, text, count=1)


def setting(keys, value):
    """Set a key of the configuration, named by its path."""
    return "config.json", lambda text: _set(text, keys, value)


def reorder_models(text):
    """Name the models of the configuration from the last to the first."""
    config = json.loads(text)
    return json.dumps(config | {"models": dict(reversed(config["models"].items()))})


def _set(text, keys, value):
    config = json.loads(text)
    *sections, last = keys.split(".")
    section = config
    for name in sections:
        section = section.setdefault(name, {})
    section[last] = value
    return json.dumps(config)


B = f"{LIBRARY}/benchmarks"
P = "config/protocols"

#: What is edited, how (a file that is no text gets a byte more), and the rules that run again.
EDITS = {
    # Code: what a step reaches counts, the rest does not. `tests/unit/test_identity.py` has many more, digest by digest.
    "a comment in a rule": (comment("rules/scores.smk"), set()),
    "a name that nothing uses, in what all import": (code(f"{LIBRARY}/files.py"), set()),
    "code of a score": (statement(f"{B}/twbias/scores.py", "score_responses"), scores("twbias")),
    "code that answers, without its version": (
        statement(f"{LIBRARY}/models/local/probabilities.py", "answer_choices"),
        set(),
    ),
    # Versions of what answers, and of what reads replies.
    "the version of local answers": (
        swap(f"{LIBRARY}/models/local/__init__.py", r"VERSION = (\d+)", r"VERSION = 1\1"),
        answers(*BENCHMARKS) | CONSTRUCTION,
    ),
    "the version of masked answers": (
        swap(f"{LIBRARY}/models/masked/__init__.py", r"VERSION = (\d+)", r"VERSION = 1\1"),
        (answers("crows_pairs") - {"score pair_choice"}),
    ),
    "the version of all parsers": (
        swap(f"{B}/shared/parsing/__init__.py", r"VERSION = (\d+)", r"VERSION = 1\1"),
        answers(*BENCHMARKS),
    ),
    "the version of one benchmark's parsers": (
        swap(f"{B}/mcbe/spec.py", r"VERSION = (\d+)", r"VERSION = 1\1"),
        answers("mcbe"),
    ),
    # Texts.
    "a caption": (swap(f"{B}/twbias/spec.py", "Gender bias", "Bias by gender"), REPORT),
    "the direction of a metric": (swap(f"{B}/mcbe/spec.py", "less bias", "fairer"), REPORT),
    "the description of an option": (swap(f"{B}/twbias/spec.py", "Significance level", "Level"), set()),
    # Shipped files.
    "a prompt": (swap("resources/prompts/crows_pairs/pair.txt", "^", "Please. "), requests("crows_pairs")),
    "a judge's prompt": (swap("resources/prompts/mcbe/judge.yaml", ": ", ": x"), {"check"} | JUDGED),
    "a comment in a judge's prompt": (comment("resources/prompts/mcbe/judge.yaml"), set()),
    "a comment in the grammar of planted models": (comment("resources/planted/en.yaml"), set()),
    "a prompt of the construction": (
        swap("resources/prompts/dbb/construct/quality_filter.txt", "^", "Please. "),
        {"estimate_construction", "check"} | CONSTRUCTION,
    ),
    "the judge's weights": (
        swap("resources/mcbe/judge_weights.csv", r"\d\n", "9\n"),
        {"score BA"} | ACROSS["mcbe"] | TABLES | WEIGHED,
    ),
    "the list of subcategories": (swap("resources/mcbe/subcategories.csv", "职业分工", "职业"), items("mcbe")),
    "a descriptor": (swap("resources/dbb/descriptors.csv", "freshman", "senior"), items("dbb")),
    "a sample": (
        swap("resources/samples/bbq/data/Age.jsonl", "old", "aged"),
        items("bbq") | STARTED,
    ),
    "the grammar of planted models": (
        swap("resources/planted/zh-Hant.yaml", "steps: ", "steps: 1"),
        {"train_planted"} | answers("twbias"),
    ),
    "a printed number": (swap("resources/published/twbias_gender.csv", "0.5", "0.6"), tables("twbias")),
    "a printed number of a comparison": (
        swap("resources/published/dbb_models.csv", "0.", "1."),
        tables("bbq"),
    ),
    "the font of figures": (
        ("resources/fonts/NotoSansCJKtc-Regular-subset.otf", None),
        {"draw_figure", "draw_comparison"} | REPORT,
    ),
    "the layout of the page": (comment(f"{LIBRARY}/report/templates/index.html"), REPORT),
    "the time of a shipped file": (("resources/planted/en.yaml", lambda text: text), set()),
    "the templates that were fetched": (
        comment("data/dbb.sha256"),
        requests("dbb") - (MATCHED - WEIGHED),
    ),  # of `paper` alone
    "a file of the user's own": (swap("annotations.csv", "0", "1"), {"summarise_scores"} | REPORT),
    # Options of protocols.
    "an option of requests": (
        swap(f"{P}/twbias/recommended.yaml", "swap_scope: all_terms", "swap_scope: one_term"),
        requests("twbias"),
    ),
    "an option of the judge": (
        swap(f"{P}/mcbe/recommended.yaml", r"judge_attempts: \d+", "judge_attempts: 7"),
        {"judge_responses", "summarise_outcomes"} | scores("mcbe"),
    ),
    "an option of scores": (
        swap(f"{P}/crows_pairs/recommended.yaml", "ties: half", "ties: released"),
        scores("crows_pairs"),
    ),
    "an option of tables": (
        swap(f"{P}/twbias/recommended.yaml", r"alpha: 0\.05", "alpha: 0.01"),
        tables("twbias") | WEIGHED,
    ),
    "the spelling of an option": (swap(f"{P}/twbias/recommended.yaml", r"alpha: 0\.05", "alpha: 5.0e-2"), set()),
    # Entries of models.
    "the dose of a planted bias": (setting("models.planted.odds_ratio", 5), {"train_planted"} | answers(*BENCHMARKS)),
    "the seed of the judge": (
        setting("models.judge.seed", 3),
        {"train_planted"} | answers(*BENCHMARKS) | CONSTRUCTION,
    ),
    "the precision of weights": (
        setting("models.hub.dtype", "float32"),
        CHECK | answers(*BENCHMARKS),
    ),
    "an adapter's files": (comment("lora/adapter_config.json"), CHECK | answers(*BENCHMARKS)),
    "the size of a model": (setting("models.hub.size_billion", 2), set()),
    "the jobs that share a model's requests": (
        setting("models.hub.shards", 3),
        {"answer_shard", "gather_responses"} | answers(*BENCHMARKS) - {"answer_requests"},
    ),
    "the tokens of a forward pass": (setting("models.hub.token_budget", 4096), set()),
    "compiled layers": (setting("models.hub.compiled", True), set()),
    "a published name": (setting("models.hub.published_as", "GPT-4o"), tables("bbq")),
    "the model at an endpoint": (
        setting("models.endpoint.model", "n"),
        CHECK | ENDPOINT,
    ),
    "an endpoint's limit": (setting("models.endpoint.requests_per_minute", 60), {"check", "all"}),
    "an endpoint's budget": (setting("models.endpoint.budget", 5), set()),
    "an endpoint's price": (setting("models.endpoint.price_input_per_million", 2.5), {"check", "all"}),
    "the cost that is accepted": (
        setting("max_cost", 100),
        {"check_cost"} | ENDPOINT,
    ),
    "a masked model's folder": (
        setting("models.masked.source", "./other"),
        CHECK | (answers("crows_pairs") - {"score pair_choice"}),
    ),
    "the order of the models": (
        ("config.json", reorder_models),
        {"check", "compare_benchmarks", "compare_dbb_bbq", "draw_comparison", "summarise_outcomes"} | TABLES | WEIGHED,
    ),
    # Runs.
    "the judge": (setting("benchmarks.mcbe.judge", "planted"), {"check"} | JUDGED),
    "the items of the construction": (
        setting("construction.items_per_source", 5),
        {"check"} | STARTED,
    ),
    "a mirror": (setting("mirror", "resources"), set()),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A copy of the workflow with a finished run of :data:`CONFIG` in it."""
    folder = copy_workflow(tmp_path_factory.mktemp("edits") / "workflow")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "lora").mkdir()
    (folder / "lora/adapter_config.json").write_text("{}")
    (folder / "annotations.csv").write_text("category,item_id,rater,severity\nage,1,x,0\n")
    summary = plan(folder, "--summary").splitlines()
    for line in summary[summary.index(next(line for line in summary if line.startswith("output_file"))) + 1 :]:
        if "\t" in line:
            path = folder / line.split("\t")[0]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch() if path.suffix else path.mkdir()  # a source of raw data is a folder
    plan(folder, "--touch", "--forceall")
    assert "Nothing to be done" in plan(folder, "--dry-run")
    return folder


def plan(folder, *arguments):
    """What Snakemake says of the run in ``folder``."""
    done = snakemake(*arguments, "--configfile", str(folder / "config.json"), folder=folder, root=folder)
    assert done.returncode == 0, done.stdout
    return done.stdout


def planned(run):
    """Rules that Snakemake plans in ``run``; of those that score, the tasks."""
    output = plan(run, "--dry-run", "--quiet", "host")
    tasks = re.findall(r"^ *rule score_(?!again).*:\n(?: {8}.*\n)*? {8}wildcards: .*\btask=(\w+)", output, re.MULTILINE)
    others = {rule for rule in planned_rules(output) if not rule.startswith("score_") or rule == "score_again"}
    return others | {f"score {task}" for task in tasks}


@contextlib.contextmanager
def edited(folder, *names):
    """The workflow in ``folder`` with some of EDITS, until the block ends."""
    originals = {}
    for name in names:
        (path, edit), _ = EDITS[name]
        file = folder / path
        content = file.read_bytes()
        originals.setdefault(file, content)
        new = edit(content.decode()).encode() if edit else content + b"\0"
        assert new != content or name == "the time of a shipped file"
        file.write_bytes(new)
    try:
        yield
    finally:
        for file, content in originals.items():
            file.write_bytes(content)


NOTHING = [name for name, (_, expected) in EDITS.items() if not expected]


def test_what_changes_no_result_runs_nothing_again(run):
    """All such edits at once, which takes the time of one; where they run anything, the one that does is named."""
    with edited(run, *NOTHING):
        again = planned(run)
    for name in NOTHING if again else []:
        with edited(run, name):
            assert planned(run) == set(), name
    assert again == set()


@pytest.mark.parametrize("name", [name for name in EDITS if name not in NOTHING])
def test_an_edit_runs_again_exactly_what_it_can_change(run, name):
    with edited(run, name):
        assert planned(run) == EDITS[name][1]


def test_the_run_is_current_again_when_every_edit_is_taken_back(run):
    assert "Nothing to be done" in plan(run, "--dry-run")
