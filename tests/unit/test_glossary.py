"""No retired word is used: tests/unit/retired_words.yaml lists each with the term to use instead (docs/glossary.md)."""

import re
from collections import defaultdict
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).parent / "retired_words.yaml"
RETIRED = yaml.safe_load(LIST.read_text(encoding="utf-8"))

#: What people write or read, but for data, history and the list itself.
WRITTEN = (
    *("Snakefile", "Makefile", "README.md", "CONTRIBUTING.md", "rules/*.smk", "scripts/**/*.*", "config/**/*.*"),
    *("docs/*.md", "tests/**/*.py", "bench/*.py", "profiles/**/*.*"),
)
SUFFIXES = (".md", ".py", ".smk", ".yaml", ".json", ".js", ".html", ".css", "")

#: A name that code gives: a function, class, variable, parameter or key.
DEFINED = re.compile(r"\b(?:def|class)\s+(\w+)|\b(\w+)\s*(?:=(?!=)|:\s)")


@cache
def texts() -> dict[str, str]:
    """Path -> text of all that is written."""
    files = {path for pattern in WRITTEN for path in ROOT.glob(pattern) if path.is_file() and path.suffix in SUFFIXES}
    spared = ("tests/unit/test_glossary.py", "tests/golden/*", "scripts/biasatlas/report/web/vendor/*")
    named = {str(path.relative_to(ROOT)): path for path in sorted(files)}
    return {
        name: path.read_text(encoding="utf-8")
        for name, path in named.items()
        if not any(fnmatch(name, pattern) for pattern in spared) and path.stat().st_size < 500_000
    }


@cache
def places(form: str) -> dict[str, list[str]]:
    """Word -> the files it stands in, once for each time: every "word", or each "name" that Python code gives."""
    found = defaultdict(list)
    for path, text in texts().items():
        if form == "word":
            words = re.findall(r"\w+", text)
        else:
            words = [a or b for a, b in DEFINED.findall(text)] if path.endswith((".py", ".smk")) else []
        for word in words:
            found[word].append(path)
    return found


@cache
def flat() -> dict[str, str]:
    """Path -> text in small letters, on one line without the signs of comments."""
    return {path: re.sub(r"[\s#]+", " ", text).lower() for path, text in texts().items()}


def occurrences(entry: dict) -> list[str]:
    """The files in which a retired word or phrase stands, once for each time."""
    if "phrase" in entry:
        found = [path for path, text in flat().items() for _ in re.findall(entry["phrase"].lower(), text)]
    else:
        form = "word" if "word" in entry else "name"
        pattern = re.compile(entry[form])
        found = [path for word, paths in places(form).items() if pattern.fullmatch(word) for path in paths]
    return sorted(path for path in found if not any(fnmatch(path, spared) for spared in entry.get("except", ())))


@pytest.mark.parametrize("entry", RETIRED, ids=lambda entry: entry.get("word") or entry.get("name") or entry["phrase"])
def test_no_retired_word_is_used(entry):
    found = occurrences(entry)
    assert not found, f"{entry}: write {entry['use']!r} instead, in these files:\n" + "\n".join(found)


def test_a_retired_word_is_found_in_code_and_in_prose(monkeypatch):
    sample = {"a.py": "def reader(looks=1):\n    # it was held\n    # against a reader\n", "b.md": "Readers read."}
    monkeypatch.setitem(globals(), "texts", lambda: sample)
    for function in (places, flat):
        function.cache_clear()
    try:
        assert occurrences({"name": "readers?"}) == ["a.py"]
        assert occurrences({"name": "looks"}) == ["a.py"]
        assert occurrences({"word": "[Rr]eaders?"}) == ["a.py", "a.py", "b.md"]
        assert occurrences({"phrase": "held against"}) == ["a.py"]
        assert not occurrences({"word": "reader", "except": ["a.*"]})
    finally:
        for function in (places, flat):
            function.cache_clear()
