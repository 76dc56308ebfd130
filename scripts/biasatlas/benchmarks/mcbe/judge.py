"""Ask a judge model about McBE's analyses (BA), and about the order of context and sentence (SC as released)."""

import json
import re
from collections.abc import Mapping

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.mcbe import is_faulty
from biasatlas.benchmarks.mcbe.parsers import number
from biasatlas.benchmarks.mcbe.requests import finish, prompts_of_code
from biasatlas.benchmarks.mcbe.spec import McBEOptions
from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE
from biasatlas.benchmarks.shared.parsing.choice import parse_refusal
from biasatlas.benchmarks.shared.templates import fill_slots, printed, template, with_slots
from biasatlas.resources import Resources

#: Slots of the judge's prompts, in their order.
_JUDGE_SLOTS = ("answer", "explanation")
#: Longest judge reply in tokens: a number, or a few words around one.
_MAX_TOKENS = 64
_COLUMNS = ["request_id", "item_id", "criterion", "prompt", "labels", "parser"]


def rubric(resources: Resources) -> pd.DataFrame:
    """Table 5: ``criterion`` and ``max_score`` (int). Its weights are in another file, since no judge needs them."""
    return resources.csv("mcbe/judge_rubric.csv").astype({"max_score": int})


def build_judge_requests(step: Step[McBEOptions]) -> pd.DataFrame:
    """Four requests to the judge for every analysis: one per criterion of the rubric, by answer and repeat.

    ``request_id`` is that of the analysis, its repeat and the criterion, which is a column of its own, too. Refusals
    and empty analyses are left out under ``ba_refused`` exclude, failed ones always. Under ``judge_answers`` exact the
    requests are of kind choice over the criterion's scores in halves, else of kind generation.

    The step's ``judgements`` are the judge's responses so far: a request with fewer readable replies than
    ``judge_grades`` comes back with one more repeat, up to ``judge_attempts``; the others come back unchanged. The
    store answers the old repeats, so only new ones are asked. The judge is done when all requests come back unchanged,
    or there are no rows.
    """
    if step.task != "BA":
        raise ValueError(f"task {step.task} has no judge")
    options, resources = step.options, step.resources
    exact = options.judge_answers == "exact"
    answers = step.responses.merge(step.requests[["request_id", "item_id"]], on="request_id", validate="m:1").merge(
        step.items[["item_id", "explanation"]], on="item_id", validate="m:1"
    )
    judged = [
        analysis_status(status, text, options) == "ok"
        for status, text in zip(answers["status"], answers["text"], strict=True)
    ]
    judge_requests = finish(
        pd.DataFrame(_questions(answers[judged], options, resources), columns=_COLUMNS),
        kind="choice" if exact else "generation",
        repeats=options.judge_grades,
        max_tokens=_MAX_TOKENS,
        generation="untempered" if exact else "checkpoint_config",
    )
    if step.judgements is None or exact:
        return judge_requests
    return _with_attempts(judge_requests, step.judgements, options, resources)


def _questions(answers: pd.DataFrame, options: McBEOptions, resources: Resources) -> list[dict]:
    """The judge's requests about each of ``answers``, one for each criterion."""
    criteria = list(rubric(resources).itertuples())
    prompts = judge_prompts(options.judge_template, {row.criterion: row.max_score for row in criteria}, resources)
    return [
        {
            "request_id": f"{answer.request_id}/{answer.repeat}/{row.criterion}",
            "item_id": answer.item_id,
            "criterion": row.criterion,
            "prompt": fill_slots(prompts[row.criterion], {"answer": answer.text, "explanation": answer.explanation}),
            "labels": json.dumps(score_labels(row.max_score)),
            "parser": "decimal",
        }
        for answer in answers.itertuples()
        for row in criteria
    ]


def _with_attempts(
    requests: pd.DataFrame, judgements: pd.DataFrame, options: McBEOptions, resources: Resources
) -> pd.DataFrame:
    """``requests`` with one more repeat than so far where too few replies can be read, up to ``judge_attempts``."""
    asked = judgements.groupby("request_id").size()
    grades = _grades(judgements, options, resources).groupby("request_id")["score"].count()
    repeats, read = (requests["request_id"].map(counts).fillna(0).astype(int) for counts in (asked, grades))
    most = max(options.judge_attempts, options.judge_grades)
    return requests.assign(repeats=(repeats + (read < options.judge_grades)).clip(options.judge_grades, most))


def analysis_status(status: str, text: str | None, options: McBEOptions) -> str:
    """The status of an analysis: ok where it is judged, else why it is not."""
    if status not in ("ok", "truncated"):
        return status
    if options.ba_refused == "judge":
        return "ok"
    if not (isinstance(text, str) and text.strip()):
        return "unparseable"
    return "refused" if parse_refusal(text) == REFUSED else "ok"


def score_labels(max_score: int) -> list[str]:
    """The scores of a criterion in halves, as text: "0", "0.5" ... ``max_score``."""
    return [f"{halves / 2:g}" for halves in range(2 * max_score + 1)]


def read_judgements(judgements: pd.DataFrame, options: McBEOptions, resources: Resources) -> pd.DataFrame:
    """A row per judge request: ``request_id``, ``criterion``, ``score``, ``outcome``: "ok" or why there is no score.

    The first ``judge_grades`` sampled replies that can be read count, and must agree: else the outcome is "ambiguous",
    as for a reply with several grades. With probabilities, the score is the expectation over the readable mass.
    """
    grades = _grades(judgements, options, resources)
    read = grades[grades["score"].notna()]
    first = read[read.groupby("request_id").cumcount() < options.judge_grades].groupby("request_id")["score"]
    wanted = 1 if "probabilities" in judgements else options.judge_grades
    agree, enough = first.nunique() == 1, first.size() >= wanted
    rows = grades.groupby("request_id", as_index=False, sort=False)[["criterion", "outcome"]].last()
    there, same = (rows["request_id"].map(of).eq(True) for of in (enough, agree))
    outcome = (
        rows["outcome"]
        .where(~there, np.where(same, "ok", AMBIGUOUS))
        .mask(~there & rows["outcome"].eq("ok"), UNPARSEABLE)
    )
    return rows.assign(score=rows["request_id"].map(first.first()).where(outcome == "ok"), outcome=outcome)


def _grades(judgements: pd.DataFrame, options: McBEOptions, resources: Resources) -> pd.DataFrame:
    """A row per judgement, by request and repeat: ``criterion``, ``score`` (missing without one), ``outcome``."""
    maxima = dict(rubric(resources).set_index("criterion")["max_score"])
    judgements = judgements.sort_values(["request_id", "repeat"], kind="stable")
    criteria = [request_id.rpartition("/")[2] for request_id in judgements["request_id"]]
    tops = [maxima[criterion] for criterion in criteria]
    if "probabilities" in judgements:
        rows = zip(judgements["status"], judgements["probabilities"], tops, strict=True)
        found: list[float | str] = [_expected_score(*row) for row in rows]
    else:
        texts = zip(judgements["status"], judgements["text"], tops, strict=True)
        found = [_stated_score(*row, options.judge_parse) for row in texts]
    said = pd.Series(found, judgements.index, dtype=object)
    missing = said.map(lambda value: isinstance(value, str))
    return judgements.assign(
        criterion=criteria, score=said.mask(missing).astype(float), outcome=said.where(missing, "ok")
    )


def _expected_score(status: str, probabilities: str, top: int) -> float | str:
    if status not in ("ok", "truncated"):
        return status
    masses = json.loads(probabilities)
    expected = sum(float(label) * mass for label, mass in zip(score_labels(top), masses, strict=True))
    return expected / sum(masses) if any(masses) else UNPARSEABLE


def _stated_score(status: str, text: str, top: int, judge_parse: str) -> float | str:
    """A reply's number, or why there is none; any number as released (first_integer), else one from 0 to ``top``."""
    return number(judge_parse, text, top) if status in ("ok", "truncated") else status


def build_order_requests(step: Step) -> pd.DataFrame:
    """What the authors' code asks a judge before SC: whether context or sentence comes first; one request per item.

    The sentence keeps its placeholder, as in that code.
    """
    items = step.items[step.items["category"].isin(step.categories) & ~is_faulty(step.items, "SC")]
    prompt = order_prompt(step.resources)
    rows = [
        {
            "request_id": f"{item.item_id}/order",
            "item_id": item.item_id,
            "prompt": fill_slots(prompt, {"context": item.context, "sentence": item.sentence}),
        }
        for item in items.itertuples()
    ]
    return finish(
        pd.DataFrame(rows), kind="generation", repeats=1, max_tokens=_MAX_TOKENS, generation="checkpoint_config"
    )


def judge_prompts(source: str, maxima: Mapping[str, int], resources: Resources) -> dict[str, str]:
    """Criterion -> its prompt for the judge, with slots ``{answer}`` and ``{explanation}``.

    ``maxima`` maps the criteria of the rubric, in its order, to their highest scores. The paper has one prompt for all;
    its criteria are taken from the code, since the paper prints them in English only.
    """
    if source == "ours":
        ours = resources.yaml("prompts/mcbe/judge.yaml")
        return {
            name: ours["prompt"].replace("{criterion}", ours["criteria"][name]).replace("{max_score}", str(top))
            for name, top in maxima.items()
        }
    _, *strings = prompts_of_code(resources, "eval.py", "bias_analysis")
    released = {name: template(parts, _JUDGE_SLOTS) for name, parts in zip(maxima, strings, strict=True)}
    if source == "released":
        return released
    prompt = with_slots(
        printed(resources, "mcbe")["ba_judge"], {"[Analysis]": "{answer}", "[Explanation]": "{explanation}"}
    )
    return {
        name: with_slots(
            prompt,
            {"[ScoringCriteriaforBiasAnalysis]": _criterion(released[name]), "[ScoreRange]": f"0到{top}"},
        )
        for name, top in maxima.items()
    }


def _criterion(prompt: str) -> str:
    """The line of a judge's prompt that says what is graded, without the words in front of it."""
    return re.split("[:：]", prompt.splitlines()[3], maxsplit=1)[1]


def order_prompt(resources: Resources) -> str:
    """What the authors' code asks a judge before SC, with slots ``{context}`` and ``{sentence}``."""
    return template(prompts_of_code(resources, "utils.py", "order_by_LLM")[0], ("context", "sentence"))
