"""Services that each send forms of their own among their answers: a run from a check to the report, and each form in its column."""

import json
from collections import Counter, defaultdict
from contextlib import ExitStack

import pandas as pd
import pytest
from api_server import MODEL, RANDOM, Server
from conftest import ROOT, snakemake

FORMS = json.loads((ROOT / "tests/api/forms.json").read_text(encoding="utf-8"))
#: What is the end of the matter for its prompt, or asks for another attempt.
SENT = {"filtered", "refused", "thought", "truncated", "unparseable", "unanswerable", "retry"}


class Service(Server):
    """Every third prompt gets a form of those that a service sends, and after one that is to be tried again an answer."""

    def __init__(self, forms):
        super().__init__(reply=lambda body, prompt: "A")
        self.forms, self.got, self.sent = forms, {}, Counter()

    def answer(self, path, body):
        prompt = body["messages"][-1]["content"]
        if prompt == RANDOM:
            return super().answer(path, body)
        if prompt not in self.got:
            place, rest = divmod(len(self.got), 3)
            self.got[prompt] = self.forms[place % len(self.forms)] if not rest else None
            if form := self.got[prompt]:
                self.sent[form["kind"]] += 1
        elif self.got[prompt] and self.got[prompt]["kind"] == "retry":
            self.got[prompt] = None
        form = self.got[prompt]
        return (form["status"], form["body"]) if form else super().answer(path, body)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_each_services_forms_are_in_their_columns_to_the_report(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    forms = defaultdict(list)
    for form in FORMS:
        if form["kind"] in SENT and isinstance(form["body"], dict) and "of" in form:
            forms[form["of"]].append(form)
    assert len(forms) >= 12
    with ExitStack() as stack:
        servers = {name: stack.enter_context(Service(sent)) for name, sent in forms.items()}
        models = {
            name: {"kind": "api", "base_url": server.url, "model": MODEL, "service": forms[name][0]["service"]}
            for name, server in servers.items()
        }
        run = {"data": "sample", "tasks": ["pair_choice"], "categories": ["age"]}
        config = {"results": "results", "models": models, "benchmarks": {"crows_pairs": run}}
        (tmp_path / "config.json").write_text(json.dumps(config))
        done = snakemake("--configfile", str(tmp_path / "config.json"), folder=tmp_path)
        assert done.returncode == 0, done.stdout
    table = pd.read_csv(tmp_path / "results/tables/crows_pairs/recommended/outcomes.csv")
    table = table[table["grouped_by"].isna()].set_index("model")
    for name, server in servers.items():
        sent, row = server.sent, table.loc[name]
        assert row["n"] == len(server.got) - sum(sent.values()) + sent["retry"]
        counted = row[["filtered", "refused", "thought", "truncated", "unparseable", "failed"]].astype(int)
        expected = {kind: sent[kind] for kind in counted.index} | {"failed": sent["unanswerable"]}
        assert counted.to_dict() == expected, name
    assert (tmp_path / "results/report/index.html").exists()
