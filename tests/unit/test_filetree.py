"""Trees of values and files: what a rule has as input and as param is put together again by the job."""

import pickle

import pytest

from biasatlas.workflow.paths import File, files, filled, places

TREE = {
    "scores": [File("b.csv"), File("a.csv")],
    ("bbq", "paper"): {"items": File("items"), "judged": (File("a.csv"), None)},
    "count": 2,
    "none": "",
}
#: The same, as a job has it whose files lie elsewhere.
MOVED = {
    "scores": ["/there/b.csv", "/there/a.csv"],
    ("bbq", "paper"): {"items": "/there/items", "judged": ("/there/a.csv", None)},
    "count": 2,
    "none": "",
}


def test_files_come_once_in_the_order_of_the_tree():
    assert files(TREE) == ["b.csv", "a.csv", "items"]


def test_places_filled_with_the_jobs_paths_are_the_tree_again():
    assert filled(places(TREE), [f"/there/{path}" for path in files(TREE)]) == MOVED


def test_places_hold_no_path_and_are_plain_data():
    """A param is kept as text by Snakemake and pickled for the script: a moved run must not change it."""
    moved = {"scores": [File("/new/b.csv"), File("/new/a.csv")]}
    assert repr(places(moved)) == repr(places({"scores": TREE["scores"]}))
    assert pickle.loads(pickle.dumps(places(TREE))) == places(TREE)
    assert "csv" not in repr(places(TREE))


def test_a_tree_without_files_is_itself():
    for tree in ([], {}, "text", None, {"a": [1, (2, 3)]}):
        assert files(tree) == []
        assert filled(places(tree), []) == tree


def test_too_few_paths_are_an_error():
    with pytest.raises(IndexError):
        filled(places(TREE), ["one"])
