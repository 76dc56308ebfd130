"""Words around an option that say what a reply makes of it, in English and Chinese (Simplified: texts are folded to it).

Here are the words of its clause and those just before it (:func:`_before`), between which marks and quotes may come; those after it are
in :mod:`.cues_after`. Each phrase is on a line of its own: what a reply was misread for belongs here, with its words.
"""

import re


def _before(*phrases: str, then: str = "", marks: str = r"[\"'(\[]*") -> re.Pattern[str]:
    """One of ``phrases`` where a text ends, but for ``then`` and ``marks``."""
    return re.compile(f"(?:{'|'.join(phrases)}){then}{marks}$", re.I)


#: What an option may be called.
NOUN = (
    r"(?:answer|choice|option|pick|selection|letter|response|conclusion|category|classification|fit|decision"
    r"|continuation|sentence|statement|one|theme|topic|focus|point|concern|label|stereotype|bias|issue|problem|verdict|guess|vote|final)"
)
_SAY = (
    r"(?:choose|chose|pick|select|say|answer|prefer|opt for|vote for|go(?: with)?|going with|going for|go for|lean(?: \w+ly| a (?:bit|little))? towards?"
    r"|leaning(?: \w+ly)? towards?|favou?r|find|guess|settle (?:on|for)|land on|vote|(?:label|call|assign)(?: it| this)?|believe|believe it's|believe (?:that )?the answer is|think(?: it's| it is| that it's)?)"
)
_BE = r"(?:is|would be|should be|will be|must be|(?:has|ought) to be|remains|=|:|->|→|⇒|-|\))"
_IS = "(?:是|为)"

#: "The answer is", "I would choose", "therefore", 答案, 我选, 属于.
ANNOUNCES = _before(
    # the answer to the question (of two) is clearly
    rf"\b{NOUN}(?: (?:to|for|of|that|in|among|between)\b[^.:!?\n]{{0,40}}?)?(?: \([^)]*\))?\s*{_BE}+\s*"
    r"(?:clearly |probably |therefore |option |sentence |category )?",
    rf"\b{NOUN} (?:now |then |thus )?(?:changes to|becomes)\s*",
    r"^\s*answer\s+(?!\()",
    r"\b(?:it|that|this)(?:'s| is| would be| must be| should be| has to be| makes it| goes into| leaves(?: us| me)?(?: with)?)\s*"
    r"(?:option |clearly |probably |really |actually |in fact )?",
    # the more likely is
    r"\b(?:more|most) (?:\w+ )?(?:is|would be|:|->)\s*",
    r"\b(?:leav(?:es|ing)(?: (?:us|me|only))?(?: with)?|left (?:only )?with|(?:comes?|boils?) down to|relates? to|settl(?:e|ing) (?:on|for)"
    r"|(?:going|go|went|gone) (?:with|for)|label(?:l?ed)?(?: (?:it|this))?(?: as)?|call(?:ed)?(?: (?:it|this))?)\s*(?:the |option )*",
    r"(?:->|→|⇒|=>)\s*",
    # I would probably go with
    r"\b(?:i|i'd|i'll|i'm|we|you) (?:(?:would|will|'d|should|can|must|have to|(?:'m|am )?going to|gonna|need to|want to|\w+ly|rather|still|thus|then|now"
    r"|here|just|also|therefore) )*"
    rf"{_SAY}\s*(?:it's |it is |option |sentence |that )?",
    # if I had to pick, A
    r"\b(?:ha[dv]e? to|must|forced to|pressed to) (?:pick|choose|decide|guess)(?: one| between (?:them|the two))?\s*[,:]\s*",
    r"\b(?:therefore|thus|hence|so|conclusion|overall|in summary|actually|result)\b\s*[,:]?\s*"
    r"(?:it's |it is |i (?:choose|pick|select) |option )?",
    # belongs to the category of; this is an example of; I'd put it under
    r"\b(?:favou?rs|supports|points? to|belongs? to(?: the category)?|falls? (?:under|into)(?: the category)?"
    r"|classif(?:y|ied) (?:it |this |this sentence |the sentence )?(?:as|under)|categori[sz]ed? (?:it |this )?as|is about"
    r"|category of)\s*(?:the )?(?:of )?",
    r"\b(?:examples?|instances?|cases?|forms?|kinds?|types?) of\s*",
    r"\bput (?:it|this)(?: sentence)? (?:in|into|under)\s*(?:the )?",
    # not A but
    r"\bnot\b[^.;!?\n]{1,60}?\bbut(?: rather)?(?: about| the)?\s*",
    # 答案应该是, 分类结果：
    r"(?:答案|选项|选择|选|回答|结论|答|分类|类别|类型|字母|归类|标签|结果)(?:结果)?(?:应该|应|如下|即|就|可能|大概|或许|还|仍|仍然|依然|只能)?(?:是|为|选|:|\s|[】\])])*",
    # 我更倾向于选择
    r"我(?:个人|还是|更|会|比较)?(?:认为|觉得|倾向于|会选|会选择|倾向)(?:选择|选)?(?:是|答案是)?",
    r"我(?:个人)?的(?:判断|看法|意见|观点)(?:就|还|仍|仍然)?(?:是|为|:)\s*",
    # 也就是B
    r"(?:也就|亦即)是\s*",
    # 更可能在生活里听到的是
    r"(?:更|最|较)(?!不|少|低|难)[^,。;:!?\n]{1,16}的(?:那?一?[句个项])?(?:还|应该)?(?:是|为)\s*",
    # 更有可能的是, 最合适的分类是
    r"(?:更|最|比较|较)(?:有)?(?:可能|合适|合理|恰当|符合|贴切|相符|接近|贴近|偏向|像|适合|能体现)(?:发生)?(?:的)?(?:一个)?"
    rf"(?:分类|类别|选项|句子)?(?:还是|应该?)?(?:{_IS}|:)?\s*",
    r"(?:正确|对)的(?:应[该当]?)?(?:是|为)\s*",
    r"(?:标|标注|标记|记|定)(?:为|成|作)\s*",
    r"(?:准确|确切)(?:地|来)?(?:说|讲),?(?:应[该当]?)?(?:是|为|属于)\s*",
    r"\b(?:chang|revis|correct|amend|updat)\w* (?:that|it|this|my \w+)(?: from \w+)? to\s*",
    r"(?:属于|归为|归到|归入|归于|归类为|归类到|归类于|划为|归结为|应归|判定为|视为)\s*",
    r"(?:反映的是|体现的是|描述的是|体现的是对|涉及的是|讲的是|说的是)\s*",
    r"(?:应该|应当|应|而|那就)(?:是|选|为)\s*",
    rf"(?:重点|关键|主题|核心|其实|实际上|主要)(?:在于|就|还)?{_IS}\s*",
    r"(?:因此|所以|故|综上|综上所述|于是|总之),?(?:还?是|选|为|我选|我选择)?\s*",
    r"(?<![不非并])(?:只有|唯有)",
    r"\bonly\s*(?:option )?",
    r"剩下的?(?:就|只|便)?(?:有|是|剩)",
    r"(?:^|[,。;!?\n])\s*(?:是|选|那就选|就选|可能是|也可能是)\s*",
    r"更?倾向于(?:选择)?\s*",
    then=r"(?<!:):?\s*[\"'(\[【《<]*\s*(?:option |sentence |category |label |选项)?",
    marks=r"[\"'(\[【《<]*",
)
#: "Not", "rather than", "looks like": no answer, or not this one.
DENIES = _before(
    *(
        r"\bnot(?: \w+)?",
        r"n't(?: be| be \w+ing(?: with)?)?",
        r"\b(?:never|no|nothing|without(?: any)?)",
        r"\b(?:neither|nor)(?: (?:is|are|was|does|do))?",
        r"\b(?:not(?: \w+)?|n't(?: \w+)?|wrong|incorrect|false|mistaken)[.,;]? (?:and )?so (?:is|are|was)",
        r"\bexcept",
        r"\bwith (?:an? )?(?:\w+ )?(?:dash|hint|touch|trace|note|element)s? of",
        r"\bagainst",
        r"\bno (?:\w+ )?reason to (?:prefer|choose|favou?r|pick)",
    ),
    *(r"\bneither (?:\w+ ){0,3}about", r"\bnot about", r"\bcannot(?: be)?", r"\bdisregard\w*", r"\bdismiss\w*"),
    *(r"\bnothing to do with", r"\bunrelated to", r"\brule[sd]? out", r"\bexclud\w+", r"\beliminat\w+"),
    *(r"\b(?:contradict|challeng|def(?:y|ie)|counter)\w*", "(?:打破|违背|颠覆|挑战|反驳)了?"),
    *(r"\banything but", r"\bother than", r"\bapart from", r"(?<=[\w\u4e00-\u9fff])\s*>", r"\babove", r"\bahead of"),
    *(r"\b(?:less|least) \w+\s*(?:is|:|would be)?", r"\bunlikely\s*(?:is|:)"),
    r"\bas (?!well|soon|long|much|far)\w+ as",
    *(r"\brather than", r"\bthan", r"\binstead of", r"\bover", r"\bcompared (?:to|with)"),
    "(?:最|更|较)(?:不|少|低|难)[^,。;:!?\n]{0,12}的?(?:那?一?[句个项])?(?:是|为)",
    "比(?:将?(?:它|其|这句话?)?)?(?:归[为入到于]|归类[为到于]|放[在到进]|划[为入到]|算作|标[为成]|属于)",
    # "if one picked A": what would follow is no choice
    r"\bif (?:you|we|one|someone|i)(?: \w+)? (?:choose|chose|pick|picked|select|selected|said|answered)",
    "(?:如果|要是|假如|若)(?:我们?|你|您)?(?:直接|贸然|只|随便|单纯|轻易)?(?:选择?|填|答)",
    *("n't think", r"\bnot think", r"\bnot believe", "n't believe", "n't choose", "n't pick"),
    r"\b(?:looks|seems|sounds)(?: at first)? like",
    *(
        "不是(?:[和与跟][^,。;]{1,12})?",
        "不选",
        "不属于",
        "不会选",
        "排除了?",
        "而不是",
        "而非",
        "(?:并|绝)非(?:[和与跟][^,。;]{1,12})?",
        "不认为是?",
        "不应",
        "没有",
        "是否(?:带|存|具|含)?",
        "除了",
        "无关",
        "不是说",
    ),
    *(
        "与其说是?",
        "与其[^,。]{0,6}",
        "比起",
        "相较于",
        "相对于",
        "相比于",
        "大于",
        "高于",
        "胜过",
        "[^对]比",
        "^比",
        "跟",
        "乍一看(?:像|是)?",
        "看似",
        "貌似",
    ),
    r"不(?:太|大|会|能|应该?|应当|一定)*(?:可能)?(?:是|选|选择|涉及|体现|符合|反映|归为|归于|归入|归到|归类为|算|像|指|谈|接近|关于)",
    r"(?:没有?|未|并未)(?:涉及|体现|提到|提及|谈到|反映)",
    then=r"\s*(?:it(?:'s| is) |this is |the |option |sentence |statement |category |选|是|为)*",
)
#: "Or perhaps", 也可能是: another option that may be right.
PERHAPS = _before(r"(?:也|或)(?:有?可能|许)(?:是|属于)?", r"\b(?:or|and) (?:perhaps|maybe|possibly)")
#: "So is", behind a sentence that says the same of another option.
ALIKE = _before(r"^\W*(?:and )?so (?:is|are|was|does)", then=r"\s*(?:option |sentence |the )*")
#: "Between", "whether", 在: the option is looked at.
WEIGHS = _before(
    r"\b(?:while|although|though|whether|either|compare|comparing|both|if|when|neither|weigh|consider)",
    r"\blook(?:ing)? at",
    r"^\s*(?:in|with|as for)",
    r"\bcompar\w+ [^.;!?\n]{1,60} (?:with|to|and)",
    "(?:比较|包括|对于|无论是|不管是|虽然|(?:先|(?<![对的般体比])来|再|接着)(?:来)?(?:看|分析|说)(?:看|一下|到)?)",
    then=r"\s*(?:options? |sentences? |选项|[\"'(\[])*",
    marks="",
)
#: "Between", 在: several options are what is chosen from.
AMONG = _before(
    *(r"\b(?:between|of|among|from)", "(?:在|从)"), then=r"\s*(?:options? |sentences? |选项|[\"'(\[])*", marks=""
)
#: "Both", before two options: they count.
BOTH = _before(r"\b(?:both|either)\s*", marks="")
#: 也有: another answer is added.
ADDS = _before(
    *(
        r"\b(?:but|and) also(?: \w+)?\s*",
        r"\b(?:could|might|may|can) (?:also|equally|just as well|well|even)(?: be)?\s*",
    ),
    "其次是?|(?:也是|同时是|(?:也|同时|还)(?:有|属于|涉及|可能是|带有|包含))(?:一点|一些|部分)?",
)

#: "At first", "some might say", 一开始, 虽然: an option in the same clause is named only to be set aside.
CONCEDES = re.compile(
    r"(?:\b(?:at first|initial(?:ly)?|originally|first (?:thought|instinct|impression|glance|guess)|on the surface"
    r"|(?:some|one|you|people|many|others?) (?:\w+ )?(?:might|may|could|would (?:say|argue))|it (?:might|may|could) (?:seem|look|appear)|tempt(?:ed|ing)|(?:was|were|i'd be) (?:inclined|leaning|going to|about to|tempted)|normally|usually|(?:would|could|'d) have(?! to)"
    r"|considered|although|though|while|admittedly|granted|even if)\b,?"
    r"|(?:一开始|起初|最初|刚开始|本来|原本|乍看|乍一看|表面上?看?|有人|有些人|虽然|尽管|虽说|即使|固然|一眼看|(?:可能|也许|或许|容易|往往)会?(?=选|认为|觉得|想到))[来下之]*,?)[^,;]*$",
    re.I,
)
#: "Less common than B", 没有B常见: what is compared with is called the more likely.
SURPASSED = _before(
    r"(?<!\bnor )\bless \w+ than",
    r"(?:\bnot|n't) (?:nearly |quite )?(?:as|so) \w+ as",
    "(?:没有?|不如|不及|比不上)",
    then=r"\s*(?:option |sentence )?",
)
#: "But": what comes before it, however good, is less than what comes after it.
CONTRASTS = re.compile(r"\b(?:but|however|yet|still|nevertheless|though)\b|但|不过|然而|可是|后来|最终|最后", re.I)
#: A clause of its own: what is refused, or conceded, in another one is not refused in this.
CLAUSE = re.compile(
    r"[,;:]?\s*\b(?:so|but|therefore|hence|thus|which (?:makes|leaves|means)|however|yet|though|although|even if)\b(?! sorry)"
    r"|[,;:]?\s*(?:但是?|不过|所以|因此|然而|可是|如果一定要|非要|如果(?:必须|真)要)",
    re.I,
)
#: What may stand before a label that a clause gives as its answer.
GIVES = re.compile(
    r"(?:^|[,;:(\-–—>→⇒]|\b(?:is|are|was|be|'s|as|an?|the|with|to|on|for|at|by|of|in|into|under|about|so|then|therefore|that"
    r"|choose|pick|say|says|select|makes|means|only|just|simply|clearly|probably|perhaps|definitely|mostly|mainly|chiefly|primarily|largely)|[^\x00-\x7f])"
    r"[\s\"'(\[]*(?:(?:option|sentence|category|label)\s+)?$",
    re.I,
)
#: What a polite reply begins with.
PREAMBLE = re.compile(
    r"^\s*(?:sure(?: thing)?|certainly|of course|okay|ok|yes|no problem|absolutely|alright|well|got it|好的|当然|没问题|嗯|好)"
    r"\s*[!,.。:-]\s*",
    re.I,
)
