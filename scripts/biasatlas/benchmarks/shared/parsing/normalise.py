"""A reply as plain text: without thinking, other turns and markup, in one form of characters, of bounded length."""

import itertools
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator

import json_repair
from opencc import OpenCC

from biasatlas.benchmarks.shared.parsing import pattern

#: How many characters of a reply are parsed, and how many of its answer from each end.
LONGEST, WINDOW = 1_000_000, 4_000
#: Stands before what a reply marks as its answer.
MARK = "※answer"
_THOUGHT = r"think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis|思考"
_OPEN = re.compile(rf"<(?:{_THOUGHT})>|\[THINK\]|<\|begin_of_thought\|>|◁think▷", re.I)
_CLOSE = re.compile(rf"</(?:{_THOUGHT})>|\[/THINK\]|<\|end_of_thought\|>|◁/think▷", re.I)
_FINAL_CHANNEL = re.compile(r"<\|channel\|>final(?:<\|message\|>)?|assistantfinal")
_OTHER_CHANNEL = re.compile(r"\s{0,9}(?:<\|start\|>assistant)?(?:<\|channel\|>|(?:analysis|commentary)(?![\s:：]))")
_TURN_ENDS = re.compile(
    r"<\|(?:im_end|endoftext|eot_id|return|end|end_of_solution|im_start|user|observation)\|>|</s>|<eos>|<end_of_turn>"
    r"|<｜end▁of▁sentence｜>|\[/?INST\]"
    r"|\n[ \t]{0,9}(?:###[ \t]{0,3})?(?:Human|User|Question|Q|Instruction|Input|用户|用戶|问题|問題)\s{0,3}[:：]"
)
_TURN_BEGINS = re.compile(r"\A\s{0,99}(?:<s>|<\|(?:begin_of_solution|begin_of_text|assistant)\|>)")
_QUOTES = str.maketrans("’‘“”「」『』﹁﹂", "''" + 8 * '"')
_TAG = r"answer|final|final_answer|output|score|rating|grade|result|label|choice|verdict|judge?ment|eoa"
_MARKUP = (
    (re.compile(r"~~[^~\n]{0,200}~~"), ""),
    (re.compile(r"\\(?:text|textbf|mathbf|mathrm|textit|textrm)\s?\{([^{}\n]{0,200})\}"), r"\1"),
    (re.compile(r"\\boxed\s?\{([^{}\n]{0,200})\}"), "\n※answer: \\1\n"),
    (re.compile(r"\\[()\[\] ,;:!]|\$"), " "),
    (
        re.compile(rf"<(?:{_TAG})>([^<]{{0,400}})(?:</\w{{1,15}}>|$)|\[\[([^\[\]\n]{{1,40}})\]\]", re.I),
        "\n※answer: \\1\\2\n",
    ),
    (re.compile(r"```\w{0,9}|`|\*|(?<!\w)_+|_+(?!\w)"), ""),
    (re.compile(r"^[ \t]{0,9}(?:#{1,6}(?!\d)|>)[ \t]{0,3}", re.M), ""),
)
_ROW = re.compile(r"^[ \t]{0,9}\|.{0,400}\|[ \t]{0,9}$")
HAN, _SIMPLIFIED = re.compile(r"[\u3400-\u9fff]"), OpenCC("t2s")
#: The outermost braces, with up to three levels; closing braces may be missing.
_OBJECT = re.compile(r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\}?)*+\}?)*+\}?")


def answer_part(text: str) -> str:
    """The part of a reply that answers, without thinking or made-up turns; empty while a model is still thinking.

    Of a text longer than a million characters, only its two ends are used.
    """
    if len(text) > LONGEST:
        text = text[: LONGEST // 2] + "\n\n" + text[-LONGEST // 2 :]
    said = _OPEN.split(split_thinking(text)[1], maxsplit=1)[0]
    return _TURN_ENDS.split(_TURN_BEGINS.sub("", said, count=1), maxsplit=1)[0]


def split_thinking(text: str) -> tuple[str, str]:
    """The thinking in a reply, and what it says after that: nothing if the thinking does not end.

    Thinking ends at the last closing mark, even if the opening mark is in the prompt. Of Harmony's channels, the final
    one is the answer. A text without any such mark is all answer.
    """
    if ends := [*_FINAL_CHANNEL.finditer(text)] or [*_CLOSE.finditer(text)]:
        return _OPEN.sub("", _CLOSE.sub("", text[: ends[-1].start()])).strip(), text[ends[-1].end() :]
    opening = _OPEN.match(text.lstrip()) or _OTHER_CHANNEL.match(text.lstrip())
    return (text.lstrip()[opening.end() :].strip(), "") if opening else ("", text)


def plain(text: str) -> str:
    """The answer of a reply in plain characters: half-width, Simplified, straight quotes, without Markdown, HTML
    and LaTeX.

    Of a long text, only the first and last 4,000 characters. The content of a box, of an answer's tags or of [[ ]]
    becomes a line "※answer: ...", a Markdown table becomes lines "cell: cell".
    """
    text = answer_part(text).strip()
    text = text if len(text) <= 2 * WINDOW else f"{text[:WINDOW]}\n\n{text[-WINDOW:]}"
    text = simplified(unicodedata.normalize("NFKC", text).translate(_QUOTES))
    for markup, replacement in _MARKUP:
        text = markup.sub(replacement, text)
    return _OBJECT.sub(_object_as_lines, _tables_as_lines(text)).strip()


def simplified(text: str) -> str:
    """``text`` in Simplified characters."""
    return _SIMPLIFIED.convert(text) if HAN.search(text) else text


def _tables_as_lines(text: str) -> str:
    """``text`` with the rows of Markdown tables as "cell: cell", without the column of full marks."""
    full: int | None = None
    lines: list[str] = []
    for line in text.split("\n"):
        if _ROW.match(line):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            full = next((i for i, cell in enumerate(cells) if pattern("{full_marks}").fullmatch(cell)), full)
            line = ": ".join(cell for i, cell in enumerate(cells) if i != full and re.search(r"[^\s:-]", cell))
        lines.append(line)
    return "\n".join(lines)


def _object_as_lines(match: re.Match[str]) -> str:
    """A JSON object as lines "key: value", repaired where it is short and broken; other braces as they are."""
    try:
        value = json.loads(match[0])
    except (ValueError, RecursionError):
        value = json_repair.loads(match[0][:2000]) if len(re.findall(r"[{[]", match[0])) <= 50 else None
    return "\n".join(["", *_lines(value), ""]) if isinstance(value, dict) else match[0]


def _lines(value: dict) -> Iterator[str]:
    """A line for each key. One that names the answer or has the only number is marked, and so is the likeliest one."""
    numbers = {each: key for key, each in value.items() if isinstance(each, int | float) and math.isfinite(each)}
    if len(numbers) > 1 and (0 < sum(numbers) < 1.005 or 99.5 < sum(numbers) < 100.5):
        yield f"{MARK}: {numbers[max(numbers)]}"
    for key, each in value.items():
        if isinstance(each, dict):
            yield from _lines(each)
        else:
            said = "、".join(map(str, each)) if isinstance(each, list) else str(each)
            names = pattern("{answer_key}").fullmatch(str(key).strip()) or [*numbers] == [each]
            yield f"{MARK if names else key}: {' '.join(said.split())}"


#: The end of a sentence; "A. He left" and "Mr. Smith" are not split.
_STOP = re.compile(
    r"\n+|[。!?;]+[\"')\]]{0,3}|(?<![\"'(]\w)(?<!^\w)(?<!\b[mM]r)(?<!\b[dD]r)\.[\"')\]]{0,3}(?=\s+[^\sa-z]|\s*$)"
    r"|(?<=[\u3400-\u9fff])\.",
    re.M,
)


def sentences(text: str) -> list[str]:
    """The first and last hundred sentences of a plain ``text``."""
    ends = [0, *(stop.end() for stop in _STOP.finditer(text)), len(text)]
    parts = [text[start:end] for start, end in itertools.pairwise(ends)]
    found = [part for part in parts if part.strip(" \t\n\"'([-•")]
    return found if len(found) <= 200 else found[:100] + found[-100:]


def finished(text: str) -> bool:
    """Whether a plain ``text`` is not cut off: it is short, or ends as sentences do."""
    return len(text) < 30 or bool(re.search(r"[.。!?)\"'\]*\d分]\s{0,3}$", text))


_QUOTED = re.compile(r"\"[^\"\n]{0,400}\"|《[^》\n]{0,60}》")


def declines(text: str) -> re.Match[str] | None:
    """Where a plain ``text`` says, in its own words and not in quoted ones, that it will not answer."""
    return pattern("{declines}").search(_QUOTED.sub('"…"', text))


#: Lines that may belong to another item, and lines that continue an answer.
_OTHER = pattern(
    r"\s{0,4}(?!※)(?:[^\n:,.。!?;\"]{1,24}:|\(?A\s?[.)、:]\s?\S[^\n]{0,200}$|请|[^\n]{1,300}[?]\s{0,3}$"
    r"|[\[【(]?[^\W\d]{0,12}\s?#?\(?(?:[2-9]|1\d)[\]】)]?\s{0,2}(?:[.、:)\]】]|$)(?!\d))"
)
_REASON = pattern(r"[\s\"'(\[【#*-]{0,6}{reason}")


def first_item(body: str, answers: Callable[[str], bool]) -> str:
    """The plain ``body`` up to the next item if its first line ``answers``, else all of it."""
    lines = body.split("\n")
    if len(lines) == 1 or not answers(lines[0].strip()):
        return body
    numbered = re.compile(r"\s{0,3}[(\[-]?\s?(?:\d{1,2}|[A-H])\s?[.):、](?!\d)")
    listed = bool(numbered.match(lines[0]))
    for at, line in enumerate(lines[1:60], 1):
        if listed and numbered.match(line):
            continue
        if _OTHER.match(line) and not _REASON.match(line):
            return "\n".join(lines[:at])
    return body
