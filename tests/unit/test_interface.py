"""The one interface to models: what each kind declares, what an entry becomes behind it, and what a new kind takes."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace

import pandas as pd
import pytest
from api_server import MODEL, Server, requests_for
from conftest import ROOT
from engine import tiny
from pydantic import BaseModel, ValidationError

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.errors import UserError
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.interface import ModelContext
from biasatlas.models.kinds import KINDS, ModelEntry, open_model, store_folder
from biasatlas.models.local.entry import HfEntry
from biasatlas.models.planted.entry import PlantedEntry
from biasatlas.models.released.entry import ReleasedEntry
from biasatlas.models.sampling import SETTINGS
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.models.store import ResponseStore
from biasatlas.stages import fields_affecting, mark

USER = json.dumps([{"role": "user", "content": "Who said that?"}])
COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER_COMMIT = COMMIT[::-1]


class Models(BaseModel):
    """Entries as the configuration holds them."""

    models: dict[str, ModelEntry]


def entry(**fields):
    return Models.model_validate({"models": {"m": fields}}).models["m"]


ENTRIES = {
    "hf": entry(kind="hf", source="./m", size_billion=1),
    "masked": entry(kind="masked", source="./m"),
    "planted": entry(kind="planted", odds_ratio=4),
    "simulated": entry(kind="simulated"),
    "api": entry(kind="api", base_url="http://host/v1", model="m"),
    "released": entry(kind="released", benchmark="crows_pairs", release="bert"),
}
HUB = {"source": "owner/name", "revision": COMMIT}

SPEC = SimpleNamespace(
    taught_by_questions=False,
    language="en",
    options=registry.load_spec("crows_pairs").options,
    tasks={
        "score": SimpleNamespace(kind="likelihood", masked=True),
        "choose": SimpleNamespace(kind="choice", masked=False),
        "write": SimpleNamespace(kind="generation", masked=False),
        "perplexity": SimpleNamespace(kind="likelihood", masked=False),
    },
    released_tasks=("score",),
)


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """Opening a model keeps the process off the hub; afterwards other tests may ask it."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    saved = tiny.model()
    saved.save_pretrained(path)
    tiny.tokenizer(True).save_pretrained(path)
    return path


def requests(rows, kind="generation"):
    return pd.DataFrame([{"request_id": f"r{i}", "item_id": "i", "kind": kind} | row for i, row in enumerate(rows)])


def test_every_kind_has_an_entry_of_its_own():
    assert list(KINDS) == ["hf", "masked", "planted", "simulated", "api", "released"]
    assert {name: type(each) for name, each in ENTRIES.items()} == {name: kind.entry for name, kind in KINDS.items()}
    with pytest.raises(ValidationError, match="'hf', 'masked', 'planted', 'simulated', 'api', 'released'"):
        entry(kind="oracle")


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_kind_names_is_there(kind):
    named = [name for name in (KINDS[kind].open, KINDS[kind].check, KINDS[kind].preview) if name]
    assert named and all(callable(resolve_name(name)) for name in named)


@pytest.mark.parametrize(
    ("kind", "tasks"),
    [
        ("hf", ["score", "choose", "write", "perplexity"]),
        ("masked", ["score"]),
        ("planted", ["score", "choose", "write", "perplexity"]),
        ("api", ["choose", "write"]),
        ("released", ["score"]),
        ("simulated", ["score", "choose", "write", "perplexity"]),
    ],
)
def test_a_kind_declares_what_its_models_answer(kind, tasks):
    assert list(KINDS[kind].tasks(ENTRIES[kind], "crows_pairs", SPEC)) == tasks


def test_an_entry_may_say_more():
    scoring = ENTRIES["api"].model_copy(update={"prompt_logprobs": True})
    assert list(KINDS["api"].tasks(scoring, "any", SPEC)) == list(SPEC.tasks)
    assert KINDS["released"].tasks(ENTRIES["released"], "bbq", SPEC) == ()


def test_only_some_kinds_judge_and_write():
    assert [name for name, kind in KINDS.items() if kind.writes] == ["hf", "planted", "simulated", "api"]
    only = {name: KINDS[name].protocol(model) for name, model in ENTRIES.items()}
    assert {name: protocol for name, protocol in only.items() if protocol} == {"released": "released"}
    own = ReleasedEntry(kind="released", benchmark="crows_pairs", path="./mine.csv", format="score_table")
    assert KINDS["released"].protocol(own) is None


@pytest.mark.parametrize(
    ("kind", "fields", "ready", "environment"),
    [
        ("hf", {}, "", "model-gpu"),
        ("hf", HUB | {"gpu": 0}, "fetched", "model"),
        ("masked", {}, "", "model"),
        ("masked", HUB | {"gpu": 1}, "fetched", "model-gpu"),
        ("planted", {}, "weights", "model"),
        ("api", {}, "", "api"),
        ("released", {}, "release", "data"),
        ("simulated", {}, "", "data"),
    ],
)
def test_a_kind_declares_what_a_job_needs(kind, fields, ready, environment):
    opened = ENTRIES[kind].model_copy(update=fields)
    assert KINDS[kind].ready(opened) == ready
    assert KINDS[kind].environment(opened) == environment
    assert (ROOT / "envs" / f"{environment}.yaml").is_file()


ANSWERS = {
    "hf": {
        "serve",
        "serve_arguments",
        "source",
        "revision",
        "dtype",
        "trust_remote_code",
        "adapter",
        "adapter_revision",
        "templates",
        "template_arguments",
        "thinking",
        "sampling",
    },
    "masked": {"source", "revision"},
    "planted": {"odds_ratio", "seed"},
    "released": {"benchmark", "release", "path", "format", "column"},
    "simulated": set(SimulatedEntry.model_fields) - {"kind", "published_as"},
    "api": {
        "base_url",
        "model",
        "dialect",
        "service",
        "without",
        "thinking",
        "system",
        "extra_body",
        "top_logprobs",
        "prompt_logprobs",
        "sampling",
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_says_what_it_changes(kind):
    fields = KINDS[kind].entry.model_fields
    changes = {name: mark(KINDS[kind].entry, name) for name in fields}
    assert {name for name, change in changes.items() if change == "answers"} == {"kind"} | ANSWERS[kind]
    assert {name for name, change in changes.items() if change == "tables"} == {"published_as"}
    assert set(changes.values()) <= {"answers", "tables", "nothing"}
    assert set(fields_affecting(ENTRIES[kind], "scores")) == {"kind"} | ANSWERS[kind]
    assert all(field.description.endswith(".") for field in fields.values())


@pytest.mark.parametrize("kind", ["hf", "masked"])
@pytest.mark.parametrize("source", ["owner/name", "models/mine"])
def test_a_hub_id_needs_a_revision(kind, source):
    size = {"size_billion": 1}
    with pytest.raises(ValidationError, match=r"start a folder with \./ or /; otherwise add `revision`"):
        entry(kind=kind, source=source, **size)
    entry(kind=kind, source=source, revision=COMMIT, **size)
    entry(kind=kind, source=f"./{source}", **size)


def test_an_adapter_on_the_hub_needs_a_revision_and_is_fetched():
    model = {"kind": "hf", "source": "./m", "size_billion": 1}
    with pytest.raises(ValidationError, match=r"add `adapter_revision`"):
        entry(**model, adapter="owner/lora")
    assert KINDS["hf"].ready(entry(**model, adapter="owner/lora", adapter_revision="main")) == "fetched"
    assert KINDS["hf"].ready(entry(**model, adapter="./lora")) == ""


@pytest.mark.parametrize("name", ["tokenize", "add_generation_prompt", "chat_template"])
def test_template_arguments_do_not_change_how_a_template_is_rendered(name):
    with pytest.raises(ValidationError, match=f"'{name}' is set by the workflow"):
        entry(kind="hf", source="./m", size_billion=1, template_arguments={name: True})


def test_planning_imports_nothing_heavy():
    code = """
import sys
import biasatlas.models.kinds
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT / "scripts")},
        capture_output=True,
        text=True,
        check=True,
    )
    heavy = {"torch", "transformers", "pandas", "numpy", "openai", "httpx", "httpx2", "huggingface_hub"}
    assert not heavy & set(done.stdout.split())


def test_an_endpoint_keeps_all_its_answers_in_one_store():
    part = ("bbq", "paper", "question")
    folders = {kind: store_folder(Path("store"), "m", each, *part) for kind, each in ENTRIES.items()}
    assert folders.pop("api") == Path("store/m")
    assert set(folders.values()) == {Path("store/m/bbq/paper/question")}


def test_judges_and_writers_sample_as_a_model_under_test_does(tmp_path):
    """What a request leaves to the model comes from its entry, or from the checkpoint's generation configuration."""
    saved = tiny.model()
    saved.generation_config.update(do_sample=True, top_k=1)
    saved.save_pretrained(tmp_path)
    tiny.tokenizer(True).save_pretrained(tmp_path)
    ask = {"messages": USER, "template": "tokenizer", "max_tokens": 8} | dict.fromkeys(SETTINGS)
    asked = requests([ask | {"sampling": "checkpoint"}, ask | {"sampling": "greedy"}])
    greedy = {"greedy": {"temperature": 0.0}}
    judge = HfEntry(kind="hf", source=str(tmp_path), size_billion=1, sampling=greedy, dtype="float32")
    model = open_model(ModelContext("judge", judge, gpus=0))
    responses, _ = model.answer(asked, "task", ResponseStore(tmp_path / "store"))
    assert responses["text"][0] == responses["text"][1]
    with pytest.raises(UserError, match=r"models\.judge\.sampling\.table8"):
        model.answer(asked.assign(sampling="table8"), "task", ResponseStore(tmp_path / "store"))


def test_all_of_an_entry_reaches_its_model(folder, tmp_path, monkeypatch):
    """Also where the model judges or writes: several GPUs, token budget, commit, templates, parsers."""
    from biasatlas.models.local import answer

    loaded, fed = [], []
    original, solve = answer.load, answer.answer_choices

    def spy(source, **settings):
        loaded.append((source, settings))
        return original(str(folder))

    def watch(requests, tokens, model, memory, parsers):
        fed.append((model.tokenizer.batch_decode(tokens), memory.token_budget, set(parsers)))
        return solve(requests, tokens, model, memory, parsers)

    monkeypatch.setattr(answer, "load", spy)
    monkeypatch.setattr(answer, "answer_choices", watch)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 8)
    fetched = tmp_path / "m.json"
    commits = {"commit": COMMIT, "adapter_commit": OTHER_COMMIT}
    fetched.write_text(json.dumps({"source": "owner/name", "revision": OTHER_COMMIT} | commits))
    given = {"dtype": "float16", "trust_remote_code": True, "token_budget": 77, "gpu": 4, "compiled": True}
    given |= {"adapter": "owner/lora", "adapter_revision": "main"}
    given["templates"] = {"ours": {"prompt": "USER: {user}", "empty": "USER:"}}
    opened = entry(kind="hf", source="owner/name", revision=OTHER_COMMIT, size_billion=1, **given)
    settings = {"parsers": PARSERS, "parser_version": "1.0", "hashes": tmp_path / "sha256.json"}
    model = open_model(ModelContext("judge", opened, (fetched,), gpus=4, **settings))
    assert loaded == [
        (
            "owner/name",
            {
                "revision": COMMIT,
                "dtype": "float16",
                "devices": 4,
                "compiled": True,
                "trust_remote_code": True,
                "adapter": "owner/lora",
                "adapter_revision": OTHER_COMMIT,
                "hashes": tmp_path / "sha256.json",
            },
        )
    ]
    ask = {
        "messages": USER,
        "template": "ours",
        "parser": "letter",
        "labels": '["A", "B"]',
        "max_tokens": 1,
        "top_k": 3,
    }
    model.answer(requests([ask], "choice"), "task")
    assert fed == [(["<s>USER: Who said that?"], 77, set(PARSERS))]
    assert [settings["devices"] for _, settings in loaded] == [4]
    open_model(ModelContext("judge", opened, (fetched,), gpus=1))
    assert loaded[-1][1]["devices"] == 1


def test_a_planted_model_is_its_weights_and_goes_by_its_name(folder):
    planted = PlantedEntry(kind="planted", odds_ratio=4)
    ask = [{"continuation": "The nurse"}]
    for ready in ((folder,), (folder / "config.json", folder / "model.safetensors")):
        _, metadata = open_model(ModelContext("biased", planted, ready)).answer(requests(ask, "likelihood"), "task")
        assert metadata["model"] == "biased" and metadata["dtype"] == "float32"


@pytest.fixture
def question():
    return requests(
        [{"prefix": "Who?", "parser": "letter", "labels": '["A", "B"]', "max_tokens": 2, "top_k": 5}], "choice"
    )


@pytest.mark.parametrize(
    ("kind", "parser_version", "computed"), [("choice", "1.0", 0), ("choice", "2.0", 1), ("likelihood", "2.0", 0)]
)
def test_a_reader_s_version_is_part_of_a_choice_alone(folder, tmp_path, question, kind, parser_version, computed):
    planted = PlantedEntry(kind="planted", odds_ratio=4)
    asked = question.assign(kind=kind, continuation=" me")
    for version in ("1.0", parser_version):
        context = ModelContext("m", planted, (folder,), parsers=PARSERS, parser_version=version)
        _, metadata = open_model(context).answer(asked, "task", ResponseStore(tmp_path))
    assert metadata["run"]["computed"] == computed


@pytest.mark.parametrize("changed", ["weights", "tokenizer", "version", "nothing"])
def test_what_made_an_answer_is_in_its_key(folder, tmp_path, monkeypatch, changed):
    from biasatlas.models.local import answer

    copy = shutil.copytree(folder, tmp_path / "model")
    planted, asked = PlantedEntry(kind="planted", odds_ratio=4), requests([{"continuation": "The nurse"}], "likelihood")
    open_model(ModelContext("m", planted, (copy,))).answer(asked, "task", ResponseStore(tmp_path / "store"))
    if changed == "weights":
        tiny.model("llama").save_pretrained(copy)
    elif changed == "tokenizer":
        (copy / "tokenizer.json").write_text((copy / "tokenizer.json").read_text().rstrip() + "\n\n")
    elif changed == "version":
        monkeypatch.setattr(answer, "VERSION", answer.VERSION + 1)
    moved = copy.rename(tmp_path / "moved")
    _, metadata = open_model(ModelContext("n", planted, (moved,))).answer(
        asked, "task", ResponseStore(tmp_path / "store")
    )
    assert metadata["run"]["computed"] == (changed != "nothing")


def test_an_endpoint_behind_the_door_answers_with_its_sampling(tmp_path, monkeypatch):
    monkeypatch.setattr("ssl.SSLContext.load_verify_locations", lambda *_: None)  # slow, and nothing here is encrypted
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked = requests_for(["one"], temperature=None).assign(sampling="warm")
    with Server() as server:
        warm = {"warm": {"temperature": 0.4, "top_p": 0.9}}
        opened = ApiEntry(kind="api", base_url=server.url, model=MODEL, sampling=warm)
        responses, _ = open_model(ModelContext("m", opened)).answer(asked, "task", ResponseStore(tmp_path / "store"))
    assert responses["status"].tolist() == ["ok"]
    assert (server.bodies[0]["temperature"], server.bodies[0]["top_p"]) == (0.4, 0.9)


def test_an_endpoint_needs_a_store():
    with pytest.raises(ValueError, match="needs a store"):
        open_model(ModelContext("m", ENTRIES["api"])).answer(requests_for(["one"]), "task")


def test_a_release_is_read_by_its_benchmark(tmp_path, monkeypatch):
    from biasatlas.models.released import answer

    release, items = tmp_path / "release", tmp_path / "items.parquet"
    (release / "data").mkdir(parents=True)
    (release / "data/bert.csv").write_text("1")
    (release / ".snakemake_timestamp").write_text("")
    pd.DataFrame({"item_id": ["i"]}).to_parquet(items)
    seen = []

    def import_responses(*arguments):
        seen.append(arguments)
        return pd.DataFrame({"request_id": ["r0"]})

    monkeypatch.setattr(answer, "import_responses", lambda benchmark: import_responses)
    published = ReleasedEntry(kind="released", benchmark="crows_pairs", release="bert")
    model = open_model(ModelContext("theirs", published, (release,), benchmark="crows_pairs", items=items))
    asked = requests([{}], "likelihood")
    responses, metadata = model.answer(asked, "pair")
    ((name, files, read, got, task),) = seen
    assert (name, files, task) == ("bert", {"data/bert.csv": release / "data/bert.csv"}, "pair")
    assert read["item_id"].tolist() == ["i"] and got is asked and responses["request_id"].tolist() == ["r0"]
    assert metadata == {"release": "bert", "files": {"data/bert.csv": hashlib.sha256(b"1").hexdigest()}}


TOY = {
    "entry.py": '''
from typing import Literal

from biasatlas.stages import field
from biasatlas.models.entry import Entry, every_task
from biasatlas.models.interface import Kind


class ParrotEntry(Entry):
    """A model that says what it is told."""

    kind: Literal["parrot"] = field("answers", description="What the model is.")
    words: str = field("answers", description="What it says.")


KIND = Kind(
    entry=ParrotEntry,
    open="biasatlas.models.parrot.answer:Parrot",
    tasks=every_task,
    ready=lambda entry: "",
    environment=lambda entry: "data",
    writes=True,
    version=1,
)
''',
    "answer.py": """
import pandas as pd


class Parrot:
    def __init__(self, context):
        self.words = context.entry.words

    def answer(self, requests, task, store=None, share=(0, 1)):
        rows = {"request_id": requests["request_id"], "repeat": 0, "status": "ok", "text": self.words}
        return pd.DataFrame(rows), {"words": self.words}
""",
}

TALK = """
import pandas as pd
from pydantic import TypeAdapter
from biasatlas.models.interface import ModelContext
from biasatlas.models.kinds import KINDS, ModelEntry, open_model
entry = TypeAdapter(ModelEntry).validate_python({"kind": "parrot", "words": "hello"})
responses, metadata = open_model(ModelContext("polly", entry)).answer(pd.DataFrame({"request_id": ["a", "b"]}), "task")
print(*KINDS, *responses["text"], metadata["words"], KINDS["parrot"].writes)
"""


def test_a_new_kind_is_a_folder_and_one_line(tmp_path):
    scripts = shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "config", tmp_path / "config")
    before = {path: path.read_bytes() for path in scripts.rglob("*.py")}
    parrot, kinds = scripts / "biasatlas/models/parrot", scripts / "biasatlas/models/kinds.py"
    parrot.mkdir()
    for name, code in TOY.items():
        (parrot / name).write_text(code)
    kinds.write_text(kinds.read_text().replace('    "released",\n', '    "released",\n    "parrot",\n'))
    touched = [path for path in scripts.rglob("*.py") if before.get(path) != path.read_bytes()]
    assert len(touched) <= 3
    assert len(kinds.read_text().splitlines()) == len(before[kinds].splitlines()) + 1
    done = subprocess.run(
        [sys.executable, "-c", TALK],
        cwd=tmp_path,  # this checkout's own library lies in the folder that tests run in
        env={"PYTHONPATH": str(scripts)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [*KINDS, "parrot", "hello", "hello", "hello", "True"], done.stderr
