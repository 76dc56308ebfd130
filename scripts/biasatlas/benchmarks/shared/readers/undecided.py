"""Options of which a reply chooses none: each under a condition of its own, or in a setting of its own."""

import re
from collections.abc import Sequence

from biasatlas.benchmarks.shared.readers import cues
from biasatlas.benchmarks.shared.readers.roles import NEAR, Mention

#: The answer depends on something.
_DEPENDS = re.compile(
    r"\bdepend(?:s|ing)\b|\bboth (?:could|can|may|might) (?:be|work|fit)\b|取决于|视[^,。\n]{1,20}而定|(?:要|得|就|主要|还)看(?!起来|到|来|出|似|过|重|好|不|成|作)|因[^,。\n]{1,8}而异|看(?:您|你)?(?:是|在)?(?:什么|哪种|怎么|如何)",
    re.I,
)
#: Where one option's part of a sentence ends, and the next one's begins.
_PARTS = re.compile(r"[,;.。!?:\n]|\b(?:while|whereas|and|but|or|although|though)\b|而(?!且|言|定|异)|但是?|不过", re.I)
#: What holds for all settings, or for the one that was asked about.
_GENERAL = r"(?:(?:the |our |a |an )?(?:general\b|real\b|reality|practice|everyday|daily|most\b|actual|ordinary|normal|typical|fact|theory|natural|my\b|this\b|that\b|these\b|here|terms|both|all\b|any\b|it\b|me\b|us\b|them\b|modern|today|current|given|context\b|my view|(?:i|one|we|you)\b (?:really )?(?:had|have|must|were|am|was|need)|forced|pressed|pushed|example|instance|being|a whole|people|society|life|standard|english|the (?:two|passage|text|question|options?|sentences?|pair|other)))"
_SETTING = (
    rf"(?:\b(?:in|for|among|with|if|when|on|at|from|under|during|within|to|where|as)\s+(?!{_GENERAL})\w"
    r"|(?:在|当|对于?|若|如果|要是|假如|作为|从|按照?|换成|多?见于|用于|适合(?:于|用于|用在)?|适用于)(?!一定要|必须|非要|非得|硬要|真要|只能|现实|实际|一般|通常|这|该|此|我|生活中|日常|语法|逻辑|语义|常识|所有|大多数|[^,。;\n]{0,4}来说|中文|汉语)[\u4e00-\u9fff])"
)
_BEFORE = re.compile(rf"^\W*(?:(?:则|那么?|同样|却|perhaps|maybe|only|so)\s*)*{_SETTING}", re.I)
_WITHIN = re.compile(_SETTING, re.I)
#: An option that is called right as much as the chosen one: by what stands behind it, or before it.
_FITS = re.compile(
    r"[\"')\]]*\s*(?:(?:is|are|would|will|could|might|may|can|seems?|sounds|feels|looks|reads|be|to)\s+)*(?:more|most|better|best|likelier|likeliest|likely|plausible|natural|common|right|correct|my|the|fits?|suits?|works?|belongs?|wins?|makes? (?:more )?sense|in|for|if|when|on|among|under|with|at|as|from)\b|[\"')\]]*\s*(?:would|will|could|might|may|can)(?: be| do)?\s*(?:$|[.,;])"
    r"|[\"')\]]*(?:则|就|却|才|会|是|也)*(?:[^,。;不没]{0,14}(?:更|较|最|常见|合适|自然|合理|可能)|适合|适用|多?见于|用于)",
    re.I,
)
_IS = re.compile(
    r"(?:\b(?:is|be|say|pick|choose|with|prefer)|[是选为用])\s*(?:option |sentence |选项)?[\"'(\[]*$", re.I
)

#: How long the words are between a setting with its comma and its option: "In a report, it would be A".
_SHORT = 24


def undecided(text: str, chosen: Sequence[Mention], others: Sequence[Mention]) -> bool:
    """Whether a plain ``text`` names every one of the ``chosen`` mentions, of one label, for a setting, and one of the ``others`` for another.

    Where the text says before that the answer depends on something, and no contrast follows, one of the two settings may go unsaid.
    """
    depends = _DEPENDS.search(text)
    free = depends is not None and not any(
        one.start < depends.start() or cues.CONTRASTS.search(text[depends.end() : one.start]) for one in chosen
    )
    ends = sorted(mention.end for mention in (*chosen, *others))
    settings = [_set(text, one, ends) for one in chosen]
    for other in others:
        right, left = text[other.end : other.end + NEAR], text[max(0, other.start - NEAR) : other.start]
        if cues.DENIES.search(left) or not (_FITS.match(right) or _IS.search(left)):
            continue
        beside = _set(text, other, ends)
        if (all(settings) and beside) or (free and (all(settings) or beside)):
            return True
    return False


def _set(text: str, mention: Mention, ends: Sequence[int]) -> bool:
    """Whether the part of a sentence in which the mention stands, or a part of its own before that, names a setting.

    ``ends``: where mentions end, in their order; what belongs to another mention does not count.
    """
    at = max([end for end in ends if end <= mention.start], default=0)
    left = text[max(at, mention.start - NEAR) : mention.start]
    heads = _PARTS.split(left)[1 if at else 0 :] or [""]
    own = heads[-2:] if len(heads[-1].strip()) < _SHORT else heads[-1:]
    right = _PARTS.split(text[mention.end : mention.end + NEAR])[0]
    return any(_BEFORE.search(part) for part in own) or bool(_WITHIN.search(right))
