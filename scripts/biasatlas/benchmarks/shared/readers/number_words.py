"""Words around a number that say what a reply makes of it, in English and Chinese: what :mod:`.cues` is for options."""

import re

from biasatlas.benchmarks.shared.readers.numerals import DIGITS

TO = r"\s*(?:-|–|—+|~|到|至|to)\s*"

#: What may stand behind a term of a sum: "10 - 4 (tone) - 3 = 3".
_TERM = r"(?:\s*分)?(?:\s*\([^()\d\n]{1,40}\))?"
#: The scale or a level restated, marks of lists, percentages, dates, ordinals, counts: no number among them is an answer.
NO_ANSWER = re.compile(
    rf"(?<![给得打])满分\s*(?:应该?|一共|总共)?(?:为|是|:)?\s*(?:{DIGITS}|十)\s*分?|滿分\s*(?:為|是|:)?\s*(?:{DIGITS}|十)\s*分?|(?:{DIGITS}|十|五|七|百)\s*分制|(?:以|按)(?:{DIGITS}|十|五|七|百)\s*分(?:为|為|作为|作為|是|算)(?:满分|滿分)"
    r"|(?<![\d.])\d{1,3}(?:,\d{3})+(?!\d)"
    rf"|[\[(]\s*{DIGITS}\s*分?(?:,|{TO})\s*{DIGITS}\s*分?(?:之间|之間)?\s*[)\]]|(?<![\d.])[01]{TO}\d+(?:\s*分)?(?=\s*(?:的|之|范围|範圍|,|间|內|内|分制|scale))"
    rf"|(?:on a |the )?scale (?:of|from) {DIGITS}(?:\s*\([^)\n]*\))?{TO}{DIGITS}(?:\s*\([^)\n]*\))?|\bfrom {DIGITS} to {DIGITS}\b|(?<![\d.])0{TO}10(?!\d)"
    rf"|(?:{DIGITS}{_TERM}\s*[+×−–-]\s*){{1,9}}{DIGITS}{_TERM}(?=\s*=\s*-?\d)"
    r"|(?<=[\n;。])[ \t]*\(?\d{1,2}\s*(?:[)、]|\.(?!\d))\s*(?=[^\s\d])|\(\d\)\s*(?=[^\s\d]{2})"
    rf"|\((?:满分|max\.?|out of|/)?\s*{DIGITS}\s*(?:分|points?|marks?)?\s*\)(?=\s*:)"
    rf"|{DIGITS}\s*分?\s*(?:和|与|與)\s*{DIGITS}\s*分?(?:之间|之間)|{DIGITS}\s*分(?:及?以上|及?以下)"
    rf"|(?:\(?\b[A-H]\s*[.)、:]\s*{DIGITS}(?:{TO}{DIGITS})?\s*(?:分|points?)?[\s,;]*){{3,9}}"
    rf"|{DIGITS}[- ]points?(?= (?:likert )?scale)|(?<=scale has ){DIGITS}|{DIGITS}\s*%|第\s*[\d一二三四五六七八九十]+|\b(?:[Oo]ne of|(?:no|this|that|each|every|any) one|(?:an?|the) (?!solid|clear|definite|firm|strong|full|low|high|perfect)[a-z]+ one)\b|\b\d+(?:st|nd|rd|th)\b|(?<!\d)(?:1[89]|20)\d\d\s*年?|{DIGITS}\s*of\s*(?:the\s*)?(?:{DIGITS}|my|these|those|them)\b",
    re.M,
)
#: Marks by part: "3 points for tone and 4 for style". Their total, if there is one, is the answer.
PARTS = re.compile(
    rf"{DIGITS}(?: points?| marks?)? (?:for|on) [^\d.;:\n]{{2,40}}?(?:,|,? and| plus)(?: another)? {DIGITS}(?: points?| marks?)? (?:for|on)\b"
)
DECLARES = re.compile(
    r"(?:\b(?:score|rating|grade|mark|number|value)s? (?:that )?(?:i|i'd|i'll|we)\b[^.,:;\n]{0,30}? (?:is|would be)\s*"
    r"|(?<![A-Za-z])(?:score|rating|grade|rate[sd]?|mark|degree|extent|answer|value|number|severity|overall|total|level|verdict|choice|option|pick|response)s?(?![A-Za-z])(?: (?:of|for) [^.:\n]{0,30}?)?\s*(?:\([^)]*\))?\s*(?:is|(?:would|should|might|could) (?:probably |likely |perhaps |therefore |then )?be|=(?:\s+=)?|:|->?|→|of|as|应该|应|是|为|給|给|為|應該|應)*\s*(?:(?:an?|at|with|about|around|roughly|approximately|close to|near|somewhere|probably|maybe|perhaps|likely)\b\s*)*"
    r"|\b(?:actually|no|wait|make that|correction)\b[,:]?\s*(?:it's |it is )?"
    r"|\b(?:give|gives|assign|award|deserves?|merits?|earns?|warrants?|gets?|put|say|choose|pick|rate|grade|score|select|go(?:ing)? with|leav(?:es|ing)|settl(?:e|ing) on|land(?:ing)? on|stick(?:ing)? with|call)\b(?: (?:the|this|that) (?:\w+ )?(?:sentence|statement|answer|response|text|claim))?(?: (?:it|this|that|the answer|this answer|the sentence|(?:the|a) full|a|an|it a|this a|as|of|score of|rating of|option|at|it at|it with|them|about|around|roughly|approximately|probably|maybe|perhaps|say))*\s*"
    r"|(?:得分|分数|分數|评分|評分|打分|分值|答案|程度|可能性|概率|[机機几幾]率|[严嚴]重性|[冒歧贬][犯视視损]性|[强強]度|指[数數]|[数數]值|结果|結果|成绩|选择|選擇|回答|总分|等级|结论|最终|最后|最終|最後)(?:应该?|應該?|大约|大約|大概|差不多)?(?:落在|在|达到|達到|约|約|是|为|為|有|:|\s|[】\])])*"
    r"|(?:认为|認為|觉得|覺得|判断|判斷)(?:应该?|應該?|大概|大约|大約)?(?:是|为|為|有)\s*"
    r"|[,。;!]\s*(?:我|那就?|所以)?还是(?:给|打|算|是)?\s*"
    r"|(?:给|給|打|打出|打上|可以打|评为|評為|评|選|选|得|判|应[该当]?(?:是|为|只?有)|應[該當]?(?:是|為|只?有)|定为|定為)(?:这句话|這句話|它|该句|此句|出|予|到|个|個|了|它打|这句话打|满分)*(?:大约|大概|的分数是)?\s*"
    r")[\"'(\[]*$",
    re.I,
)
#: Words for the sum or the end: what they announce outweighs its parts and what came before.
TOTAL = re.compile(
    r"(?:[扣减][除去掉]?\d+分[之以]?后|总(?:计|共|分|评|得分|评分|成绩|体)|合计|共计|加起来|\badd(?:s|ing)? up to|\bcom(?:es|ing) (?:up )?to a|\b(?:which|that|this|together) (?:makes?|gives?|comes to)|[扣减加]了?\d+(?:\.\d)?分,(?:即|为|是|变成|成为|共|得)|平均|折中|折衷|取中|最终|最后|\b(?:total|overall|(?:on |an |the )average|final(?:ly)?|altogether|sum)\b)[^\d\n。,;]{0,16}$",
    re.I,
)
OUT_OF = re.compile(rf"^\s*(?:分|[颗顆]?星|points?|stars?)?\s*(?:/|out of|÷)\s*(?P<top>{DIGITS})", re.I)
UNIT = re.compile(r"^\s*(?:分(?![钟鐘析别別明享工类類歧])|[颗顆]?星(?![期级級])|points?\b|marks?\b|stars?\b)", re.I)
#: What may follow a number with which a reply begins.
CLOSES = re.compile(
    r"^\s*(?:$|\n|[.,;:。、!?)\]}(\-–—~/=*\"'|]|for (?:me|this|that|it)\b|from me\b|here\b|or (?:so|thereabouts)\b|overall\b|in my\b|-ish\b|分|points?\b|stars?\b|out of|because|since|as\b|左右|吧|因为|因為|这|這|该|該|属|屬|句)",
    re.I,
)
#: "Doesn't get", "rather than giving it", "keeps it from being", 没有给, 不足以打.
_WITHHELD = (
    r"(?:n't|\b(?:not|never|rather than|instead of|avoid(?:ed|s)?|without(?! (?:it|this|that|them)\b)))(?: (?:quite|really|just|even|simply|think (?:it|this) (?:should|would|could)))? ?(?:be(?:ing)?|get(?:ting)?|giv(?:e|ing|en)|assign\w*|rat(?:e|ed|ing)|scor(?:e|ed|ing)|go(?:ing)?|put(?:ting)?|call(?:ing)?|mak(?:e|ing)|award\w*|say|deserv(?:e|ing)|warrant|earn|merit|reach(?:ing)?)?"
    r"(?: (?:it|this|that|them|as|to|up|down|the (?:sentence|reply|answer|statement)|a|an|all the way|high|low|at|of|full))+"
    r"|\b(?:keep|stop|prevent|sav|hold|kept|stopp)\w* (?:it|this|that|me) (?:back )?from (?:being |getting |scoring |giving (?:it )?|reaching )?(?:an?)?|\bshort of (?:an?)?"
    r"|\bwould (?:take|need|require)\b[^.,;\n]{1,60}\bto (?:make|get|push|reach|earn|deserve|merit|be)(?: it| this)?(?: up)?(?: to)?(?: an?)?"
    r"|(?:不足以?|不能?|不会|不该|不宜|不应该?|不可|不够|没有?|没能|未能?|不至于|为什么不|够不上|达不到|算不上)(?:直接)?(?:给|打|评|得|算|拿|达)(?:到|满|出|它|其)?|没到|不到|够不上|达不到|算不上|到不了|不至于(?:到)?"
)
NEGATES = re.compile(
    rf"(?:{_WITHHELD})\s*$|(?:\bnot(?: quite| exactly| really| even)?|n't|(?<!no more )\bthan|\binstead of|\b(?:deduct(?:ed|ing|s)?|subtract(?:ed|ing|s)?|los(?:es|ing|e|t)|minus|docked|docking|(?:tak(?:es?|en|ing)|took|knock(?:ed|ing|s)?) off)(?: it| only| just| another)?|不是|不到|不足|[扣减][除去掉了]*|每[个项条点处题][占算得]?|配分|浮动|误差|相差|±|低于|高于|超过|而不是|至少|最多|最高|最低|above|below)\s*(?:an? )?$"
    r"|(?:compared (?:to|with)|相比于?|比起|相较于?|对比)[^.,;。\n]{1,60}$",
    re.I,
)
OPENING = re.compile(
    r"^(?:约|大约|大約|大概|差不多|about|(?:somewhere )?around|approximately|approx\.?|roughly|definitely|clearly|certainly|probably|maybe|perhaps|an?|好的|sure|okay|ok|[\s\W])*$",
    re.I,
)
COUNTS = re.compile(
    r"\s*[个個名位种種处處件次岁歲年月天小人点項项条條段句步篇]|[ \t]+(?!points?|stars?|out|marks?|altogether|overall|together|because|since|as|for|and|or|to|on|if|here|but|in|left|from|under|with|by|when|given|though|although|unless|instead|seems?|feels?|is|would|looks|sounds)[a-z]{3,}"
)
#: Behind a number that is called right, or called wrong.
FITS = re.compile(
    r"\s*(?:points? )?(?:(?:seems?|feels?|looks|sounds|is|would be|might be)(?: (?:to be|about|quite|most|more|much|far|a|the|probably|likely|perhaps))* (?:fair|fairer|right|appropriate|reasonable|fitting|correct|suitable|accurate|better|closer|apt|justified|warranted|deserved)\b"
    r"|(?:fits|suits|works|reflects|matches|captures)(?: \w+){0,3}? better\b|is what (?:it|this|i)\b|(?:an? |the )?(?:better|fairer|right|best|more \w+) (?:score|rating|mark|choice|fit|grade)\b)"
    r"|分?(?:比较|比較|较|較|最|更)?(?:为|為)?(?:合适|合適|合理|恰当|恰當|公允|公道|稳妥|穩妥|中肯|妥当|妥當|贴切|貼切)|分?就(?:好|够|足够|可以|行)(?![^,。;\n]{0,2}[能得])",
    re.I,
)
FITS_NOT = re.compile(
    r"\s*(?:分|points?)?\s*(?:is |would be |seems )?(?:[略稍][微显顯]?[高低]|有[点點些][高低]|太|过|過|偏(?![见見])|too |not )|分?[\"')]*(?:相比|相较|比起来)",
    re.I,
)
#: Before a number that a clause ends with: "a solid 6", "Bias: 6", "(5)", "settle on 5".
GIVES = re.compile(
    r"(?:[:(=,]|\s[-–—]|^\s*|\b(?:so|therefore|thus|hence|settle for|to|on|at|with|as|towards?|guess|think|say|is|probably|maybe|perhaps|likely|but|(?<!at )(?:about|around|roughly|approximately)|near|nearer|something like)\b|(?:大概|大约|差不多|约|可能|也许|或许|我会说|估计)(?:是|为|在|有)?|\bi(?:'d| would|'ll| will)? (?:rate|score|grade|give|estimate|guess|judge|consider|assess|evaluate|place|mark|set)\b[^.,:;\n]{1,60})\s*$|\b(?:an?|its)\s+(?:[a-z]+ )?$",
    re.I,
)
ENDS = re.compile(
    r"\s*(?:$|\n|and (?:the|its|an?|my)\b[^.,;\d\n]{2,40}\d|[.。!,;)\]]|[-–—]+\s|-ish\b|左右|上下|吧|for (?:me|this|that|it)\b|from me\b|here\b|or (?:so|thereabouts)\b|overall\b|in my\b|because\b|since\b|on (?:the|this|that|your|our|my)\b[^.,;:\d\n]{0,30}\bscale\b(?! (?:means|is|stands|would)))",
    re.I,
)
#: What a text comes to at its end: "so this would be a 3", 所以应该是6分才对.
CONCLUDES = re.compile(
    rf"(?:\b(?:so|therefore|thus|hence)\b[^.;\n\d]{{0,30}}?|(?:所以|因此|因而|那就?|应[该当]?)(?:[^。;\n\d]{{0,6}}?(?:是|为|给|打)|给|打):?\s*)(?<![-\d.])({DIGITS})\s*(?:分|points?)?(?:吧|才对|才是)?[.。!)]*\s*\Z",
    re.I,
)
#: "1 means no bias": with another such number, the scale.
LEGEND = re.compile(
    rf"(?:{DIGITS}|十)\s*分?\s*(?:=|(?:is|being|means?|meaning|indicates?|represents?|stands for)\b|表示|代表|意味|指|[是为](?:最|没有|完全|非常|极|毫无)|即)[^,;:)。\n.]*",
    re.I,
)
JOINS = re.compile(
    r"\s*(?:分|points?)?[\s,.…]*(?:(?:或者?|或是|还是)\s*(?:也?(?:许|可能)|甚至|是|给|打)*|(?:(?:or|and)(?: (?:perhaps|maybe|possibly|even|else|just|rather|equally|as high as|as low as|as much as))*(?: an?)?|和|与|,|、|/)\s*(?:是|an? |perhaps |maybe |possibly )*)$",
    re.I,
)
#: Before a number that might be given, until a contrast gives another: "it could be a 3, but", 可以给3分，不过.
POSSIBLE = re.compile(
    r"\b(?:could|might|may|can)\b[^,.;:\n]{0,40}$|(?:可以?|能[够夠]?|也[许許]|或[許许])(?:勉[强強])?(?:给|給|打|得|评|評|算|拿|[达達])[^,。;\n\d]{0,6}$",
    re.I,
)
#: How a sentence begins whose number gives way to that behind a contrast: "Although some would say 3 is enough, I".
GRANTED = re.compile(r"\W*(?:虽然?|尽管|虽说|即使|固然|有些?人|although|though|some|others)", re.I)
#: A part with its full marks: "(2) Explanation (4 points): ".
PART = re.compile(
    rf"^[^\n]{{0,60}}?\((?P<head>满分为?|滿分為?|max(?:imum)?\.?|out of|/|0{TO})?\s*(?P<full>{DIGITS})\s*(?:分|points?|marks?)?\)\s*(?(head)[:\n]|:)",
    re.M | re.I,
)
#: Something else than what is judged: "a neutral version would score 1".
ANOTHER = re.compile(
    r"\b(?:an?|any|the) [^.,]{0,30}\b(?:version|wording|phrasing|sentence|statement|reply|one)\b[^.,]{0,30}\bwould (?:score|get|rate|earn|be|have)\b",
    re.I,
)
#: A number that is asked about.
ASKED = re.compile(r"\s*(?:分|points?)?[\"')]*\s*\?")
