"""The steps of DBB's construction (paper, section 3 and Tables 12 to 15): from a source's items to questions.

A step's requests are built from the rows that the steps before kept; parsing its responses gives the same rows with what
the step adds, and a verdict. A rejected row stays in the table, with the step and the reason, and later steps skip it.
"""

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

import pandas as pd

from biasatlas.benchmarks.dbb.construct import STEPS
from biasatlas.benchmarks.dbb.construct.replies import Rejected, read_replies
from biasatlas.errors import UserError
from biasatlas.resources import Resources

#: What steps add to a source's row; empty before. ``variations_1`` and ``variations_2`` are JSON lists.
STEP_COLUMNS = (
    "explanation",
    "concept_1",
    "concept_2",
    "context",
    "option_1",
    "option_2",
    "variations_1",
    "variations_2",
)

_PROMPTS = "prompts/dbb/construct"
_BY_FORM = ("bias_summary", "raw_concepts")
#: Ends of the ids of a step's requests for one row.
_PARTS = dict.fromkeys(STEPS, ("",)) | {"nine_variations": ("/1", "/2")}

#: Prompt -> the released file of that wording. The two checks and SOFA's summary stand in the authors' code alone.
_RELEASED = {
    "quality_filter": "filter_questions",
    "bias_summary_sentences": "analysis_1",
    "bias_summary_question": "summarize_bias",
    "raw_concepts_sentences": "analysis_2",
    "raw_concepts_question": "analysis_bbq",
    "raw_concepts_stereotype": "analysis_sofa",
    "context_and_first_option": "qa_generate1",
    "second_option": "qa_generate2",
    "nine_variations": "qa_generate2_more_sentences",
}
#: What follows a prompt: the row's own texts.
_ENDINGS = {
    "quality_filter": "Sentence 1: [[sentence_1]]\nSentence 2: [[sentence_2]]",
    "bias_summary_sentences": "Sentence 1: [[sentence_1]]\nSentence 2: [[sentence_2]]",
    "bias_summary_question": "Context: [[context_source]]\nQuestion: [[question]]",
    "bias_summary_stereotype": "Category: [[bias_type]]\n\nTargets: [[target]]\n\nStereotype: [[stereotype]]",
    "raw_concepts_sentences": "Context: [[explanation]]",
    "raw_concepts_question": "Question: [[question]]",
    "raw_concepts_stereotype": (
        "The biased description is: [[explanation]]\n\nTargets: [[target]]\n\n"
        "Stereotype (the given Concept1): [[stereotype]]"
    ),
}
#: The authors' settings: 0.2 for concepts, 0.3 for writing and checking; top-p and penalty as for all their GPT calls.
_TEMPERATURES = dict.fromkeys(STEPS[:3], 0.2) | dict.fromkeys(STEPS[3:], 0.3)
_MAX_TOKENS = dict.fromkeys(STEPS, 256) | {"nine_variations": 1024}


def read_prompts(resources: Resources, files: Mapping[str, str | Path] | None = None) -> dict[str, str]:
    """The prompts by name: ours, or with ``files`` (upstream paths of DBB's data) the released wording where it exists.

    Placeholders are ``[[field]]``, with a field of the row; ``[[X]]`` stays for the writer. Raises :class:`UserError`
    where a released prompt is not among ``files``.
    """
    prompts = {PurePosixPath(name).stem: resources.text(name) for name in resources.below(_PROMPTS)}
    if files is None:
        return prompts
    for name, released in _RELEASED.items():
        upstream = f"src/prompt_instructions/{released}.txt"
        if upstream not in files:
            raise UserError(
                f"{upstream}: not among the files of the dataset. Fetch it, or use the workflow's own prompts."
            )
        prompts[name] = Path(files[upstream]).read_text(encoding="utf-8").strip()
    return prompts


def start(rows: pd.DataFrame) -> pd.DataFrame:
    """A source's rows with the columns that steps fill: ``step``, ``verdict``, ``reason`` and :data:`STEP_COLUMNS`."""
    return rows.assign(**dict.fromkeys(STEP_COLUMNS, ""), step="", verdict="kept", reason="")


def build(step: str, rows: pd.DataFrame, prompts: Mapping[str, str]) -> pd.DataFrame:
    """The step's requests, one for each row it asks about; for the variations one for each option.

    No request at all is an empty table: every row was rejected before, or the step has nothing to ask.
    """
    requests = [
        {
            "request_id": request_id,
            "item_id": row["row_id"],
            "kind": "generation",
            "messages": json.dumps([{"role": "user", "content": prompt}], ensure_ascii=False),
            "prefix": "",
            "template": "tokenizer",
            "special_tokens": "once",
            "temperature": _TEMPERATURES[step],
            "top_p": 1.0,
            "top_k": 0,
            "repetition_penalty": 1.0,
            "frequency_penalty": 0.6,
            "max_tokens": _MAX_TOKENS[step],
            "repeats": 1,
        }
        for row in _asked(step, rows).to_dict("records")
        for request_id, prompt in zip(_request_ids(step, row), _prompts_of(step, row, prompts), strict=True)
    ]
    return pd.DataFrame(requests, columns=None if requests else ["request_id"])


def _asked(step: str, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that ``step`` asks about: all that no step rejected; the quality filter reads pairs of sentences only."""
    kept = rows[rows["verdict"] != "rejected"]
    return kept[kept["form"] == "sentences"] if step == "quality_filter" else kept


def _request_ids(step: str, row: Mapping[str, str]) -> list[str]:
    return [f"{row['row_id']}/{step}{part}" for part in _PARTS[step]]


def _prompts_of(step: str, row: Mapping[str, str], prompts: Mapping[str, str]) -> Iterator[str]:
    """The prompt of each of the row's requests."""
    name = f"{step}_{row['form']}" if step in _BY_FORM else step
    text = prompts[name] + ("\n\n" + _ENDINGS[name] if name in _ENDINGS else "")
    # The released prompts' own names of fields.
    released = {
        "picked_concept1": row["concept_1"],
        "picked_concept2": row["concept_2"],
        "sentence1_generated": row["context"],
    }
    for part in _PARTS[step]:
        concept = {"picked_concept2": row[f"concept_{part[1:]}"]} if part else {}
        yield _filled(text, {**row, **released, **concept})


def _filled(text: str, fields: Mapping[str, str]) -> str:
    """``text`` with its placeholders replaced at once, so that a placeholder in a row's text is left alone."""
    return re.sub(r"\[\[(\w+)\]\]", lambda match: str(fields.get(match[1], match[0])), text)


def parse(step: str, rows: pd.DataFrame, responses: pd.DataFrame) -> pd.DataFrame:
    """``rows`` with what the responses to ``step`` add, in ``step``, ``verdict`` and ``reason`` what became of each.

    Verdicts: "kept"; "refined" where a check changed something; "skipped" where the step does not apply; "rejected", with
    the reason: the quality filter's own words, a reply without the required form, or no reply. A row rejected before
    stays as it is.
    """
    response_of = {response["request_id"]: response for response in responses.to_dict("records")}
    asked = set(_asked(step, rows)["row_id"])
    parsed = []
    for row in rows.to_dict("records"):
        if row["row_id"] in asked:
            try:
                replies = [_reply(response_of.get(request_id)) for request_id in _request_ids(step, row)]
                row = row | {"step": step, "reason": ""} | read_replies(step, row, replies)
            except Rejected as rejected:
                row = row | {"step": step, "verdict": "rejected", "reason": str(rejected)}
        elif row["verdict"] != "rejected":
            row = row | {"step": step, "verdict": "skipped", "reason": ""}
        parsed.append(row)
    return pd.DataFrame(parsed, columns=list(rows))


def _reply(response: Mapping[str, str] | None) -> str:
    """The text of a response; raises :class:`Rejected` where there is none."""
    if response is None:
        raise Rejected("no response")
    if response["status"] != "ok":
        raise Rejected(f"{response['status']}: {response['detail']}" if response["detail"] else response["status"])
    return response["text"].strip()


def worst_costs(
    rows: pd.DataFrame,
    prompts: Mapping[str, str],
    price_input_per_million: float,
    price_output_per_million: float,
    steps: Sequence[str] = STEPS,
) -> pd.DataFrame:
    """What ``steps`` would cost at most, if no row were rejected: a row per step, and their sum.

    Columns ``step``, ``requests``, ``prompt_tokens`` (a token for every four characters; texts that are not written yet
    count as 200 characters), ``completion_tokens`` (the limit of every reply) and ``cost`` in the prices' currency.
    """
    unwritten = dict.fromkeys(STEP_COLUMNS, "x" * 200)
    full = rows.assign(
        verdict="kept", **{name: rows[name].where(rows[name] != "", text) for name, text in unwritten.items()}
    )
    costs = []
    for step in steps:
        requests = build(step, full, prompts)
        characters = requests["messages"].str.len().sum() if len(requests) else 0
        costs.append((step, len(requests), int(characters) // 4, len(requests) * _MAX_TOKENS[step]))
    table = pd.DataFrame(costs, columns=["step", "requests", "prompt_tokens", "completion_tokens"])
    table.loc[len(table)] = ["all", *table[["requests", "prompt_tokens", "completion_tokens"]].sum()]
    table["cost"] = (
        table["prompt_tokens"] * price_input_per_million + table["completion_tokens"] * price_output_per_million
    ) / 1e6
    return table


def verdicts(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """How many rows of each step's table were kept, refined, skipped and rejected there; columns step, verdict, n."""
    counts = [
        (step, verdict, int(((rows["step"] == step) & (rows["verdict"] == verdict)).sum()))
        for (step, rows), verdict in itertools.product(tables.items(), ("kept", "refined", "skipped", "rejected"))
    ]
    return pd.DataFrame(counts, columns=["step", "verdict", "n"])
