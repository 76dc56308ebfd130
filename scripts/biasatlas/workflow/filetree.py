"""Trees of values and files: what a job reads, said once, as its input and as what each file is.

A tree is made of dicts, lists, tuples and plain values, with a :class:`File` wherever a file belongs. A rule has the
files of a tree (:func:`files`) as an input and the tree without them (:func:`places`) as a param; the script puts the
two together again (:func:`filled`), so that a file is found by what it is and not by a count of paths. A param holds no
path, so that a run may be moved, and the paths of the input are the job's own, wherever the storage has them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

#: The only key of a place: the number of a file among those of its tree.
_PLACE = "<file>"


@dataclass(frozen=True)
class File:
    """A leaf of a tree: a path, with Snakemake's flags if it has any."""

    path: str


def files(tree: Any) -> list[str]:
    """The paths in a tree, each once, in the order in which they first come."""
    return list(dict.fromkeys(leaf.path for leaf in _leaves(tree)))


def places(tree: Any) -> Any:
    """The tree with a place for each file: which of :func:`files` it is."""
    numbers = {path: number for number, path in enumerate(files(tree))}
    return _mapped(tree, lambda leaf: {_PLACE: numbers[leaf.path]} if isinstance(leaf, File) else leaf)


def filled(tree: Any, paths: Sequence[str]) -> Any:
    """A tree of :func:`places`, with those of ``paths`` in them. Raises IndexError where there are fewer."""
    return _mapped(tree, lambda leaf: paths[leaf[_PLACE]] if isinstance(leaf, dict) else leaf)


def _leaves(tree: Any) -> Iterator[File]:
    if isinstance(tree, File):
        yield tree
    elif isinstance(tree, dict | list | tuple):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _leaves(part)


def _mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(tree, dict) and tree.keys() != {_PLACE}:
        return {name: _mapped(part, change) for name, part in tree.items()}
    if isinstance(tree, list):
        return [_mapped(part, change) for part in tree]
    if isinstance(tree, tuple):  # a named one becomes a plain one: params are plain data
        return tuple(_mapped(part, change) for part in tree)
    return change(tree)
