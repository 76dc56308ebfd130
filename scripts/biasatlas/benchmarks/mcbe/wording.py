"""McBE's prompts in three wordings: ours, which ship; the authors' code's; those that the paper prints."""

import re
from collections.abc import Mapping, Sequence

from biasatlas.benchmarks.shared.wording import formatted_strings, plain, printed, template, with_slots
from biasatlas.resources import Resources

#: Slots of the prompts in the authors' `eval.py`, in their order.
_SLOTS = {
    "sc": ("classification", ("sentence", "labels")),
    "ss": ("scenario_selection", ("first", "second")),
    "ba": ("bias_analysis", ("word", "sentence")),
    "bs": ("bias_scoring", ("sentence",)),
}
_JUDGE_SLOTS = ("answer", "explanation")


def prompts(wording: str, resources: Resources) -> dict[str, str]:
    """Prompts for the model under test, with slots ``{sentence}`` and the like: sc, ss, ba, bs, and for two of them a
    second wording, sc_alternative and bs_alternative (which the authors' code lacks).

    The paper's white space is not known: a line ends where the code has one behind a text of its own. SC is derived from
    the code, whose words are the printed ones, and the severity levels are the code's, since print has them in English
    alone. Its BS has no slot for the sentence: it goes where the prompt first speaks of it, as in the code.
    """
    if wording == "ours":
        return resources.yaml("prompts/mcbe/model.yaml")
    released = {
        name: template(_of_code(resources, "eval.py", function)[0], slots) for name, (function, slots) in _SLOTS.items()
    }
    if wording == "released":
        return released
    text = printed(resources, "mcbe")
    levels = "\n" + "\n".join(line for line in released["bs"].splitlines() if line.startswith("- ")) + "\n"
    return {
        "sc": ",".join(plain(line) for line in released["sc"].splitlines()),
        "ss": with_slots(text["ss"], {"[Sentence1]": "{first}", "[Sentence2]": "{second}"}),
        "ba": with_slots(text["ba"], {"[Word]": "{word}", "[DefaultSentence]": "{sentence}\n"}),
        "bs": _bs(text["bs"], levels),
        "sc_alternative": with_slots(
            text["sc_alternative"], {"[DefaultSentence]": "{sentence}", "[AllSubcategories]": "{labels}"}
        ),
        "bs_alternative": _bs(text["bs_alternative"], levels),
    }


def _bs(text: str, levels: str) -> str:
    return with_slots(text.replace(",", ":{sentence},", 1), {"[ScoringCriteriaforBiasScoring]": levels})


def judge_prompts(wording: str, maxima: Mapping[str, int], resources: Resources) -> dict[str, str]:
    """Criterion -> its prompt for the judge, with slots ``{answer}`` and ``{explanation}``.

    ``maxima`` are the criteria of the rubric, in its order, with the highest score of each. The paper's prompt is one
    for all, and its criteria are those of the code, since print has them in English alone.
    """
    if wording == "ours":
        ours = resources.yaml("prompts/mcbe/judge.yaml")
        return {
            name: ours["prompt"].replace("{criterion}", ours["criteria"][name]).replace("{max_score}", str(top))
            for name, top in maxima.items()
        }
    _, *strings = _of_code(resources, "eval.py", "bias_analysis")
    released = {name: template(parts, _JUDGE_SLOTS) for name, parts in zip(maxima, strings, strict=True)}
    if wording == "released":
        return released
    prompt = with_slots(
        printed(resources, "mcbe")["ba_judge"], {"[Analysis]": "{answer}\n", "[Explanation]": "{explanation}\n"}
    )
    return {
        name: with_slots(
            prompt,
            {"[ScoringCriteriaforBiasAnalysis]": _criterion(released[name]) + "\n", "[ScoreRange]": f"0到{top}"},
        )
        for name, top in maxima.items()
    }


def _criterion(prompt: str) -> str:
    """The line of a judge's prompt that says what is graded, without the words in front of it."""
    return re.split("[:：]", prompt.splitlines()[3], maxsplit=1)[1]


def order_prompt(resources: Resources) -> str:
    """What the authors' code asks a judge before SC, with slots ``{context}`` and ``{sentence}``."""
    return template(_of_code(resources, "utils.py", "order_by_LLM")[0], ("context", "sentence"))


def _of_code(resources: Resources, file: str, function: str) -> Sequence[Sequence[str]]:
    return formatted_strings(resources.path("wording/mcbe_code") / file, function, "prompt")
