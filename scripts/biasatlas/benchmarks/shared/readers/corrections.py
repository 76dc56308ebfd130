"""Words by which a reply takes an answer back, and gives another in its place.

Where the other is given in so many words ("No, the answer is B", 更正：应选C, 改为6分) it is the reply's answer. Where it merely stands
there ("A… wait, B") both count, and neither is the one.
"""

import re
from collections.abc import Iterator

from biasatlas.benchmarks.shared.readers.reply import simplified

_TAKEN_BACK = re.compile(
    r"(?:\b(?:wait|actually|scratch that|sorry|correction|edit(?:ed)?|i mean|i meant|or perhaps|(?:or )?maybe|perhaps|possibly|on second thoughts?|or rather|(?<!would )(?<!could )make (?:that|it))|(?:^|[.…,;])\s*no|\b(?:could|might|may|can) (?:(?:just |equally |also )?as well|equally|also|just as easily) be|[.。…,;!\n]\s*(?:hm+|um+|uh|erm|嗯+|唔|呃)"
    r"|(?:写|寫|说|說|选|選|答|弄|看|搞)错了?|[给打评][高低]了|也可能|也許|也许|或许|或許|不对|不對|不是|等等|等一下|更正|(?<!可)改(?:为|為|成)|哦不|[.,。;…]\s*不)"
    r"[\s,.:;!…。\]】-]*(?:it'?s |it is |make that |rather )?(?:(?:应该|應該|应|應|应当)?(?:是|为|為)|选|改为|一下)*[\s,:。]*(?:an? )?[\"'(\[]*$",
    re.I,
)

_ERRED = re.compile(
    r"(?:(?:写|說|说|寫|选|選|答|弄|看|搞)错了?|(?:was|is) (?:wrong|mistaken|an error))[,.;。:\s]*(?:it |that )?(?:should be|should have been|应该?为?|應該?為?|正确的?)?(?:是|为|為)?[\s:\"'(\[]*$",
    re.I,
)

#: Where a clause begins.
_CLAUSE = (
    r"(?:^|[\n,.;:!?…。~]|\s[-–—]+|—+|\()\s*(?:(?:and|but|oh|ah|hm+|so|well|嗯|哦|噢|喔|啊|唔|呃|但|不过)[\s,.…。]*)*"
)
#: A look once more, as a noun.
_AGAIN = r"(?:thoughts?|reflection|reading|re-?reading|reads?|looks?|inspection|consideration|review(?:ing)?|examination|checking|re-?checking|reconsideration|(?:re)?considering)"
#: A turn in a reply; an answer that comes behind it has to be given in words of its own.
_TURNS = re.compile(
    rf"{_CLAUSE}(?:(?:"
    r"(?:no|nope)(?=\s*[,.;:!…-]|\s+(?:wait|actually|sorry|scratch|hold)\b)|(?:wait|hold on|hang on|scratch that|strike that|actually|sorry|apologies|oops|whoops|my (?:mistake|bad|apologies))\b"
    rf"|(?:up)?on (?:(?:second|further|closer|careful|another|a (?:second|closer)|more careful) )?{_AGAIN}\b|(?:now that|after|when) i (?:re-?read|look (?:again|closer)|check again|think about it)\b"
    rf"|after (?:a |an |another |some |further |careful |more )*{_AGAIN}\b|(?:having )?(?:re-?read(?:ing)?|re-?check(?:ed|ing)?|reconsider(?:ed|ing)?)\b"
    r"|(?:looking|thinking|reading)\b[^,.\n]{0,20} (?:again|more (?:closely|carefully)|once more|twice)\b|in hindsight|come to think of it"
    r"|let me (?:correct|revise|re-?read|re-?check|double-?check|reconsider|re-?think|redo|re-?do|fix|change|look again|take (?:another|that back))\b[^,.:\n]{0,30}"
    r"|i (?:need to|have to|should|must|want to|would like to|'d like to) (?:correct|revise|change|take|lower|raise|reduce|increase|adjust|amend|drop|bump|cut|reconsider)\b[^,.:\n]{0,30}|i (?:take (?:that|it) back|(?:retract|withdraw) (?:that|it|this)|misread|misjudged|miscounted|overlooked|made (?:a mistake|an error)|was (?:wrong|mistaken)|stand corrected)\b"
    r"|(?:that|this|the above)(?:'s| is|'s| was|n't| isn't| wasn't) (?:not )?(?:wrong|right|incorrect|a mistake|an error|correct)\b"
    r"|不对|哦不|不(?=[,;。!…])|等等|等一下|等下|且慢|抱歉|对不起|不好意思|(?:我)?(?:前面|上面|刚才|刚刚|之前|方才)[^,。;\n]{0,8}(?:错|误|漏|不准|不妥|欠妥|[给打评][低高]|偏)[^,。;:\n]{0,4}"
    r"|(?:我)?(?:写|说|选|答|弄|看|搞|算|数|判|评)错了?|(?:经过?|在|我)?(?:重新|再次|再|又|仔细)(?:地)?(?:仔细|认真|一)?(?:核对|审视|考虑|检查|阅读|审题|审阅|计算|思考|斟酌|评估|读|算|想|看|数)[^,。;:\n]{0,10}"
    r"|(?:经)?复[核查审看](?:后|之后|发现)?|想了想|转念一想|冷静[^,。;\n]{0,4}[想看]|细想|细看|细读|回头(?:再)?看|收回[^,。;\n]{0,6}|有误"
    r")[\s,.:;!…。-]*)+",
    re.I,
)
#: A score is put up or down.
_MOVES = r"(?:lower|rais|reduc|increas|decreas|adjust|revis|bump|drop+|mov|nudg|upgrad|downgrad)(?:e[ds]?|s|ed|ing)?|rise[sn]?|rose|brings?|brought|bringing|go(?:es|ing)?|went|knock(?:ed|ing)?|cut|com(?:es|ing) (?:up|down)|came (?:up|down)|push(?:ed|es|ing)?|tak(?:e|es|ing)|took"
#: No purpose ("to lower it to 3, one would"), but "I have to lower it to 3".
_FREELY = r"(?:(?<!to )|(?<=i have to )|(?<=i need to )|(?<=i had to )|(?<=i want to )|(?<=i'm going to )|(?<='d like to )|(?<=would like to ))"
#: A turn that says by itself that what comes next is the answer.
_REPLACES = re.compile(
    rf"{_CLAUSE}[【\[(]?(?:我(?:来|再)?)?(?:再次?|又|another |second )?(?:correction|edit(?:ed)?|(?:corrected|revised|updated)(?: \w+){{0,6}}|更正|纠正|修正|改正|订正)(?:一[下次]|如下|后|答案|评分|分数| again| once more)*\s*(?:[:,\]】)]|为|成|to\b|is\b)\s*"
    rf"|{_CLAUSE}(?:(?:let's|i'd|i'll|we'll|please|rather|wait|actually) )?make (?:that|it)\s*(?:an? )?"
    r"|(?:准确|确切|精确)(?:地|来|一?点)?(?:说|讲),?(?:应[该当]?)?(?:是|为|(?=\d))\s*"
    r"|\blet me (?:correct|revise|change|fix|amend|update) (?:that|it|this|my \w+)(?: \w+)?\s*:\s*"
    r"|\b(?:let me|i'll|i will|let's) (?:settle (?:on|for)|go (?:up|down) to)\s*(?:an? )?"
    r"|(?<!to )\b(?:i meant?|(?:chang|revis|correct|amend|adjust|updat|rais|lower|increas|reduc|mov|bump)(?:e|ing)? (?:that|it|this|(?:my|the) \w+)(?: up| down)?(?: from [^,.\n]{1,12})? to)\s*(?:an? )?"
    r"|(?:错了?|有误|不对)[,。;:!\s]*(?:[^,。;!?\n]{1,14},)?(?:应[该当]?|正确的?[^,。;\d\n]{0,4}?)(?:为|是|选)\s*"
    # lowered it from 5 to, it goes up to
    rf"|{_FREELY}\b(?:{_MOVES})\b[^,.;:\n\d]{{0,30}}?(?: (?:up|down|back))?(?: from (?:an? )?[\d.]{{1,4}}(?: points?)?)?(?: (?:up|down|back))? (?:to|at)\s*(?:an? )?(?!\d+(?:st|nd|rd|th)\b|\d+\s*%)"
    r"|(?:后来|转念|再)(?:想想|一想|想了想|看看|一看)[^,。;\n]{0,6},?(?:觉得|认为|我)?(?:还是|应该?)(?:给|打|算|是|选)?\s*(?=\d)"
    # lower that: 3
    rf"|\b(?:{_MOVES}) (?:that|it|this|(?:my|the) \w+)(?: (?:up|down|back|a (?:bit|little|touch|notch|point)|somewhat|slightly))*\s*(?::|->|→|—|–|-{{2}})\s*(?:an? )?(?=\d)"
    r"|(?:下调|上调|调[高低整]|降低|提高|修改|改|降|升|提|加)(?:一[点些下档]|一下|些|(?:我的|这个)?(?:分数?|评分|打分))*\s*(?::|→|->)\s*(?=\d)"
    r"|(?:改|更正|修正|纠正|调整|订正|修改|下调|上调|下修|上修|调高|调低|提高|提升|升高|降低|降|升|上升|下降|减少?|加|拉高|拉低|调)(?:判|评|选|答|归|打|给|到)?(?:为|成|至|到|选)\s*|改(?:选|判|给|打|评|答)\s*(?:为)?\s*",
    re.I,
)
#: A clause of doubt, and a sentence with a condition, in which no answer is put in another's place.
_DOUBTS = re.compile(
    r"\b(?:maybe|perhaps|possibly|could|might|may|either)\b|(?<!\bi )\bwould (?:have (?!to)|make|become|raise|lower|drop|get|bring|turn|take|need|require)\b|\b(?:did|do|does|would|could|should)(?:n't| not)\b|也许|或许|或者|可以|可改|也可|可[提升降调加减达得给]|(?<!更)(?<!更有)可能|(?<!只)能(?:改|给|[到拿升降提])|就?会[到拿升降提给]",
    re.I,
)
_SUPPOSES = re.compile(
    r"\b(?:if|unless|had it|were it)\b|如果|若(?!干)|(?<![主重需])要是|假如|倘若|假设|除非|只要|(?:^|\W)had (?:it|he|she|they|the|this|that|there|you)\b|\bwere (?:it|he|she|they|the|there)\b|\bwithout\b[^,.\n]{1,40}\b(?:would|could)\b",
    re.I,
)
#: A condition that makes a reply choose.
_FORCED = re.compile(
    r"\bif (?:i|one|we|you|it)?\s*(?:(?:really |absolutely )?(?:ha(?:d|ve) to|must|were to|was to|need(?:ed)? to|wants?|insists?|forced|pressed|pushed|asked|am|were forced|were asked)|need be)\b|(?:如果|若|要是|假如)(?:真的|实在)?(?:您|你|我)?(?:一定|必须|非要|非得|硬要|真要|只能|要求|需要|要)|只要求?|满分(?:是|为)?",
    re.I,
)
#: A condition of what stands before it: "A if you ask her".
_BEHIND = re.compile(r"(?<=[\w\"')])(?<!\bbut)(?<!\band)(?<!\bso)\s+(?:if|unless)\b", re.I)
#: Turns that are looked at, of an endless text.
_MOST = 20


def takes_back(left: str) -> bool:
    """Whether the plain text just ``left`` of an answer takes another one back."""
    return bool(_TAKEN_BACK.search(left))


def errs(left: str) -> bool:
    """Whether the plain text just ``left`` of an answer says that another one was an error."""
    return bool(_ERRED.search(left))


def turns(text: str, replacing: bool = False) -> Iterator[tuple[str, str, bool]]:
    """The turns of a plain ``text``, the last first: ``text`` up to its end, what stands behind, and whether that is the answer by the turn's words.

    ``replacing``: those alone whose words say so.
    """
    folded = simplified(text)
    folded = folded if len(folded) == len(text) else text
    found = [(match, True) for match in _REPLACES.finditer(folded)]
    found += [] if replacing else [(match, False) for match in _TURNS.finditer(folded)]
    for match, replaces in sorted(found, key=lambda turn: turn[0].end(), reverse=True)[:_MOST]:
        yield text[: match.end()], text[match.end() :], replaces


def supposes(left: str) -> bool:
    """Whether the plain text ``left`` of an answer, in its own sentence, begins with a condition, and none of having to choose."""
    return bool(_SUPPOSES.search(_BEHIND.sub("", _FORCED.sub("", simplified(left)))))


def unsure(left: str) -> bool:
    """Whether the plain text ``left`` of an answer, in its own sentence, makes it a possibility: no correction."""
    sentence = simplified(re.split(r"[\n。!?;]|[.](?=\s|$)", left)[-1])
    return bool(_SUPPOSES.search(sentence) or _DOUBTS.search(re.split(r"[,:…]", sentence)[-1]))
