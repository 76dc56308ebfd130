"""Ask a judge model about McBE's analyses (BA), and about the order of context and sentence (SC as released)."""

import json

import pandas as pd

from biasatlas.benchmarks.mcbe.readers import NUMBERS, is_refusal
from biasatlas.benchmarks.mcbe.requests import finish, read_prompts
from biasatlas.files import read_published

#: Longest judge reply in tokens: a number, or a few words around one.
_MAX_TOKENS = 64
_COLUMNS = ["request_id", "item_id", "criterion", "prompt", "labels", "reader"]


def rubric() -> pd.DataFrame:
    """Table 5: ``criterion``, ``max_score`` (int) and ``weight`` (float); weighted maxima add to 100."""
    return read_published("mcbe_judge_rubric").astype({"max_score": int, "weight": float})


def build_judge_requests(
    items: pd.DataFrame,
    requests: pd.DataFrame,
    responses: pd.DataFrame,
    task: str,
    protocol: dict,
    judgements: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Four requests to the judge for every analysis: one per criterion of the rubric, by answer and repeat.

    ``request_id`` is that of the analysis, its repeat and the criterion. Refusals and empty analyses are left out under
    ``ba_refused`` exclude, failed ones always. Under ``judge_answers`` exact the requests are of kind choice over the
    criterion's scores in halves, else of kind generation.

    ``judgements`` are the judge's responses so far: a request none of whose replies can be read comes back with one
    more repeat, up to ``judge_attempts``; the others as they were. Answering from the store, only the new repeats are
    asked. When the requests come back as they were, the judge is done. No rows: there is nothing to judge.
    """
    if task != "BA":
        raise ValueError(f"task {task} has no judge")
    prompts = read_prompts("judge")[protocol["ba_judge_prompt"]]
    answers = responses.merge(requests[["request_id", "item_id"]], on="request_id", validate="m:1").merge(
        items[["item_id", "explanation"]], on="item_id", validate="m:1"
    )
    criteria = list(rubric().itertuples())
    exact = protocol["judge_answers"] == "exact"
    rows = [
        {
            "request_id": f"{answer.request_id}/{answer.repeat}/{criterion.criterion}",
            "item_id": answer.item_id,
            "criterion": criterion.criterion,
            "prompt": prompts["prompt"].format(
                answer=answer.text,
                explanation=answer.explanation,
                criterion=prompts["criteria"][criterion.criterion],
                max_score=criterion.max_score,
            ),
            "labels": json.dumps(score_labels(criterion.max_score)),
            # Its probabilities are followed for a number at the start alone: a judge is told to say nothing else.
            "reader": "mcbe_leading" if exact else f"mcbe_{protocol['judge_parse']}",
        }
        for answer in answers.itertuples()
        if analysis_status(answer.status, answer.text, protocol) == "ok"
        for criterion in criteria
    ]
    built = finish(
        pd.DataFrame(rows, columns=_COLUMNS),
        kind="choice" if exact else "generation",
        repeats=1,
        max_tokens=_MAX_TOKENS,
        generation="untempered" if exact else "checkpoint_config",
    )
    if judgements is None or exact:
        return built
    asked = judgements.groupby("request_id").size()
    scores = read_judgements(judgements, protocol)
    unread = ~built["request_id"].isin(scores.loc[scores["score"].notna(), "request_id"])
    repeats = built["request_id"].map(asked).fillna(0).astype(int)
    return built.assign(repeats=(repeats + unread).clip(1, protocol["judge_attempts"]))


def analysis_status(status: str, text: str | None, protocol: dict) -> str:
    """The status of an analysis: ok where it is judged, else why it is not."""
    if status not in ("ok", "truncated"):
        return status
    if protocol["ba_refused"] == "judge":
        return "ok"
    if not (isinstance(text, str) and text.strip()):
        return "unparseable"
    return "refused" if is_refusal(text) else "ok"


def score_labels(max_score: int) -> list[str]:
    """The scores of a criterion in halves, as text: "0", "0.5" ... ``max_score``."""
    return [f"{halves / 2:g}" for halves in range(2 * max_score + 1)]


def read_judgements(judgements: pd.DataFrame, protocol: dict) -> pd.DataFrame:
    """A row per judge request: ``request_id``, ``criterion`` and ``score``, missing where no reply can be read.

    Of sampled replies the first that can be read counts; of probabilities the expectation over the readable mass.
    """
    maxima = dict(rubric().set_index("criterion")["max_score"])
    read = NUMBERS[protocol["judge_parse"]]

    def score(judgement) -> float:
        top = maxima[judgement.request_id.rpartition("/")[2]]
        if judgement.status not in ("ok", "truncated"):
            return float("nan")
        if hasattr(judgement, "probabilities"):
            masses = json.loads(judgement.probabilities)
            expected = sum(float(label) * mass for label, mass in zip(score_labels(top), masses, strict=True))
            return expected / sum(masses) if any(masses) else float("nan")
        value = read(judgement.text, True)
        unchecked = protocol["judge_parse"] == "first_integer"
        return float("nan") if value is None or not (unchecked or 0 <= value <= top) else value

    frame = judgements.sort_values(["request_id", "repeat"], kind="stable")
    frame = frame.assign(
        criterion=[name.rpartition("/")[2] for name in frame["request_id"]],
        score=[score(one) for one in frame.itertuples()],
    )
    return frame.groupby("request_id", as_index=False, sort=False)[["criterion", "score"]].first()


def build_order_requests(items: pd.DataFrame, categories: list[str]) -> pd.DataFrame:
    """What the authors' code asks a judge before SC: whether context or sentence comes first; one request per item.

    The sentence keeps its placeholder, as there.
    """
    prompt = read_prompts("judge")["order"]
    rows = [
        {
            "request_id": f"{item.item_id}/order",
            "item_id": item.item_id,
            "prompt": prompt.format(context=item.context, sentence=item.sentence),
        }
        for item in items[items["category"].isin(categories)].itertuples()
    ]
    return finish(
        pd.DataFrame(rows), kind="generation", repeats=1, max_tokens=_MAX_TOKENS, generation="checkpoint_config"
    )
