"""Inputs and params of the construction's rules: new questions in the manner of DBB, written by a model."""

from typing import Any

from biasatlas.benchmarks.dbb import CONSTRUCTION_STEPS
from biasatlas.workflow.lookup import Lookup
from biasatlas.workflow.paths import File


class ConstructionLookup:
    """Inputs and params of these rules, from a configuration that may lack the section `construction`."""

    def __init__(self, find: Lookup):
        self.find, self.config, self.paths = find, find.config, find.paths
        templates = self.setting("templates") or "ours"
        #: Sources of the writer's prompt templates, if these are not ours.
        self._sources = [] if templates == "ours" else ["dbb", "dbb_code"]

    def setting(self, name: str) -> Any:
        """The value of a key of the section; None if there is no section."""
        return getattr(self.config.construction, name) if self.config.construction else None

    def _benchmarks(self) -> list[str]:
        """Benchmarks whose items new questions are made from."""
        possible = ("crows_pairs", "stereoset", "bbq") if self.config.construction else ()
        return [name for name in possible if name in self.config.benchmarks]

    def raw(self) -> dict[str, dict[str, File]]:
        """Tree: source -> its raw files, of the items that new questions are made from."""
        sofa = {"sofa": {"sofa.csv": File(self.setting("sofa"))}} if self.setting("sofa") else {}
        return {name: self.find.raw(name) for name in self._benchmarks()} | sofa

    def raw_checksums(self) -> list[str]:
        """Input: checksums of those raw files that were fetched."""
        return [path for name in self._benchmarks() for path in self.find.raw_checksums(name)]

    def prompts(self) -> dict[str, File]:
        """Tree: the prompt templates of the writer, ours and those of others."""
        folders = {name: self.find.unchanged(self.paths.source.format(source=name)) for name in self._sources}
        others = {f"templates/{name}": File(folder) for name, folder in folders.items()}
        return self.find.shipped("prompts/dbb/construct/*") | others

    def prompt_checksums(self) -> list[str]:
        """Input: checksums of the templates that were fetched."""
        return self.find.checksums(self._sources)

    def prompt_digest(self) -> str:
        """Param: a digest of our templates."""
        return self.find.digest(self.find.shipped("prompts/dbb/construct/*"))

    def prices(self) -> list[float]:
        """Param: prices of a million prompt and completion tokens of the writer; 0 for a model that runs here."""
        entry = self.config.models.get(self.setting("writer") or "")
        return [getattr(entry, f"price_{kind}_per_million", 0) for kind in ("input", "output")]

    def rows_before(self, wildcards: Any) -> str:
        """Input: the rows that a step asks about, which the step before wrote."""
        return self.paths.constructed.format(
            step=("items", *CONSTRUCTION_STEPS)[CONSTRUCTION_STEPS.index(wildcards.step)]
        )

    def questions(self) -> dict[str, File]:
        """Tree: DBB's raw data, if DBB is configured."""
        return self.find.raw("dbb") if "dbb" in self.config.benchmarks else {}

    def question_checksums(self) -> list[str]:
        """Input: checksums of DBB's raw data that were fetched."""
        return self.find.raw_checksums("dbb") if "dbb" in self.config.benchmarks else []

    def step_name(self, wildcards: Any) -> str:
        """Param: the step of a job; a job without this wildcard writes variations, the last step."""
        return getattr(wildcards, "step", CONSTRUCTION_STEPS[-1])
