"""The steps of DBB's construction (paper, section 3 and Tables 12 to 15): from a source's items to questions.

A step's requests are built from the rows that the steps before kept; parsing its responses gives the same rows with what
the step adds, and a verdict. A rejected row stays in the table, with the step and the reason, and is asked no more.
"""

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from biasatlas.benchmarks.dbb.items import PLACEHOLDER, VARIATIONS
from biasatlas.errors import UserError

STEPS = (
    "quality_filter",
    "bias_summary",
    "raw_concepts",
    "post_hoc_check",
    "context_and_first_option",
    "second_option",
    "three_sentence_check",
    "nine_variations",
)

#: What steps add to a source's row; missing before. ``variations_1`` and ``variations_2`` are JSON lists.
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

_PROMPTS = Path(__file__).parents[5] / "resources/prompts/dbb/construct"
_BY_FORM = ("bias_summary", "raw_concepts")
_FORMS = ("sentences", "question", "stereotype")

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

_CONCEPTS = re.compile(r"^(?:final answer:?)?[\s\"'<`*]*([^;]+?)[\s\"'>`*]*;[\s\"'<`*]*([^;]+?)[\s\"'>`*.]*$", re.I)
_SENTENCE = re.compile(r"\**Sentence\s*(\d*)\s*:\**", re.I)


def read_prompts(files: Mapping[str, str | Path] | None = None) -> dict[str, str]:
    """The prompts by name: ours, or with ``files`` (upstream paths of DBB's data) the released wording where it exists.

    Placeholders are ``[[field]]``, with a field of the row; ``[[X]]`` stays for the writer.
    """
    prompts = {path.stem: path.read_text(encoding="utf-8").strip() for path in sorted(_PROMPTS.glob("*.txt"))}
    for name, released in _RELEASED.items() if files is not None else ():
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


def asked(step: str, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that ``step`` asks about: all that no step rejected; the quality filter reads pairs of sentences only."""
    kept = rows[rows["verdict"] != "rejected"]
    return kept[kept["form"] == "sentences"] if step == "quality_filter" else kept


def build(step: str, rows: pd.DataFrame, prompts: Mapping[str, str]) -> pd.DataFrame:
    """The step's requests, one for each row it asks about; for the variations one for each option.

    No request at all is an empty table: every row was rejected before, or the step has nothing to ask.
    """
    requests = [
        {
            "request_id": f"{row['row_id']}/{step}{part}",
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
        for row in asked(step, rows).to_dict("records")
        for part, prompt in _prompts_of(step, row, prompts)
    ]
    return pd.DataFrame(requests, columns=["request_id"] if not requests else None)


def _prompts_of(step: str, row: dict, prompts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    name = f"{step}_{row['form']}" if step in _BY_FORM else step
    # The released prompts' own names of fields.
    released = {
        "picked_concept1": row["concept_1"],
        "picked_concept2": row["concept_2"],
        "sentence1_generated": row["context"],
    }
    text = prompts[name] + ("\n\n" + _ENDINGS[name] if name in _ENDINGS else "")
    if step != "nine_variations":
        yield "", _filled(text, row | released)
        return
    for part in ("1", "2"):
        yield f"/{part}", _filled(text, row | released | {"picked_concept2": row[f"concept_{part}"]})


def _filled(text: str, fields: Mapping[str, str]) -> str:
    """``text`` with its placeholders replaced at once, so that a placeholder in a row's text is left alone."""
    return re.sub(r"\[\[(\w+)\]\]", lambda match: str(fields.get(match[1], match[0])), text)


def parse(step: str, rows: pd.DataFrame, responses: pd.DataFrame) -> pd.DataFrame:
    """``rows`` with what the responses to ``step`` add, in ``step``, ``verdict`` and ``reason`` what became of each.

    Verdicts: "kept"; "refined" where a check changed something; "skipped" where the step does not apply; "rejected", with
    the reason: the quality filter's own words, a reply without the required form, or no reply. A row rejected before
    stays as it is.
    """
    texts = dict(zip(responses["request_id"], responses["text"], strict=True))
    states = responses.set_index("request_id")[["status", "detail"]]
    asking = set(asked(step, rows)["row_id"])
    done = []
    for row in rows.to_dict("records"):
        if row["row_id"] in asking:
            ids = [f"{row['row_id']}/{step}{part}" for part in (("/1", "/2") if step == "nine_variations" else ("",))]
            try:
                row = row | {"step": step, "reason": ""} | _parsed(step, row, [_reply(i, texts, states) for i in ids])
            except _Rejected as rejected:
                row = row | {"step": step, "verdict": "rejected", "reason": str(rejected)}
        elif row["verdict"] != "rejected":
            row = row | {"step": step, "verdict": "skipped", "reason": ""}
        done.append(row)
    return pd.DataFrame(done, columns=list(rows))


class _Rejected(Exception):
    """Why a row goes no further."""


def _reply(request_id: str, texts: Mapping[str, str], states: pd.DataFrame) -> str:
    if request_id not in states.index:
        raise _Rejected("no response")
    state = states.loc[request_id]
    if state["status"] != "ok":
        raise _Rejected(f"{state['status']}: {state['detail']}" if state["detail"] else state["status"])
    return texts[request_id].strip()


def _parsed(step: str, row: dict, replies: list[str]) -> dict:
    """What one row gains from its replies; raises :class:`_Rejected`."""
    reply = replies[0]
    match step:
        case "quality_filter":
            return _judged(reply)
        case "bias_summary":
            if not reply:
                raise _Rejected("an empty reply")
            return {"verdict": "kept", "explanation": " ".join(reply.split())}
        case "raw_concepts":
            first, second = _concepts(reply)
            return {"verdict": "kept", "concept_1": first, "concept_2": second}
        case "post_hoc_check":
            return _checked(row, dict(zip(("concept_1", "concept_2"), _concepts(reply), strict=True)))
        case "context_and_first_option":
            context, option = _sentences(reply, 2)
            return {"verdict": "kept", "context": _with_placeholder(context), "option_1": option}
        case "second_option":
            return {"verdict": "kept", "option_2": _sentences(reply, 1)[0]}
        case "three_sentence_check":
            context, *options = _sentences(reply, 3)
            if options[0] == options[1]:
                raise _Rejected(f"both options are {options[0]!r}")
            texts = {"context": _with_placeholder(context), "option_1": options[0], "option_2": options[1]}
            return _checked(row, texts)
        case "nine_variations":
            first, second = (_variations(row[f"option_{part}"], text) for part, text in enumerate(replies, start=1))
            return {"verdict": "kept", "variations_1": first, "variations_2": second}
    raise ValueError(f"step {step!r} is none of {STEPS}")


def _judged(reply: str) -> dict:
    word = re.match(r"\W*(true|false)\b\W*", reply, re.I)
    if not word:
        raise _Rejected(f"neither True nor False: {_quoted(reply)}")
    if word[1].lower() == "true":
        raise _Rejected(" ".join(reply[word.end() :].split()) or "low quality, no explanation given")
    return {"verdict": "kept"}


def _concepts(reply: str) -> tuple[str, str]:
    lines = [line for line in reply.splitlines() if ";" in line]
    found = _CONCEPTS.match(lines[0].strip()) if len(lines) == 1 else None
    if not found:
        raise _Rejected(f"not of the form 'concept 1;concept 2': {_quoted(reply)}")
    if found[1].lower() == found[2].lower():
        raise _Rejected(f"both concepts are {found[1]!r}")
    return found[1], found[2]


def _checked(row: dict, texts: dict) -> dict:
    changed = [name for name, text in texts.items() if row[name] != text]
    return texts | {"verdict": "refined" if changed else "kept", "reason": ", ".join(changed)}


def _sentences(reply: str, count: int) -> list[str]:
    """The texts after the markers "Sentence 1:" to ``count`` (or "Sentence:" for one); each exactly once and in order."""
    pieces = _SENTENCE.split(reply)[1:]
    numbers, texts = pieces[::2], [" ".join(text.strip(' \n"*').split()) for text in pieces[1::2]]
    expected = [[str(number) for number in range(1, count + 1)]] + ([[""]] if count == 1 else [])
    if numbers not in expected:
        markers = "'Sentence:'" if count == 1 else f"'Sentence 1:' to 'Sentence {count}:'"
        raise _Rejected(f"without the markers {markers}: {_quoted(reply)}")
    if not all(texts):
        raise _Rejected(f"a marker without a sentence: {_quoted(reply)}")
    return texts


def _with_placeholder(context: str) -> str:
    if PLACEHOLDER not in context:
        raise _Rejected(f"no placeholder {PLACEHOLDER} in the context {context!r}")
    return context


def _variations(original: str, reply: str) -> str:
    """The original and its nine variations as a JSON list."""
    pieces = _SENTENCE.split(reply)[2::2]
    texts = list(dict.fromkeys(" ".join(text.strip(' \n"*').split()) for text in pieces))
    usable = [text for text in texts if PLACEHOLDER in text and text != original]
    if len(usable) != VARIATIONS - 1 or len(pieces) != VARIATIONS - 1:
        raise _Rejected(
            f"{len(pieces)} sentences after 'Sentence:', {len(usable)} of them new and with {PLACEHOLDER}; "
            f"expected {VARIATIONS - 1}"
        )
    return json.dumps([original, *usable], ensure_ascii=False)


def _quoted(reply: str) -> str:
    text = " ".join(reply.split())
    return repr(text if len(text) <= 80 else text[:77] + "...")


def plan(
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
