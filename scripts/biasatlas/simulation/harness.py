"""A benchmark's pipeline in process: the steps of a run with a simulated model, without files in between."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter

import numpy as np
import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.contract import Options
from biasatlas.models.simulated.answer import Change, Questions
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.resources import Resources
from biasatlas.simulation.asked import Array, TaskRequests
from biasatlas.simulation.nuisances import Nuisance
from biasatlas.simulation.studies import Study

#: Ends the number of a model in front of an id; the first column of scores holds such an id.
_OF = "|"
#: A study takes only some of the clusters (``every``) if at least this many are left; of a sample it takes all.
_LEFT = 20
#: Columns that tie items, requests, responses and scores together.
_NAMES = ("request_id", "item_id", "template_id")


def _renamed(rows: pd.DataFrame, place: str) -> pd.DataFrame:
    """``rows`` with ``place`` in front of each id."""
    return rows.assign(**{name: place + rows[name] for name in _NAMES if name in rows})


@dataclass(frozen=True, eq=False)
class Harness:
    """The requests of some tasks of a benchmark under a protocol, ready to be answered as often as wanted.

    ``requests`` maps a task to its requests, ``categories`` to the categories that are scored. If there is a
    ``nuisance``, models answer, or are scored, under it.
    """

    benchmark: str
    options: Options
    resources: Resources
    items: pd.DataFrame
    requests: Mapping[str, pd.DataFrame]
    categories: Mapping[str, Sequence[str]]
    nuisance: Nuisance | None = None

    @classmethod
    def of(
        cls,
        benchmark: str,
        protocol: str,
        resources: Resources,
        items: pd.DataFrame,
        tasks: Collection[str],
        wanted: Collection[str] = (),
    ) -> "Harness":
        """Those ``tasks`` of a benchmark under a ``protocol`` that have any of the ``wanted`` categories (empty: all),
        in these categories.

        ``resources`` are the shipped files of all of its steps.
        """
        options = registry.load_options(benchmark, protocol)
        declared = registry.spec_view(benchmark, "studies").tasks
        found = {task: [name for name in declared[task].categories if not wanted or name in wanted] for task in tasks}
        categories = {task: names for task, names in found.items() if names}
        build = registry.build_requests(benchmark)
        requests = {task: build(items, task, names, options, resources) for task, names in categories.items()}
        return cls(benchmark, options, resources, items, requests, categories)

    @classmethod
    def of_study(cls, study: Study, resources: Resources, items: pd.DataFrame) -> "Harness":
        """What a ``study`` asks about ``items``."""
        if study.every > 1:
            design = registry.spec_view(study.benchmark, "studies").design
            (cluster, *_) = next(factor for factor in design.values() if factor.sampled and factor.items).items
            codes, names = pd.factorize(items[cluster])
            if len(names) >= study.every * _LEFT:
                items = items[codes % study.every == 0].reset_index(drop=True)
        return cls.of(study.benchmark, study.protocol, resources, items, study.tasks, study.categories)

    def only(self, task: str) -> "Harness":
        """The harness of one of its tasks."""
        return replace(self, requests={task: self.requests[task]}, categories={task: self.categories[task]})

    @cached_property
    def questions(self) -> dict[str, Questions]:
        """The prepared requests, by task."""
        return {
            task: Questions.of(self.benchmark, self.items, requests, task) for task, requests in self.requests.items()
        }

    def under(self, nuisance: Nuisance | None) -> "Harness":
        """The same requests, prepared once, answered and scored under a ``nuisance``."""
        if nuisance is None or nuisance.form == "groups":
            return self
        changed = replace(self, nuisance=nuisance)
        if nuisance.form == "asked":
            fitting = {task: each for task, each in self.questions.items() if each.kind in nuisance.of}
            changed.__dict__["questions"] = self.questions | {
                task: replace(each, change=_changed(nuisance, TaskRequests(each, self.items)))
                for task, each in fitting.items()
            }
        else:
            changed.__dict__["questions"] = self.questions
        return changed

    def disturbed(self, scores: pd.DataFrame, seed: int) -> pd.DataFrame:
        """One model's ``scores`` under a nuisance of data."""
        if self.nuisance is None or self.nuisance.form != "scores":
            return scores
        return self.nuisance.act(scores, self.cluster, seed)

    @property
    def cluster(self) -> str:
        """The column of scores whose levels are sampled."""
        design = registry.spec_view(self.benchmark, "studies").design
        return next(factor for factor in design.values() if factor.sampled and factor.scores).scores[0]

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The groups that requests are about, by category; both in alphabetical order."""
        bias_roles = [questions.asked.roles for questions in self.questions.values()]
        pairs = {pair for each in bias_roles for pair in zip(each.category, each.group, strict=True)}
        return {name: [group for _, group in of] for name, of in groupby(sorted(pairs), key=itemgetter(0))}

    def scores(self, entry: SimulatedEntry, name: str, judge: SimulatedEntry | None = None) -> pd.DataFrame:
        """The scores of a model of this ``name``, as a run would write them; without a ``judge`` it judges itself."""
        answers = {task: questions.answer(entry) for task, questions in self.questions.items()}
        return self.disturbed(self.scored(answers, name, judge or entry), entry.seed)

    def scored(
        self, answers: Mapping[str, pd.DataFrame], name: str, judge: SimulatedEntry | None = None
    ) -> pd.DataFrame:
        """The scores of the responses of a model of this ``name``, by task; tasks with a judge need a ``judge``."""
        parts = [
            scores.assign(model=name, task=task, category=category)
            for task, responses in answers.items()
            for category, scores in self._by_category(task, responses, judge)
        ]
        return pd.concat(parts, ignore_index=True)

    def _by_category(
        self, task: str, responses: pd.DataFrame, judge: SimulatedEntry | None
    ) -> Iterator[tuple[str, pd.DataFrame]]:
        judgements = self._judged(task, responses, judge) if judge else None
        score, given = registry.score_responses(self.benchmark), (self.items, self.requests[task], responses, task)
        for category in self.categories[task]:
            yield category, score(*given, category, self.options, self.resources, judgements)

    def scores_of(self, entries: Mapping[str, SimulatedEntry], judge: SimulatedEntry | None = None) -> pd.DataFrame:
        """The scores of several models by name, scored together, with a copy of the items for each; tasks with a judge
        need a ``judge``.

        This saves time: most of what scoring a few thousand items costs does not depend on their number.
        """
        parts = []
        places = [f"{place}{_OF}" for place in range(len(entries))]
        items = pd.concat([_renamed(self.items, place) for place in places], ignore_index=True)
        requests = {
            task: pd.concat([_renamed(asked, place) for place in places], ignore_index=True)
            for task, asked in self.requests.items()
        }
        many = replace(self, items=items, requests=requests)
        for task, questions in self.questions.items():
            answers = pd.concat(
                [
                    _renamed(questions.answer(entry), place)
                    for place, entry in zip(places, entries.values(), strict=True)
                ],
                ignore_index=True,
            )
            for category, scores in many._by_category(task, answers, judge):
                model = scores.iloc[:, 0].str.partition(_OF)[0].astype(int)
                parts.append(scores.assign(model=np.array([*entries])[model], task=task, category=category))
        together = pd.concat(parts, ignore_index=True)
        each = [self.disturbed(rows, entries[str(name)].seed) for name, rows in together.groupby("model", sort=False)]
        return pd.concat(each, ignore_index=True) if self.nuisance else together

    def table(self, name: str, scores: pd.DataFrame) -> pd.DataFrame:
        """A table of the benchmark from ``scores``, which may be of other tasks too."""
        spec = registry.spec_view(self.benchmark, "studies")
        mine = scores[scores["task"].isin(spec.tables[name].tasks)]
        return registry.tables(self.benchmark)[name](mine, self.options, self.resources.published, {})

    def _judged(self, task: str, responses: pd.DataFrame, judge: SimulatedEntry) -> pd.DataFrame | None:
        """The judge's replies on the responses, asked again if they cannot be parsed; None for an unjudged task."""
        if not registry.spec_view(self.benchmark, "studies").tasks[task].judged:
            return None
        build = registry.build_judge_requests(self.benchmark)
        given = (self.items, self.requests[task], responses, task, self.options, self.resources)
        requests, judgements = build(*given), pd.DataFrame(columns=["request_id", "repeat", "status", "text"])
        while len(requests):
            judgements = Questions.of(self.benchmark, self.items, requests, task).answer(judge)
            again = build(*given, judgements)
            if again.equals(requests):
                break
            requests = again
        return judgements


def _changed(nuisance: Nuisance, asked: TaskRequests) -> Change:
    def change(entry: SimulatedEntry, values: Array) -> Array:
        return nuisance.act(asked, values, entry.seed)

    return change
