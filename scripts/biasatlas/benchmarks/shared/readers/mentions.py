"""Which of several labels a reply gives as its answer, from where it mentions them. Shared by letters and labels.

A mention is a place where a label stands. What it is worth follows from its surroundings, strongest first:

- *declared*: behind words that announce an answer ("the answer is", "I choose", "therefore", 答案, 我选, 属于), or alone on
  the last line of a reply of several lines;
- *opening*: the first thing that the reply says, and closed: by punctuation, the end of the line or a reason;
- *supported*: called right or the more likely ("A is more likely", 句子1更有可能);
- *implied*: what a clause ends with ("makes it B.", "relates to Crime"), any Chinese name, or any label of a whole sentence that does
  not describe it;
- *bare*: anything else, such as an option that is quoted while the reply weighs it.

Where a reply first says what all letters stand for, their names count as letters in the rest of it.
Declared and opening mentions count together, supported ones where there is neither; of two labels the other one of a label that is called
the less likely; the only label that is left, once the others are set aside, is the answer if it is implied. Mentions that are negated or compared with ("not A", "than A", 不是, 排除, 比,
与…相比), that stand in a question, a declining clause or a restated list of all options are none, nor is one that is conceded
or supposed beside another ("at first A, but B", 虽然…但, "B. If she were late, A"), or under a condition that is not met. Several labels that are joined by "or", "and", "/", 和, 或, 、 count all. One label is the answer; two that
count alike are ambiguous, and so is a tie in words (差不多, "too close to call"), and one label for one setting beside another for another (:mod:`.undecided`).
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from biasatlas.benchmarks.shared.readers import cues
from biasatlas.benchmarks.shared.readers.corrections import takes_back, turns, unsure
from biasatlas.benchmarks.shared.readers.outcomes import AMBIGUOUS, REFUSED, UNPARSEABLE, Reading
from biasatlas.benchmarks.shared.readers.refusal import is_refusal
from biasatlas.benchmarks.shared.readers.reply import before_next_question, json_objects, reconsiders
from biasatlas.benchmarks.shared.readers.roles import AROUND, LIST_MARK, NEAR, Mention, before, begins, role
from biasatlas.benchmarks.shared.readers.undecided import undecided

#: Keys under which JSON replies give an answer.
ANSWER_KEYS = {
    *("answer", "choice", "option", "letter", "selection", "selected", "label", "category", "result", "prediction"),
    *(
        "final_answer",
        "final_choice",
        "selected_option",
        "more_likely",
        "classification",
        "response",
        "答案",
        "最终答案",
        "选项",
        "選項",
        "选择",
        "選擇",
        "回答",
        "分类",
        "分類",
        "类别",
        "類別",
        "子类别",
        "标签",
        "结论",
    ),
}

#: What joins two options in one answer: "A or B", A和B.
_JOINS = re.compile(
    r"^[\s\"'(){}\[\]【】《》*]*(?:,|/|\+|\.{2,}|…|&|\||;|and/or|,? ?(?:and|or|nor|as well as|along with|vs\.?|versus|both)|\.{2,} ?or|就是|或者?选?|或是|还是|和|与|及|跟|、|并且"
    r"|[;,]?\s*\(?\d\s*[.、)]|(?:而)?又(?:属于|有|是|涉及|带有|含有|包含)|以及|并(?:有|且有|涉及)|,?\s*也)?[\s\"'(){}\[\]【】《》,*]*"
    r"(?:option|sentence|statement|选项|类|perhaps|maybe|possibly|also|even)?[\s\"'(\[]*$",
    re.I,
)
#: What stands between two letters, or says something of one: no text of an option.
_CONNECTS = re.compile(r"(?:and|or|nor|vs|versus|both|either|equally|和|与|及|或|或者|都|均|皆)(?![A-Za-z])", re.I)
#: Both are as good.
_EQUAL = re.compile(
    r"\bboth\b|\beither (?:one|of them|is)\b|\bequally\b|\bit depends\b|\bdepends on\b"
    r"|都有可能|都可能|可能性(?:相同|一样|相等|相当|差不多|一样大)|皆有可能|皆可|都可以|均有可能|不相上下",
    re.I,
)
#: Neither is ahead, in words.
_TIED = re.compile(
    r"\b(?:tie|toss-?up|tied|neck and neck|(?:too close|hard|impossible) to call|(?:can't|cannot) (?:separate|split|tell|decide between|choose between) (?:them|the two)\b(?: apart)?|(?:no|not (?:any|much|a)) (?:\w+ )?(?:difference|gap) between|(?<!not )(?<!n't )(?<!twice )(?<!times )as (?:likely|probable|common|plausible|natural|frequent|typical|usual|realistic|believable|reasonable|good|often) as(?! it gets| they come| possible|\s+can be)|\b(?:no|neither) (?:more|less)(?: n?or (?:more|less))? (?:likely|probable|common|plausible|natural|frequent|typical) than|不比[^,。;]{1,12}更|equally (?:likely|probable|common|plausible|natural|frequent|typical|usual|realistic|believable|reasonable|good|valid|acceptable|possible|often)|on a par|evenly (?:matched|balanced|split)|fifty[- ]fifty|50[/-]50)\b"
    r"|差不多|不相上下|不分上下|不分高下|不分伯仲|难分(?:高下|伯仲|上下|胜负)|(?:分|决|辨)(?:不)?出(?:高下|高低|胜负|上下|伯仲|先后)|旗鼓相当|半斤八两|各半|五五开|同样(?:可能|常见|自然|合理)|一样(?:可能|常见|自然|合理|大|高)|平手|打平|持平",
    re.I,
)
#: How far apart two options of one sentence may stand, in characters.
_LONG = 400
_MOST = 100
_OFFERS = re.compile(
    r"\W*(?:options|choices|labels|categories|选项|可选(?:项|类别)?|类别|候选)\s*(?:有|包括|are)?\s*:", re.I
)
#: A condition, but none that makes a reply choose.
_IF = re.compile(r"\bif\b(?! (?:i|one|you|forced|pressed|pushed|anything)\b)|如果(?!一?定要|必须|非)", re.I)
_MARKED = re.compile(r"\s*(?:$|\n|[.):、。\]]|[-–—])")


def decide(text: str, mentions: Sequence[Mention], options: int) -> Reading:
    """The reading of a plain ``text`` with ``mentions`` in their order, of one out of ``options`` labels."""
    groups, roles, listed = _weighed(text, mentions, options)
    for strength in (("declared", "opening"), ("supported",)):
        found = {
            mention.label for group, role in zip(groups, roles, strict=True) if role in strength for mention in group
        }
        if found:
            return found.pop() if len(found) == 1 and not _open(text, groups, roles, strength) else AMBIGUOUS
    tied = len({mention.label for mention in mentions}) > 1 and bool(_TIED.search(text))
    if is_refusal(text) and not tied:
        return REFUSED
    lesser = {group[0].label for group, role in zip(groups, roles, strict=True) if role == "lesser"}
    if len(lesser) == 1:  # of two
        return 1 - lesser.pop()
    left = [group for group, role in zip(groups, roles, strict=True) if role in ("bare", "implied")]
    labels = {mention.label for group in left for mention in group}
    if len(labels) == 1 and "implied" in roles and not listed and not tied:
        return labels.pop()
    if tied or listed or len(labels) > 1 or _EQUAL.search(text):
        return AMBIGUOUS if not text.endswith("?") or len(labels) != 1 else UNPARSEABLE
    return UNPARSEABLE


def _open(text: str, groups: Sequence[list[Mention]], roles: Sequence[str], strength: Sequence[str]) -> bool:
    """Whether the one label with a role of ``strength`` is given for one setting, and another label for another."""
    chosen = [group[0] for group, role in zip(groups, roles, strict=True) if role in strength]
    return undecided(text, chosen, [group[0] for group in groups if group[0].label != chosen[0].label])


def _weighed(text: str, mentions: Sequence[Mention], options: int) -> tuple[list[list[Mention]], list[str], bool]:
    """The groups of ``mentions``, their roles, and whether the reply opens with a list of the options.

    Of an endless text's mentions, the first and the last 100.
    """
    mentions = mentions if len(mentions) <= 2 * _MOST else [*mentions[:_MOST], *mentions[-_MOST:]]
    groups = list(_groups(text, [mention for mention in mentions if not _offered(text, mention, mentions)]))
    listed = _is_list(text, groups)
    roles = _settled(text, groups, [role(text, group, options, listed) for group in groups])
    for i, group in enumerate(groups):
        if roles[i] in ("bare", "implied") and _alone_at_end(text, group) and not _column(text, group, groups):
            roles[i] = "declared"
    return groups, roles, listed


def _corrected(text: str, find: Callable[[str, Sequence[str]], list[Mention]], labels: Sequence[str]) -> Reading:
    """The label that a plain ``text`` gives in so many words behind the last turn that one follows, else AMBIGUOUS."""
    for until, after, replaces in turns(text):
        after = _given(after) or after
        groups, roles, _ = _weighed(after, find(after, labels), len(labels))
        stated = [(group, role) for group, role in zip(groups, roles, strict=True) if role in ("declared", "opening")]
        found = {mention.label for group, _ in stated for mention in group}
        if len(found) == 1 and (replaces or "declared" in [role for _, role in stated]):
            return AMBIGUOUS if any(unsure(until + after[: group[0].start]) for group, _ in stated) else found.pop()
        if found:
            break
    return AMBIGUOUS


def _given(text: str) -> str:
    """The answers in JSON objects of a plain ``text``, a line each."""
    return "\n".join(
        f"answer: {value}"
        for found in json_objects(text)
        for key, value in found.items()
        if key.strip().lower().replace(" ", "_") in ANSWER_KEYS
    )


def _offered(text: str, mention: Mention, mentions: Sequence[Mention]) -> bool:
    """Whether the mention stands in a line that says which options there are: "Options: A (yes), B (no)"."""
    start = max(text.rfind(end, 0, mention.start) for end in "\n?。") + 1
    offer = re.split(r"\n|(?<!\b[A-Za-z])[.](?=\s|$)|。", text[start:], maxsplit=1)[0]
    inside = {other.label for other in mentions if start <= other.start < start + len(offer)}
    return len(inside) > 1 and mention.start < start + len(offer) and bool(_OFFERS.match(text[start : mention.start]))


def _settled(text: str, groups: Sequence[list[Mention]], roles: Sequence[str]) -> list[str]:
    """``roles`` without those of options that are set aside for another: "at first A, but B", "A is fine, but B"."""
    settled = list(roles)
    weighty = [i for i, role in enumerate(roles) if role not in ("none", "bare", "conceded", "lesser")]
    for i, group in enumerate(groups):
        label = group[0].label
        if roles[i] == "conceded":
            settled[i] = "none" if any(groups[j][0].label != label for j in weighty) else "implied"
        elif roles[i] == "added":
            settled[i] = "declared"
            settled[max(0, i - 1)] = "none" if settled[max(0, i - 1)] == "none" else "declared"
        if roles[i] in ("supported", "implied", "bare") or (i == 0 and roles[i] == "added"):  # "perhaps A, but B"
            following = weighty[bisect_right(weighty, i) : bisect_right(weighty, i) + 1]
            for j in following:
                between = text[group[-1].end : groups[j][0].start][:_LONG]
                supposed = _IF.search(before(text, group[0])) and _IF.search(between)  # "if X then A, but if Y then B"
                if roles[j] != "added" and groups[j][0].label != label and not supposed and _outweighs(between):
                    settled[i] = "none"
    return settled


def _outweighs(between: str) -> bool:
    """Whether "but" in the same sentence sets what comes after it above what comes before it."""
    return not re.search(r"[\n.。!?]", between) and bool(cues.CONTRASTS.search(between))


def _groups(text: str, mentions: Sequence[Mention]) -> Iterator[list[Mention]]:
    """Mentions that are joined by nothing but a connecting word, within a line."""
    group: list[Mention] = []
    for mention in mentions:
        between = text[group[-1].end : mention.start] if group else ""
        again = "," in between and mention.label in {other.label for other in group}  # "of A and B, A"
        if group and (
            not between or "\n" in between or again or not _JOINS.match(between) or _contrasts(text, group[0], between)
        ):
            yield group
            group = []
        group.append(mention)
    if group:
        yield group


def _contrasts(text: str, first: Mention, between: str) -> bool:
    """Whether a comma parts an option that is denied or compared with from another: "not A, B", "比起A，B"."""
    return between.strip() in (",", ";") and bool(cues.DENIES.search(text[max(0, first.start - NEAR) : first.start]))


def _is_list(text: str, groups: Sequence[list[Mention]]) -> bool:
    """Whether the reply opens by listing options, each on a line of its own: it restates them or cannot choose."""
    starts = [
        group[0].label
        for group in groups
        if not before(text, group[0]).strip(" \"'([*-") and _MARKED.match(text[group[0].end :])
    ]
    first = begins(text, groups[0][0]) if groups else False
    return first and len(starts) > 1 and any(a != b for a, b in pairwise(starts[:2])) and _adjacent(text, groups)


def _adjacent(text: str, groups: Sequence[list[Mention]]) -> bool:
    between = text[groups[0][0].end : groups[1][0].start] if len(groups) > 1 else ""
    return between.count("\n") <= 1


def _alone_at_end(text: str, group: Sequence[Mention]) -> bool:
    """Whether the group alone makes up the last line of several, or the last sentence behind another one."""
    words = text[group[0].start : group[-1].end]
    if takes_back(text[: group[0].start]) or group[-1].end <= text.rfind("\n"):
        return False
    line = LIST_MARK.sub("", text[text.rfind("\n") + 1 :])
    closed = line.rstrip(" .!。") if line.endswith((".", "!", "。")) else ""
    rest = re.split(r"(?<=[?!。])|(?<=\w\w\.)\s" if closed else r"(?<=\?)\s", closed or line)[-1]
    return rest.strip(" \"'([{<【《:.。,!)]}>】》-") == words.strip(" \"'()[]{}.")


def _column(text: str, group: Sequence[Mention], groups: Sequence[list[Mention]]) -> bool:
    """Whether the line above that of ``group`` is one label and nothing else: both belong to a column of labels."""
    above = LIST_MARK.sub("", text[: text.rfind("\n", 0, group[0].start) + 1].rstrip("\n").split("\n")[-1])
    names = {text[mention.start : mention.end] for other in groups for mention in other}
    return "\n\n" not in text[: group[0].start][-2:] and above.strip(AROUND) in {name.strip(AROUND) for name in names}


def _before_options(text: str, find: Callable[[str, Sequence[str]], list[Mention]], labels: Sequence[str]) -> str:
    """The plain ``text`` up to where all options are restated, a line each, if its first line is one of them alone."""
    first, *rest = text.split("\n")
    alone = find(first, labels)
    if len(alone) != 1 or first.strip(AROUND) != first[alone[0].start : alone[0].end].strip(AROUND):
        return text
    starts = []
    for i, line in enumerate(rest):
        found = find(line, labels)
        restated = (
            found and not line[: found[0].start].strip() and re.match(r"[\"']?[.):]\s*\S+\s*\S", line[found[0].end :])
        )
        starts.append((i, found[0].label if restated else None))
    options = [(i, label) for i, label in starts if label is not None]
    if len({label for _, label in options}) < 2 or reconsiders("\n".join(rest[: options[0][0]])):
        return text
    return "\n".join([first, *rest[: options[0][0]]])


def _by_letter(text: str, labels: Sequence[str]) -> str:
    """What the plain ``text`` says behind a list of what all letters stand for ("A is X, B is Y, C is Z."), with letters for names."""
    if any(len(label) > 1 for label in labels):
        return text
    between = r"[\"')\]]*\s*(?:[,;:.、)=-]|\bis\b|是|为|\s)\s*"
    names = r"[,;.。、\s]*\(?\b".join(rf"{label}{between}\"?([^\n\"]{{2,60}}?)\"?" for label in labels)
    match = re.match(rf"[^\n]{{0,40}}?(?<![A-Za-z]){names}(?:[.;。]\s|\s-+\s|[—–]|[.;。](?=[^\d\s])|\n)\s*(?=\S)", text)
    if not match or any(_CONNECTS.match(name) for name in match.groups()):
        return text
    rest = text[match.end() :]
    for name, letter in sorted(zip(match.groups(), labels, strict=True), key=lambda pair: -len(pair[0])):
        rest = re.sub(rf"(?<![A-Za-z]){re.escape(name.strip())}(?![A-Za-z])", letter, rest, flags=re.I)
    return rest


def read_mentions(text: str, find: Callable[[str, Sequence[str]], list[Mention]], labels: Sequence[str]) -> Reading:
    """The reading of a plain ``text`` whose mentions of ``labels`` are what ``find`` finds.

    ``text`` is in Simplified characters, as cues are. A JSON object's answer is the reply. Where an answer came before another question, what follows is not the reply's.
    """
    body = _given(text) or text
    own = _by_letter(_before_options(before_next_question(body), find, labels), labels)
    reading = decide(own, find(own, labels), len(labels))
    if own != body and not isinstance(reading, int):
        reading = decide(body, find(body, labels), len(labels))
    return _corrected(own if body == text else text, find, labels) if reading == AMBIGUOUS else reading
