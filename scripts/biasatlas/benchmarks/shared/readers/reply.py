"""What a reply says in the end: its text without thinking, turn marks and markup, in one form of characters."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

import json_repair
from opencc import OpenCC

#: Names of tags between which models think, as they write them.
_THOUGHT = r"think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|思考"
_THINKING = re.compile(
    rf"<({_THOUGHT})>.*?</\1>|\[THINK\].*?\[/THINK\]|<\|begin_of_thought\|>.*?<\|end_of_thought\|>|◁think▷.*?◁/think▷",
    re.I | re.S,
)
_THINKING_ENDS = re.compile(rf"</(?:{_THOUGHT})>|\[/THINK\]|<\|end_of_thought\|>|◁/think▷", re.I)
_THINKING_BEGINS = re.compile(rf"<(?:{_THOUGHT})>|\[THINK\]|<\|begin_of_thought\|>|◁think▷", re.I)
#: OpenAI's Harmony: channels with their marks, and as detokenizers leave them.
_FINAL_CHANNEL = re.compile(r"<\|channel\|>final(?:<\|message\|>)?|assistantfinal")
_OTHER_CHANNEL = re.compile(r"^\s*(?:<\|start\|>assistant)?(?:<\|channel\|>|(?:analysis|commentary)(?![\s:：]))")
_END_OF_TURN = re.compile(
    r"<\|(?:im_end|endoftext|eot_id|return|end|end_of_solution|im_start|user|observation)\|>|</s>|<eos>|<end_of_turn>"
    r"|<｜end▁of▁sentence｜>|\[/?INST\]"
    r"|\n[ \t]*(?:###[ \t]*)?(?:Human|User|Question|Q|Instruction|Input|用户|用戶|问题|問題)\s*[:：]"
)
_BEGIN_OF_TURN = re.compile(r"^\s*(?:<s>|<\|(?:begin_of_solution|begin_of_text|assistant)\|>)")
_CIRCLED = re.compile(r"^([ \t]*)([①-⑨])", re.M)
_MARKUP = (
    (re.compile(r"~~.*?~~"), ""),
    (re.compile(r"\\(?:text|textbf|mathbf|mathrm|textit|textrm)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"([=＝]\s*)\\boxed\s*\{([^{}]*)\}"), r"\1\2"),
    (re.compile(r"\\boxed\s*\{([^{}]*)\}"), r" answer: \1 "),
    (re.compile(r"\\(?:succ(?:eq|curlyeq|sim)?|gt|rightarrow)(?![a-z])|≻"), ">"),
    (re.compile(r"\\[()\[\]]|\$"), ""),
    (re.compile(r"\\[ ,;:!]"), " "),
    (re.compile(r"```\w*|`|\*+|(?<!\w)_+|_+(?!\w)"), ""),
    (re.compile(r"^[ \t]*(?:#+(?!\d)|>)[ \t]*", re.M), ""),
    (
        re.compile(
            r"<(answer|final|final_answer|output|score|rating|grade|result|label|choice|verdict|judge?ment)>(.*?)(?:</\1>|$)",
            re.I | re.S,
        ),
        r" answer: \2 ",
    ),
    (re.compile(r"\[\[([^\[\]\n]{1,40})\]\]"), r" answer: \1 "),
    (
        re.compile(
            r"\[(?:(?:final|overall) )?(?:result|answer|score|rating|grade|verdict|label|choice|结果|結果|评分|評分|得分|分数|分數|答案)\]:?[ \t]*(?=\S)",
            re.I,
        ),
        " answer: ",
    ),
    (re.compile(r"</?(?:b|i|p|em|strong|br|answer|final|output)\s*/?>", re.I), " "),
)
_LONGEST = 5000
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "「": '"', "」": '"', "『": '"', "』": '"', "﹁": '"'})
#: A heading that says no more than that the answer comes next.
_HEADING = re.compile(
    r"^[ \t]*((?:the |my |final |overall )*(?:answer|choice|classification|category|score|rating|ranking|conclusion|verdict)"
    r"|(?:最终|最終|我的)?(?:答案|分类|分類|类别|類別|选择|選擇|结论|結論|评分|評分|得分|排序)(?:结果|結果)?)[ \t]*[:：]?[ \t]*\n\s*(?=\S)(?!\d+[.)、]|[-•])",
    re.M | re.I,
)
#: A line that ends in a colon, and the one line below it.
_COLON = re.compile(r":[ \t]*\n\s*(?![-•]|\(?\d+[.)、])([^\n{}]+)(?=\s*$|\n[ \t]*\n)")
_TABLE = re.compile(r"(?:^[ \t]*\|.*\|[ \t]*(?:\n|$))+", re.M)
#: Headings of a table's columns of full marks, and of marks.
_FULL_MARKS = re.compile(
    r"(?:单项|單項|本项|最高|各项)?(?:满分|滿分|总分值|分值|最高分|权重|權重)(?:值)?|max(?:imum|\.)?(?: \w+)?|full (?:marks?|score)|(?:points? )?possible(?: \w+)?|out of|weight|available",
    re.I,
)
_MARKS = re.compile(
    r"(?:实际|實際|本次|最终|最終)?(?:得分|评分|評分|分数|分數|实得分?|實得分?|打分|给分|給分)|(?:my |your )?(?:score|marks?|points?|awarded|given|rating|grade|result)s?(?: (?:awarded|given|earned))?|earned|achieved",
    re.I,
)
#: Objects in an object; what has more is no reply that anyone asked for.
_DEEPEST = 50
_PAIR = re.compile(r"^\W*[\w\"']+[\"']?\s*[:：]")


def answer_part(text: str) -> str:
    """The part of a reply that is addressed to whoever asked: nothing while a model is still thinking.

    Thinking goes up to its last closing mark, also where its opening mark stands in the prompt; thinking that was cut
    off leaves no answer. Of Harmony's channels the final one counts. What a model writes after its own turn has ended
    (another speaker's turn, the next question) is none of its answer.
    """
    final = list(_FINAL_CHANNEL.finditer(text))
    if final:
        text = text[final[-1].end() :]
    elif _OTHER_CHANNEL.match(text):
        return ""
    text = _THINKING.sub("", text)
    ends = list(_THINKING_ENDS.finditer(text))
    text = text[ends[-1].end() :] if ends else text
    begins = _THINKING_BEGINS.search(text)
    text = _BEGIN_OF_TURN.sub("", text[: begins.start()] if begins else text)
    end = _END_OF_TURN.search(text)
    return text[: end.start()] if end else text


def plain(text: str) -> str:
    """The answer of a reply in plain characters: full-width forms and quotes folded, Markdown, HTML and LaTeX removed.

    Of an endless text, its first and last 5,000 characters. A Markdown table becomes lines ("category: Crime"). What stands in a box (LaTeX) or between the tags of an answer becomes "answer: ...".
    """
    text = _CIRCLED.sub(lambda match: f"{match[1]}{ord(match[2]) - ord('①') + 1}. ", answer_part(text))
    text = text if len(text) <= 2 * _LONGEST else f"{text[:_LONGEST]}\n\n{text[-_LONGEST:]}"
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    text = re.sub(r"^(\s*Q\s*[:.][^\n]*\n.*\n\s*)A\s*[:.]", r"\1answer:", text, flags=re.S)
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return _COLON.sub(r": \1", _HEADING.sub(r"\1: ", _TABLE.sub(_lines, text))).strip()


def _lines(table: re.Match[str]) -> str:
    """A Markdown table as lines: "heading: cell" of its only row, else the cells of each row with a colon between.

    Beside a column of marks, one of the full marks is left out.
    """
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table[0].strip().splitlines()]
    rows = [row for row in rows if not re.fullmatch(r"[\s:-]*", "".join(row))]
    drop = {i for i, cell in enumerate(rows[0]) if _FULL_MARKS.fullmatch(cell)} if rows else set()
    if drop and any(_MARKS.fullmatch(cell) for cell in rows[0]):
        rows = [[cell for i, cell in enumerate(row) if i not in drop] for row in rows]
    if len(rows) == 2 and len(rows[0]) == len(rows[1]):
        rows = list(map(list, zip(*rows, strict=True)))
    return "\n".join(": ".join(row) for row in rows) + "\n"


@cache
def _simplifier() -> OpenCC:
    return OpenCC("t2s")


def simplified(text: str) -> str:
    """``text`` in Simplified characters."""
    return _simplifier().convert(text)


def json_objects(text: str) -> list[dict]:
    """The JSON objects in the plain ``text`` of a reply, nested ones too, repaired where they are broken or cut off."""
    found = [json_repair.loads(part) for part in _braced(text) if part.count("{") <= _DEEPEST]
    if not found and _PAIR.match(text) and text.lstrip().startswith(('"', "'")):
        found = [json_repair.loads("{" + text + "}")]
    return [inner for value in found if isinstance(value, dict) for inner in _nested(value)]


def _braced(text: str) -> Iterator[str]:
    """The outermost parts of ``text`` in braces, the last one up to the end where it is not closed."""
    depth = start = 0
    for brace in re.finditer(r"[{}]", text):
        if brace[0] == "{":
            start = start if depth else brace.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield text[start : brace.end()]
    if depth:
        yield text[start:]


def _nested(value: dict) -> Iterator[dict]:
    yield value
    for inner in value.values():
        if isinstance(inner, dict):
            yield from _nested(inner)


#: Where a new question or a restated one begins: a model without an end of turn goes on with the next.
_NEXT_QUESTION = re.compile(
    r"\n[^\n]*[?？][ \t]*[^\n]{0,60}(?=\n|$)"
    r"|\n[ \t]*(?:以下|下面是|下列|下一?[题題句个個]|有人(?:说|說|谈到|談到)|请你?(?:将|对|阅读|判断|根据|给)|請你?(?:將|對|閱讀|判斷|根據|給))[^\n]*"
    r"|\n[ \t]*(?:(?:next |new )?(?:sentence|statement|text|passage|context|example|input|task|problem)(?: ?#?\d)?"
    r"|句子\d?|陈述|陳述|文本|文章|短文|段落|情境|上下文|例子?\d?)[ \t]*:[^\n]*"
    r"|\n[ \t]*\n[ \t]*(?:(?:reply|response|prompt|question|item|comment|post)(?: ?#?\d+)?|(?:回答|回复|回覆|答复|答覆|评论|評論|题目|題目)[\d一二三四五]*)[ \t]*[:：][^\n]*"
    r"|\n[ \t]*\n[ \t]*[【\[](?:(?:reply|response|answer|question|item|comment|post|sentence|text|example) ?#?\d+|(?:回答|回复|回覆|答复|答覆|评论|評論|题目|題目|问题|問題|句子|例子?|样本|樣本|文本|留言|陈述|陳述)[\d一二三四五]+)[】\]][^\n]*",
    re.M | re.I,
)


#: A first line that is no more than an answer: no line of a list, nor the name of one of several marks.
_BARE = re.compile(
    r"(?!\s*[-*•(【\[]*\s*[\dA-Za-z一二]{1,2}\s*(?:[)、】\]]|\.(?!\d))[ \t]*\S)\s*"
    r"(?:(?:answer|score|rating|grade|答案|得分|评分|評分|分数|分數|分类|分類|类别|類別)\s*:\s*)?"
    r"(?:(?:[^\n:,。;!?{}]|,(?=\s*[A-H]\b)){1,24}[.,。!]*[ \t]*|\{[^{}\n]*\})(?=\n)",
    re.I,
)
#: What a head below an answer may say that belongs to it: a reason, or the answer once more.
_OWN_HEAD = (
    r"reason|explan|explic|why|note|justif|analy|rational|comment(?! ?\d)|feedback|because|however|but|evidence|score|scoring|rating|grade|answer(?! ?#?\d)|label|category|classif|confidence|conclu|choice|ranking|order|bias|breakdown|thought|suggest|improve|strength|weakness|step"
    r"|(?:评分|打分|判断|給分|扣分|加分)?(?:理由|原因|解释|解釋|说明|說明|分析|依据|依據|标准|標準)|评语|評語|解析|备注|備註|补充|補充|点评|點評|答案|回答:[^\n]{0,8}$|得分|评分|評分|分数|分數|打分|类别|類別|分类|分類|排序|结论|結論|因此|所以|注|偏见|偏見|建议|建議|优点|優點|缺点|缺點|改进|改進|思路"
)
#: Where the next item begins below a bare answer: its head, its number, a quotation, its options, or a line between items.
_NEXT_ITEM = re.compile(
    r"\n[ \t]*(?:(?:the )?(?:(?:评分|打分|给分|計分|计分|評分|給分)(?:的)?(?:标准|標準|细则|細則|规则|規則|准则|準則|尺度|等级|等級|依据|依據|说明|說明|要点|要點|参考|參考)(?:如下|\([^)\n]*\))?|(?:scoring|rating|grading|marking|score|evaluation)? ?(?:rubric|scale|criteria|guidelines?|guide|scheme|key|instructions))[ \t]*:\s*(?=\(?[\d•*-])"
    r"|\(?\d{1,2}(?:\s*[-–~到至]\s*\d{1,2})?\s*(?:分|points?)?\s*(?:[:=]|表示|代表|means?\b)[^\n]*\n[ \t]*\(?\d{1,2}(?:\s*[-–~到至]\s*\d{1,2})?\s*(?:分|points?)?\s*(?:[:=]|表示|代表|means?\b)"
    rf"|(?!(?:{_OWN_HEAD}))(?:[^\n:,.。!?;\"]{{1,24}}:|(?:next |new )?(?:reply|response|prompt|question|item|comment|post|pair|sentence|statement|text|example)(?: ?#?\d+| [A-D])?[ \t]*\n)|[【\[][^\n】\]]{{0,8}}\d[】\]]"
    r"|\(?(?:[2-9]|[1-9]\d)\s*[.)、](?!\d)\s*\S|\(?[二三四][.)、]|第[2-9二三四][题題句條条則则项項個个]|\"[^\"\n]{4,}\""
    r"|\(?A\s*[.)、:][^\n]+\n[ \t]*\(?B\s*[.)、:]|[-=_~]{3,}[ \t]*\n"
    r"|(?:please |now )?(?:rate|rank|order|choose|classify|judge|score|grade|label) (?:the|this|these|each|which)\b|here (?:is|are) (?!why|my)"
    r"|[请請](?:[你您问問为為将將对對评評打选選判排分给給根阅閱看继繼从從在比按依仔]|回答))",
    re.I,
)
#: A first line that is an answer and its reason, and where the next item begins in a paragraph below it: its number or its head.
_REASONED = re.compile(
    r"\s*(?:(?:answer|score|rating|grade|答案|得分|评分|評分|分数|分數|分类|分類|类别|類別)\s*:\s*)?"
    r"(?:\(?[A-H]\)?(?=\s*[.。,:;])|(?P<number>\d{1,3})(?:\.\d+)?\s*(?:分|points?|stars?)?(?:\s*/\s*\d+)?(?=\s*[.。,;:—(-]|\s+because\b)|[^\n:,.。;!?\d]{1,16}(?=[.。]))[^\n]*",
    re.I,
)
_NEXT_NUMBERED = re.compile(
    r"\n[ \t]*\n[ \t]*(?:\(?(?P<mark>[2-9]|[1-9]\d)\s*[.)、](?!\d)[ \t]*\S[^\n]*|(?P<head>response|reply|review|student|candidate|answer|prompt|question|item|comment|post|pair|sentence|statement|text|example|句子?|回答|回复|回覆|评论|評論|题目|題目|第) ?#?(?P<count>[2-9二三四五])[题題句條条則则項项個个]?[ \t]*(?::[^\n]*)?(?=\n|$))",
    re.I,
)
#: Two comments below an answer are not of one writer.
_COMMENTS = re.compile(
    r"\n[ \t]*(?P<head>(?:comment|reply|re|user|reader|评论|評論|回复|回覆|网友|網友|楼|樓)[^\n:]{0,12}):[^\n]*(?:\n[^\n]*){0,5}?(?P<again>\n[ \t]*(?P=head):)",
    re.I,
)
_SUMS_UP = re.compile(
    r"[总總](?:分|计|計|共|评|評|得分|体|體|结|結)|合计|合計|最[终終后後]|更正|修正|改为|改為|\b(?:total|overall|final|sum|correct(?:ion|ed)|actually|wait|edit(?:ed)?|revis\w+|updated?)\b",
    re.I,
)

#: The question is restated to look at it once more.
_RECONSIDERS = re.compile(
    r"\b(?:wait|hold on|re-?read\w*|look\w* (?:at|again)|again|second thought)\b|重新|再[看读读想次]|等等|等一下|不对|不對",
    re.I,
)


def reconsiders(text: str) -> bool:
    """Whether a plain ``text`` behind an answer says that the model looks at its question again."""
    return bool(_RECONSIDERS.search(text))


def before_next_question(text: str) -> str:
    """The plain ``text`` up to the line, after the first, that asks a question: to be used where the answer came first.

    Below a line that is an answer alone, as a model writes it that goes on with the next of several items, also up to any
    line that begins an item, unless what follows sums up or corrects, or the model looks at its question again.
    """
    question, bare = _NEXT_QUESTION.search(text), _BARE.match(text)
    item = _NEXT_ITEM.search(text, bare.end()) if bare else None
    if item and _SUMS_UP.search(text, item.start()):
        item = None
    other = _COMMENTS.search(text, bare.end()) if bare else None
    ends = [match.start() for match in (question, item) if match] + ([other.start("again")] if other else [])
    end = min([*ends, _next_numbered(text)])
    return text if bare and reconsiders(text[bare.end() : end]) else text[:end]


def _next_numbered(text: str) -> int:
    """Where the next item begins below an answer with its reason in a plain ``text``, by its number alone; else its end.

    It does not where the list has a first item above, or the first line is one, nor where it sums up or corrects.
    """
    first = _REASONED.match(text)
    found = _NEXT_NUMBERED.search(text, first.end()) if first else None
    if not first or not found or _SUMS_UP.search(text, found.start()):
        return len(text)
    above = text[: found.start()]
    if found["mark"]:
        listed = re.search(r"(?:^|[\n:。;.])[ \t]*\(?(?:1|一)\s*[.)、](?!\d)", above)
        follows = first["number"] is not None and int(found["mark"]) == int(first["number"]) + 1
    else:
        listed = re.search(rf"{re.escape(found['head'])} ?#?[1一]", above, re.I)
        follows = False
    return len(text) if listed or follows else found.start()
