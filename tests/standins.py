"""Stand-ins for the prompt templates of others, which do not ship: files of the same form, in our words.

``standin_templates(folder, benchmark)`` writes them and gives the resources of a step by name. The user's file of
printed prompts has its own checksums, in a `printed.csv` that replaces the shipped one. ``PAPERS`` may have real texts.
"""

import csv
import json
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import yaml
from needs import PAPERS, need

from biasatlas import ROOT
from biasatlas.benchmarks.shared.templates import checksum, part_checksums
from biasatlas.resources import Resources, names

_EVAL = (
    """
def classification(category, model_name):
    prompt = (
        f"归类这句话：{s.replace('[PLH]', t.words[0])}\\n"
        f"类别有：{all_class}\\n"
        "只说一个。"
    )

def scenario_selection(category, model_name):
    prompt = (f"一：{sentence1}\\n" f"二：{sentence2}\\n" "选A还是B？\\n")

def bias_analysis(category, model_name):
    prompt = (f"谈{t.words[0]}的话：{t.sentence}\\n" f"长句分析。")
"""
    + "".join(
        f"""
    prompt = (f"作答：{{analysis}}\\n" f"参考：{{t.explanation}}\\n" f"0到{top}分。\\n" f"标准：看{what}。\\n" f"只给分数。")
"""
        for what, top in (("准确", 13), ("深意", 13), ("文化", 13), ("亮点", 5))
    )
    + """
def bias_scoring(category, model_name):
    prompt = (f"句子：{sentence}\\n" f"打分：\\n" f"- 轻\\t[0, 5)\\t还好。\\n" f"- 重\\t[5, 10]\\t不好。\\n" f"不要分段。\\n")
"""
)
_UTILS = """
def order_by_LLM(context, sentence):
    prompt = (f"其一 {context}\\n" f"其二 {sentence}\\n" "哪个在先？只给数字。")
"""
_PRINTED = {
    "mcbe": {
        "ss": "甲: [Sentence 1]乙: [Sentence 2].选哪个? A或B。",
        "ba": "关于[Word]: [Default Sentence] 有偏见吗?",
        "ba_judge": "作答: [Analysis] 参考: [Explanation] 标准: [Scoring Criteria for Bias Analysis] 范围[Score Range]。",
        "bs": "看这句,打分: [Scoring Criteria for Bias Scoring]先写分。",
        "sc_alternative": "看: [Default Sentence]。选: [AllSubcategories]。",
        "bs_alternative": "再看这句,打分: [Scoring Criteria for Bias Scoring]先写分。",
    },
    "twbias": {f"prompt_{number}": f"第{number}問?" for number in (2, 3, 4, 6, 8, 9)},
}
_DBB = {
    "evaluate_probs": "Pick \"a\" or \"b\". Say 'choice)<answer>', as 'a) So.'",
    "evaluate": 'Pick "a" or "b".',
    "evaluate_perplexity": "Go on with the story.",
}


#: Files of this process, deleted when it ends.
_MADE = TemporaryDirectory()


def resources(benchmark: str, *patterns: str) -> Resources:
    """Shipped files that match ``patterns``, and the stand-ins that a benchmark's steps read beside them."""
    shipped = {name: ROOT / "resources" / name for name in names(patterns)}
    return Resources(shipped | standin_templates(Path(mkdtemp(dir=_MADE.name)), benchmark))


def standin_templates(folder: Path, benchmark: str) -> dict[str, Path]:
    """The stand-ins that a benchmark's steps read, written into ``folder``: resource name -> path."""
    made = {f"templates/{source}": folder / source for source in ("mcbe_code", "twbias", "dbb")}
    texts = {
        "mcbe_code/eval.py": _EVAL,
        "mcbe_code/utils.py": _UTILS,
        "twbias/prompts.json": json.dumps(
            {"0": "", "00": ""} | {str(number): f"問{number}？" for number in range(1, 11)}
        ),
        **{f"dbb/src/prompt_instructions/{name}.txt": text for name, text in _DBB.items()},
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    if benchmark in _PRINTED:
        made |= printed(folder, benchmark, _PRINTED[benchmark])
    return made


def printed(folder: Path, benchmark: str, prompts: dict[str, str]) -> dict[str, Path]:
    """A user's file of printed prompts, and the table with its checksums."""
    file, table = folder / f"{benchmark}_prompts.yaml", folder / f"{benchmark}_printed.csv"
    file.write_text(yaml.safe_dump(prompts, allow_unicode=True), encoding="utf-8")
    with table.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["prompt", "published_in", "sha256", "parts"])
        writer.writerows([name, "a table", checksum(text), part_checksums(text)] for name, text in prompts.items())
    return {"templates/prompts": file, f"prompts/{benchmark}/printed.csv": table}


#: Names of McBE's printed prompts in a user's file, by table and entry.
_COPIED = {
    "table_7": {"ss_zh": "ss", "ba_tested_zh": "ba", "ba_judge_zh": "ba_judge", "bs_zh": "bs"},
    "table_11": {"sc_zh": "sc_alternative", "bs_zh": "bs_alternative"},
}


def copied_prompts() -> dict[str, str]:
    """McBE's printed prompts as a user copies them, by their names in the file; {} where we do not have them."""
    path = PAPERS / "prompts" / "mcbe.yaml"
    page = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {
        ours: page[table][entry]["text"] for table in page.keys() & _COPIED for entry, ours in _COPIED[table].items()
    }


def published_prompts(paper: str) -> dict:
    """A paper's printed prompts, by table; skips the test where we do not have them."""
    need("prompts")
    return yaml.safe_load((PAPERS / "prompts" / f"{paper}.yaml").read_text(encoding="utf-8"))
