"""The documentation: links lead somewhere, every page is in the index, and pages by hand stay short."""

import re
from functools import cache
from pathlib import Path

import pytest

from biasatlas.benchmarks.registry import benchmark_names

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "config/README.md"])
#: What a command writes, and tables of measurements that commands print.
GENERATED = ("configuration.md", "descriptions.md", "protocols.md", "*-tables.md", "measurements-*.md")
#: A benchmark's page that is written from its description says so.
FROM_A_DESCRIPTION = "make benchmark-page"
BY_HAND = [
    path
    for path in PAGES
    if not any(path.match(pattern) for pattern in (*GENERATED, "CHANGELOG.md"))
    and FROM_A_DESCRIPTION not in path.read_text(encoding="utf-8")[:700].replace("\n", " ")
]
MOST_WORDS = 22_000
LONGEST_SENTENCE = 35


@cache
def prose(path: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^ *```.*?^ *```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@cache
def anchors(path: Path) -> frozenset[str]:
    """What a page's headings are called in links, as GitHub does."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


def dead_links(path: Path) -> list[str]:
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if not re.match(r"[a-z]+:", link):
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
                dead.append(link)
    return dead


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    assert dead_links(path) == []


def test_a_dead_link_is_found(tmp_path):
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("# One `thing`, two\n")
    page.write_text("[a](other.md) [b](other.md#one-thing-two) [c](none.md) [d](other.md#three) [e](#here)\n# Here\n")
    assert dead_links(page) == ["none.md", "other.md#three"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_a_page_names_exist(path):
    folders = "bench|tests|resources|config|scripts|rules|profiles|envs|docs"
    named = re.findall(rf"(?:`|python )((?:{folders})/[\w./-]*)(?=[`\s])", path.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_targets_of_make_that_pages_name_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        (path.name, target)
        for path in PAGES
        for code in re.findall(r"```.*?```|`[^`]+`", path.read_text(encoding="utf-8"), re.DOTALL)
        for target in re.findall(r"(?:^|`)make ([a-z][a-z-]*)", code, re.MULTILINE)
    }
    assert len(named) > 10
    assert {pair for pair in named if pair[1] not in targets} == set()


def test_the_index_lists_every_page_once():
    listed = re.findall(r"^[a-z_-]+$", (ROOT / "docs/index.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(path.stem for path in (ROOT / "docs").glob("*.md") if path.stem != "index")


def test_pages_by_hand_stay_short():
    words = {str(path.relative_to(ROOT)): len(prose(path).split()) for path in BY_HAND}
    assert len(words) > 30
    assert sum(words.values()) <= MOST_WORDS, words


@pytest.mark.parametrize("path", BY_HAND, ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_are_short(path):
    text = re.sub(r"^(\||#|>).*$", "", prose(path), flags=re.MULTILINE)
    paragraphs = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) ", text)
    sentences = [
        sentence for text in paragraphs for sentence in re.split(r"(?<=[.?!:;])[\s*)]+", " ".join(text.split()))
    ]
    assert [sentence for sentence in sentences if len(sentence.split()) > LONGEST_SENTENCE] == []


def test_the_notebook_names_no_benchmark_that_a_run_may_lack():
    notebook = (ROOT / "docs/read_a_run.ipynb").read_text(encoding="utf-8")
    assert [name for name in benchmark_names() if f"/{name}/" in notebook] == []
