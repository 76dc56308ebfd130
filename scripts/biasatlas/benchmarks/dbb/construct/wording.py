"""The prompts of the construction in three wordings: ours, which ship; the authors' files'; those that the paper prints.

Placeholders are ``[[field]]``, with a field of the row; ``[[X]]`` stays for the writer. "{concept}" and the like in a
prompt of the authors' code becomes such a placeholder too.
"""

import re
from pathlib import PurePosixPath

from biasatlas.benchmarks.dbb.wording import released as released_file
from biasatlas.benchmarks.shared.wording import formatted_strings
from biasatlas.errors import UserError
from biasatlas.resources import Resources

FOLDER = "prompts/dbb/construct"

#: Prompt -> the released file of that wording. The check of concepts and SOFA's summary stand in the authors' code; that of
#: the three sentences is in no file that is fetched.
_FILES = {
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
_PARTS = re.compile(r"\n-{3,}\n")


def read_prompts(resources: Resources, wording: str = "ours") -> dict[str, str]:
    """The prompts by name, whole: with what follows them of a row. Raises UserError for a file of another version."""
    ours = {PurePosixPath(name).stem: resources.text(name) for name in resources.below(FOLDER)}
    if wording == "ours":
        return {name: _ended(name, text) for name, text in ours.items()}
    released = {name: _ended(name, released_file(file, resources)) for name, file in _FILES.items()}
    summary, check = _of_code(resources)
    if wording == "released":
        return ours | released | {"bias_summary_stereotype": summary, "post_hoc_check": check}
    return _printed(released, summary, check)


def _ended(name: str, text: str) -> str:
    return text + ("\n\n" + _ENDINGS[name] if name in _ENDINGS else "")


def _of_code(resources: Resources) -> tuple[str, str]:
    """SOFA's summary, and the check of two concepts."""
    path = resources.path("wording/dbb_code") / "src" / "concept_analysis.py"
    summaries = [parts for parts in formatted_strings(path, target="prompt_exp") if len(parts) == 4]
    checks = [parts for parts in formatted_strings(path, target="prompt_refine") if len(parts) == 4]
    if not summaries or not checks:
        raise UserError(f"{path}: it has not the prompts that are looked for. Fetch it again.")
    return _joined(summaries[0], "bias_type", "target", "stereotype"), _joined(
        checks[0], "explanation", "concept_1", "concept_2"
    )


def _joined(parts: list[str], *fields: str) -> str:
    names = [f"[[{field}]]" for field in fields]
    return "".join(text for pair in zip(parts, [*names, ""], strict=True) for text in pair).strip()


def _printed(released: dict[str, str], summary: str, check: str) -> dict[str, str]:
    """Tables 12 to 15, each behind the lead sentence of appendix C.1. Table 13 has one prompt for all sources."""
    lead, summary = summary.split("\n", 1)
    summary = summary.replace(" (the given Concept1)", "")
    summary = re.sub(r"^.*?, (\w)", lambda match: match[1].upper(), summary, count=1)
    concepts = _selected(released["raw_concepts_sentences"], 0, 1, -1)
    second = _selected(released["second_option"], 0, 3, 4)
    texts = {
        "bias_summary_sentences": _unled(released["bias_summary_sentences"]),
        "bias_summary_question": _unled(released["bias_summary_question"]),
        "bias_summary_stereotype": summary,
        **{f"raw_concepts_{form}": concepts for form in ("sentences", "question", "stereotype")},
        "post_hoc_check": _PARTS.sub("\n", _unled(check)).replace("biased ideas", "bias ideas"),
        "context_and_first_option": _selected(released["context_and_first_option"], 0, 3, 4),
        "second_option": re.sub(r'"\(IMPORTANT(?!.*"\(IMPORTANT)', '" (IMPORTANT', second, flags=re.DOTALL),
    }
    return {name: f"{lead}\n{text}" for name, text in texts.items()} | {
        "nine_variations": released["nine_variations"]  # the paper prints none
    }


def _unled(text: str) -> str:
    """``text`` without its first line, the file's own lead sentence."""
    return text.split("\n", 1)[1]


def _selected(text: str, *numbers: int) -> str:
    """The parts of ``text`` with these ``numbers``, the lead sentence off: the instruction, one example, what is asked."""
    parts = _PARTS.split(_unled(text))
    return "\n-----\n".join(parts[number].strip() for number in numbers)
