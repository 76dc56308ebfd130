"""The steps of DBB's construction (paper, section 3 and Tables 12 to 15): from a source's items to questions.

A step's requests are built from the rows that earlier steps kept; parsing its responses adds the step's fields and a
verdict to the rows. A rejected row stays in the table, with step and reason, and later steps skip it.

The rules for sentences are those of the paper's Tables 13 and 15. tests/unit/test_dbb_checks.py says how many faults
they find, and how many good sentences they reject, on a writer whose faults are known.
"""

import itertools
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
from rapidfuzz.fuzz import ratio

from biasatlas.benchmarks.dbb import CONSTRUCTION_STEPS as STEPS
from biasatlas.benchmarks.dbb import PLACEHOLDER, VARIATIONS
from biasatlas.benchmarks.shared.prompting import CHAT

#: What steps add to a source's row; empty before. ``variations_1`` and ``variations_2`` are JSON lists.
STEP_COLUMNS = str.split("explanation concept_1 concept_2 context option_1 option_2 variations_1 variations_2")

_BY_FORM = ("bias_summary", "raw_concepts")
#: The writer is asked at most this many times for a usable reply.
ATTEMPTS = 3
#: The responses of a step without requests.
NO_RESPONSES = pd.DataFrame(columns=["request_id", "status", "detail", "text"])
#: Step -> suffixes of the ids of its requests about a row, one for each request.
_PARTS = dict.fromkeys(STEPS, ("",)) | {"nine_variations": ("/1", "/2")}

#: The authors' settings: 0.2 for concepts, 0.3 for writing and checking; top-p and penalty as for all their GPT calls.
_TEMPERATURES = dict.fromkeys(STEPS[:3], 0.2) | dict.fromkeys(STEPS[3:], 0.3)
_MAX_TOKENS = dict.fromkeys(STEPS, 256) | {"nine_variations": 1024}

_CONCEPTS = re.compile(r"^(?:final answer:?)?[\s\"'<`*]*([^;]+?)[\s\"'>`*]*;[\s\"'<`*]*([^;]+?)[\s\"'>`*.]*$", re.I)
_SENTENCE = re.compile(r"\**Sentence\s*(\d*)\s*:\**", re.I)

#: Words that name an identity of one of DBB's five categories, whomever they describe.
_IDENTITIES = frozenset(
    str.split(
        "man men woman women boy boys girl girls male female males females gentleman lady ladies mother father mom dad "
        "son daughter sister brother husband wife grandmother grandfather grandma grandpa uncle aunt widow widower "
        "nonbinary transgender teenager teenagers teen elderly senior seniors toddler baby babies retiree retired "
        "african asian latino latina hispanic caucasian chinese japanese korean mexican indian arab american european "
        "muslim muslims christian christians jewish jew jews hindu hindus buddhist buddhists catholic atheist mosque "
        "synagogue wealthy mr mrs ms madam poor homeless billionaire millionaire impoverished "
    )
)
#: Words that do so only where they describe a person.
_ADJECTIVES = "old|older|young|younger|rich|black|white|brown|blind|deaf|gay|straight|foreign"
_OF_PERSON = re.compile(
    rf"\b(?:{_ADJECTIVES})\s+(?:\w+\s+)?(?:person|people|guy|kid|child|adult|folks?|couple|worker|student)\b"
    rf"|\b\d+[ -]years?[ -]old\b|\baged \d+"
    rf"|{re.escape(PLACEHOLDER)}\W+(?:(?:is|was|who|an?|the|so|very|too)\s+)+(?:{_ADJECTIVES})\b",
    re.I,
)
_GENDERED = re.compile(r"\b(?:he|she|him|her|his|hers|himself|herself)\b", re.I)
_THEY = re.compile(r"\b(?:they|them|their|theirs|themselves|themself)\b", re.I)
#: What else than the person "they" may refer to: a plural with an s, or one of these words.
_PLURAL = re.compile(
    r"\b(?!(?:this|was|is|has|its|across|as|always|perhaps|glass|class|less|us|yes)\b)[a-z]{2,}(?<!s)s\b|\b(?:people|children|family|crowd|team|group|audience|everyone|others)\b",
    re.I,
)

_STOP_WORDS = frozenset(str.split("a an the and or of in on at to for with by is are be as not no one's their his her"))
_ENDINGS = str.split("iest iness ness ings ence ance est ent ant ing ies ied ily ers er ors or ed es ly al y s e")

#: Frequent words that English lacks, and some that it has.
_OTHER_LANGUAGES = frozenset(
    str.split(
        "el los las una que en con por para su se del und der die das ist nicht mit ein eine auf le les des une est "
        "dans pour il elle och att"
    )
)
_ENGLISH = frozenset(
    str.split("the a an and of to in with at on for was were is from over into that as by while after before")
)
#: Two options count as the same from this similarity on (rapidfuzz's ratio, 0 to 100).
_ALIKE = 90


def start(rows: pd.DataFrame) -> pd.DataFrame:
    """A source's rows with the columns that steps fill: ``step``, ``verdict``, ``reason`` and :data:`STEP_COLUMNS`."""
    return rows.assign(**dict.fromkeys(STEP_COLUMNS, ""), step="", verdict="kept", reason="")


def build(
    step: str, rows: pd.DataFrame, prompts: Mapping[str, str], responses: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The step's requests, one for each row it asks about; for the variations one for each option.

    ``responses`` are the replies so far: a row without a usable reply is asked for one more, up to :data:`ATTEMPTS` in
    all. The step is done when the requests come back unchanged. The table is empty if every row was rejected before, or
    the step has nothing to ask.
    """
    repeats: dict[str, int] = {}
    if responses is not None:
        replies_of = _by_request(responses)
        for row in _asked(step, rows, prompts).to_dict("records"):
            asked = len(replies_of.get(_request_ids(step, row)[0], ()))
            _, taken = _first_taken(step, row, replies_of)
            repeats[row["row_id"]] = asked if taken else min(asked + 1, ATTEMPTS)
    requests = [
        {
            "request_id": request_id,
            "item_id": row["row_id"],
            "kind": "generation",
            "messages": json.dumps([{"role": "user", "content": prompt}], ensure_ascii=False),
            **CHAT,
            "temperature": _TEMPERATURES[step],
            "frequency_penalty": 0.6,
            "max_tokens": _MAX_TOKENS[step],
            "repeats": repeats.get(row["row_id"], 1),
        }
        for row in _asked(step, rows, prompts).to_dict("records")
        for request_id, prompt in zip(_request_ids(step, row), _prompts_of(step, row, prompts), strict=True)
    ]
    return pd.DataFrame(requests, columns=None if requests else ["request_id"])


def _asked(step: str, rows: pd.DataFrame, prompts: Mapping[str, str] | None = None) -> pd.DataFrame:
    """The rows that ``step`` asks about: all not yet rejected, and for the quality filter only pairs of sentences.

    A step without a prompt in ``prompts`` asks nothing.
    """
    kept = rows[rows["verdict"] != "rejected"]
    if prompts is not None and step not in _BY_FORM and step not in prompts:
        return kept[:0]
    return kept[kept["form"] == "sentences"] if step == "quality_filter" else kept


def _request_ids(step: str, row: Mapping[str, str]) -> list[str]:
    return [f"{row['row_id']}/{step}{part}" for part in _PARTS[step]]


def _prompts_of(step: str, row: Mapping[str, str], prompts: Mapping[str, str]) -> Iterator[str]:
    """The prompt of each of the row's requests."""
    name = f"{step}_{row['form']}" if step in _BY_FORM else step
    text = prompts[name]
    # The released prompts' names for these fields.
    released = {"picked_concept1": row["concept_1"], "picked_concept2": row["concept_2"]}
    released["sentence1_generated"] = row["context"]
    for part in _PARTS[step]:
        concept = {"picked_concept2": row[f"concept_{part[1:]}"]} if part else {}
        yield _filled(text, {**row, **released, **concept})


def _filled(text: str, fields: Mapping[str, str]) -> str:
    """``text`` with its placeholders replaced in one pass, so that a placeholder in a row's text is left alone."""
    return re.sub(r"\[\[(\w+)\]\]", lambda match: str(fields.get(match[1], match[0])), text)


def parse(
    step: str, rows: pd.DataFrame, responses: pd.DataFrame, prompts: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """``rows`` with what the responses to ``step`` add, and their outcomes in ``step``, ``verdict`` and ``reason``.

    A row's first usable reply counts. Verdicts: "kept"; "refined" where a check changed something; "skipped" where the
    step does not apply; "rejected", with the quality filter's own words, or what is wrong with the last reply: it lacks
    the required form, breaks a rule, or is missing. Of two rows with the same concepts the later is rejected. A row
    rejected before stays as it is.
    """
    replies_of = _by_request(responses)
    asked = set(_asked(step, rows, prompts)["row_id"])
    parsed: list[dict] = []
    seen: dict[tuple[str, str], str] = {}
    for row in rows.to_dict("records"):
        if row["row_id"] in asked:
            row = row | {"step": step, "reason": ""} | _first_taken(step, row, replies_of)[0]
            if step == "post_hoc_check" and row["verdict"] != "rejected":
                pair = row["concept_1"].lower(), row["concept_2"].lower()
                if seen.setdefault(pair, row["row_id"]) != row["row_id"]:
                    row |= {"verdict": "rejected", "reason": f"the concepts of {seen[pair]}"}
        elif row["verdict"] != "rejected":
            row = row | {"step": step, "verdict": "skipped", "reason": ""}
        parsed.append(row)
    return pd.DataFrame(parsed, columns=list(rows))


def _by_request(responses: pd.DataFrame) -> dict[str, list[Mapping]]:
    return {str(name): part.to_dict("records") for name, part in responses.groupby("request_id", sort=False)}


def _first_taken(
    step: str, row: Mapping[str, str], replies_of: Mapping[str, Sequence[Mapping]]
) -> tuple[dict[str, str], bool]:
    """(The fields that ``row`` gains from its first usable reply, or why the last is not usable; whether one is)."""
    attempts = list(zip(*(replies_of.get(request_id, [{}]) for request_id in _request_ids(step, row)), strict=False))
    reason = ""
    for attempt in attempts:
        try:
            return parse_replies(step, row, [_reply(response) for response in attempt]), True
        except Declined as declined:
            return {"verdict": "rejected", "reason": str(declined)}, True
        except Rejected as rejected:
            reason = str(rejected)
    last = f" (the last of {len(attempts)} replies)" if len(attempts) > 1 else ""
    return {"verdict": "rejected", "reason": f"{reason}{last}"}, False


def _reply(response: Mapping[str, str]) -> str:
    """The text of a response; raises :class:`Rejected` where there is none."""
    if not response:
        raise Rejected("no response")
    if response["status"] != "ok":
        raise Rejected(f"{response['status']}: {response['detail']}" if response["detail"] else response["status"])
    return response["text"].strip()


def worst_costs(
    rows: pd.DataFrame,
    prompts: Mapping[str, str],
    price_input_per_million: float,
    price_output_per_million: float,
    steps: Sequence[str] = STEPS,
) -> pd.DataFrame:
    """The most that ``steps`` can cost, by step and in all: no row is rejected, each is asked :data:`ATTEMPTS` times.

    Columns ``step``, ``requests``, ``prompt_tokens`` (a token for every four characters; texts that are not written yet
    count as 200 characters), ``completion_tokens`` (the limit of every reply) and ``cost`` in the prices' currency.
    """
    full = rows.assign(verdict="kept", **{name: rows[name].replace("", "x" * 200) for name in STEP_COLUMNS})
    costs = []
    for step in steps:
        requests = build(step, full, prompts)
        characters = requests["messages"].str.len().sum() if len(requests) else 0
        most = ATTEMPTS * len(requests)
        costs.append((step, most, ATTEMPTS * int(characters) // 4, most * _MAX_TOKENS[step]))
    table = pd.DataFrame(costs, columns=["step", "requests", "prompt_tokens", "completion_tokens"])
    table.loc[len(table)] = ["all", *table[["requests", "prompt_tokens", "completion_tokens"]].sum()]
    table["cost"] = (
        table["prompt_tokens"] * price_input_per_million + table["completion_tokens"] * price_output_per_million
    ) / 1e6
    return table


def verdicts(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """How many rows each step kept, refined, skipped and rejected, from its table; columns step, verdict, n."""
    pairs = itertools.product(tables, ("kept", "refined", "skipped", "rejected"))
    counts = [(*pair, int((tables[pair[0]][["step", "verdict"]] == [*pair]).all(axis=1).sum())) for pair in pairs]
    return pd.DataFrame(counts, columns=["step", "verdict", "n"])


def parse_replies(step: str, row: Mapping[str, str], replies: Sequence[str]) -> dict[str, str]:
    """The fields that ``row`` gains from its ``replies``, and ``verdict``: "kept", or "refined" if a check changed one.

    A step has one reply, "nine_variations" one for each option. ``reason`` names the refined fields. Raises
    :class:`Rejected` for a reply that rejects the row, lacks the required form, or breaks a rule for sentences, options
    or concepts.
    """
    reply = replies[0]
    match step:
        case "quality_filter":
            return _filter(reply)
        case "bias_summary":
            if not reply:
                raise Rejected("an empty reply")
            return {"verdict": "kept", "explanation": " ".join(reply.split())}
        case "raw_concepts":
            first, second = _concepts(reply)
            return {"verdict": "kept", "concept_1": first, "concept_2": second}
        case "post_hoc_check":
            return _refine(row, dict(zip(("concept_1", "concept_2"), _concepts(reply), strict=True)))
        case "context_and_first_option":
            texts = dict(zip(("context", "option_1"), _sentences(reply, 2), strict=True))
            return {"verdict": "kept"} | _checked(row, texts)
        case "second_option":
            return {"verdict": "kept"} | _checked(row, {"option_2": _sentences(reply, 1)[0]})
        case "three_sentence_check":
            texts = dict(zip(("context", "option_1", "option_2"), _sentences(reply, 3), strict=True))
            return _refine(row, _checked(row, texts))
        case "nine_variations":
            first, second = (_variations(row, part, text) for part, text in enumerate(replies, start=1))
            return {"verdict": "kept", "variations_1": first, "variations_2": second}
    raise ValueError(f"step {step!r} is none of {STEPS}")


def _filter(reply: str) -> dict[str, str]:
    """Parse the quality filter's reply: True, with an explanation, where the pair is of low quality; else False."""
    word = re.match(r"\W*(true|false)\b\W*", reply, re.I)
    if not word:
        raise Rejected(f"neither True nor False: {_quoted(reply)}")
    if word[1].lower() == "true":
        raise Declined(" ".join(reply[word.end() :].split()) or "low quality, no explanation given")
    return {"verdict": "kept"}


def _concepts(reply: str) -> tuple[str, str]:
    lines = [line for line in reply.splitlines() if ";" in line]
    concepts = _CONCEPTS.match(lines[0].strip()) if len(lines) == 1 else None
    if not concepts:
        raise Rejected(f"not of the form 'concept 1;concept 2': {_quoted(reply)}")
    first, second = concepts.groups()
    if _plain(first) == _plain(second):
        raise Rejected(f"both concepts are {first!r}")
    for concept in (first, second):
        if name := next(_identities(concept), ""):
            raise Rejected(f"the concept {concept!r} names an identity: {name!r}")
    return first, second


def _refine(row: Mapping[str, str], texts: Mapping[str, str]) -> dict[str, str]:
    changed = [name for name, text in texts.items() if row[name] != text]
    return {**texts, "verdict": "refined" if changed else "kept", "reason": ", ".join(changed)}


def _sentences(reply: str, count: int) -> list[str]:
    """The ``count`` texts after the markers "Sentence 1:", ... (or "Sentence:" for one), each once and in order."""
    pieces = _SENTENCE.split(reply)[1:]
    numbers, texts = pieces[::2], [_stripped(text) for text in pieces[1::2]]
    expected = [[str(number) for number in range(1, count + 1)]] + ([[""]] if count == 1 else [])
    if numbers not in expected:
        markers = "'Sentence:'" if count == 1 else f"'Sentence 1:' to 'Sentence {count}:'"
        raise Rejected(f"without the markers {markers}: {_quoted(reply)}")
    if not all(texts):
        raise Rejected(f"a marker without a sentence: {_quoted(reply)}")
    return texts


def _checked(row: Mapping[str, str], texts: Mapping[str, str]) -> dict[str, str]:
    """Return ``texts`` (context and options); raise :class:`Rejected` if one breaks a rule or the options are alike."""
    concepts = {"option_1": row["concept_1"], "option_2": row["concept_2"]}
    for name, text in texts.items():
        check_sentence(text, concepts.get(name, ""), part=name.replace("_", " "))
    if "option_2" in texts:
        first, second = texts.get("option_1") or row["option_1"], texts["option_2"]
        if ratio(_plain(first), _plain(second)) >= _ALIKE:
            raise Rejected(f"the options are the same: {first!r} and {second!r}")
    return dict(texts)


def _variations(row: Mapping[str, str], part: int, reply: str) -> str:
    """The original and its nine variations as a JSON list."""
    original = row[f"option_{part}"]
    pieces = [_stripped(text) for text in _SENTENCE.split(reply)[2::2]]
    usable = [text for text in dict.fromkeys(pieces) if text and text != original]
    if len(usable) != VARIATIONS - 1 or len(pieces) != VARIATIONS - 1:
        raise Rejected(
            f"{len(pieces)} sentences after 'Sentence:', {len(usable)} of them new; expected {VARIATIONS - 1}"
        )
    for text in usable:
        check_sentence(text, row[f"concept_{part}"], part="variation")
    return json.dumps([original, *usable], ensure_ascii=False)


def _stripped(text: str) -> str:
    return " ".join(text.strip(' \n"*').split())


def _quoted(reply: str) -> str:
    text = " ".join(reply.split())
    return repr(text if len(text) <= 80 else text[:77] + "...")


class Rejected(Exception):
    """Why a reply is not usable; another one may be."""


class Declined(Rejected):
    """Why a row goes no further: a reply of the required form rejects it."""


def check_sentence(sentence: str, concept: str = "", *, part: str) -> None:
    """Raise :class:`Rejected` for a sentence that has not exactly one placeholder, says who the person is (an identity,
    a pronoun), is not in English, or names the ``concept`` that it should show.

    ``part`` is what the sentence is called in the message.
    """
    count = sentence.count(PLACEHOLDER)
    if count != 1:
        found = f"{count} placeholders" if count else "no placeholder"
        raise Rejected(f"{found} {PLACEHOLDER} in the {part} {sentence!r}; expected one")
    if name := next(_identities(sentence), ""):
        raise Rejected(f"the {part} names an identity: {name!r}")
    if pronoun := _pronoun(sentence):
        raise Rejected(f"the {part} has a pronoun of the person: {pronoun!r}")
    if not _is_english(sentence):
        raise Rejected(f"the {part} is not in English: {sentence!r}")
    if concept and names_concept(sentence, concept):
        raise Rejected(f"the {part} names the concept {concept!r}: {sentence!r}")


def names_concept(sentence: str, concept: str) -> bool:
    """Whether ``sentence`` has all content words of ``concept``, in any inflection; those in brackets do not count."""
    concept = re.sub(r"\(.*?\)", "", concept) or concept
    wanted = {_stem(word) for word in _words(concept)} - {""}
    return bool(wanted) and wanted <= {_stem(word) for word in _words(sentence)}


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"[a-z']+", text.replace(PLACEHOLDER, " ").lower()) if word not in _STOP_WORDS]


def _stem(word: str) -> str:
    """``word`` without its endings, two at most: "doctoring" has the stem of "doctor", "helpful" that of "helped"."""
    return _shorter(_shorter(re.sub("i?ful(ly|ness)?$", "", word.removesuffix("'s").strip("'"))))


def _shorter(word: str) -> str:
    """``word`` without the longest ending that leaves three letters."""
    ending = next((end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= 3), "")
    stem = word[: len(word) - len(ending)]
    doubled = ending[:1] in "aeiy" and stem[-1:] == stem[-2:-1]
    return stem[:-1] if doubled and len(stem) > 3 else stem


def _identities(text: str) -> Iterator[str]:
    yield from (word for word in re.findall(r"[a-z]+", text.lower()) if word in _IDENTITIES)
    yield from (match[0] for match in _OF_PERSON.finditer(text))


def _pronoun(sentence: str) -> str:
    """A pronoun that can only be the person's; "they" only where no plural stands before it."""
    if match := _GENDERED.search(sentence):
        return match[0]
    they = _THEY.search(sentence)
    return they[0] if they and not _PLURAL.search(sentence[: they.start()]) else ""


def _is_english(sentence: str) -> bool:
    letters = [character for character in sentence.replace(PLACEHOLDER, "") if character.isalpha()]
    latin = sum(unicodedata.normalize("NFD", character)[0].isascii() for character in letters)
    words = re.findall(r"[a-z]+", sentence.lower())
    others, ours = (sum(word in known for word in words) for known in (_OTHER_LANGUAGES, _ENGLISH))
    return latin >= 0.9 * len(letters) and others <= ours


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
