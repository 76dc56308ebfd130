"""McBE's twelve workbooks as the hub names them, with Table 6's 4,077 rows, in sentences of ours: what a rehearsal reads."""

import itertools
from collections.abc import Mapping
from pathlib import Path

from openpyxl import Workbook

from biasatlas.benchmarks.mcbe import CATEGORIES, subcategories
from biasatlas.benchmarks.mcbe.items import published_sizes
from biasatlas.resources import Resources

#: Stems that differ from our names of the categories; the workbook `test` is of no category.
STEMS = {"socioeconomic_status": "socioeco", "lgbtq": "lgbtq+"}
RESOURCES = Resources.shipped("mcbe/subcategories.csv", "published/mcbe_composition.csv")
_PEOPLE = ("城里人", "乡下人", "老师", "学生", "邻居", "同事", "司机", "厨师")
_TRAITS = ("细心", "健谈", "节俭", "固执", "勤快", "安静", "热情", "急躁", "大方", "守时")
_SCENES = ("车站里人来人往。", "大家在院子里乘凉。", "会议快要结束了。", "菜市场刚开门。")


def write_workbooks(folder: Path, share: float = 1.0) -> Mapping[str, int]:
    """Write the workbooks, with a ``share`` of each category's rows (at least 6), and `test.xlsx`; category -> rows."""
    folder.mkdir(parents=True, exist_ok=True)
    labels, sizes = subcategories(RESOURCES), published_sizes(RESOURCES)
    sizes = {category: max(6, round(size * share)) if share < 1 else size for category, size in sizes.items()}
    for category in (*CATEGORIES, "test"):
        book = Workbook(write_only=True)
        sheet = book.create_sheet("Sheet1")
        sheet.append(["context", "sentence", "words", "subtype", "explanation", "score"])
        rows = itertools.product(_SCENES, _TRAITS, range(1, 9), _TRAITS)
        for number, (scene, trait, people, other) in enumerate(itertools.islice(rows, sizes.get(category, 2))):
            words = _PEOPLE[people - 1 :][:2] if category != "worldview" else _PEOPLE[people - 1 :][:1]
            words = words if len(words) == 2 or category == "worldview" else (*words, _PEOPLE[0])
            sheet.append(
                [
                    scene,
                    f"[PLH]都很{trait}，从来不{other}{category if category == 'test' else ''}",
                    "，".join(words),
                    (labels.get(category) or ("外貌", "身材"))[number % len(labels.get(category) or "ab")],
                    f"把一群人都说成{trait}，是以偏概全。",
                    number % 10,
                ]
            )
        book.save(folder / f"{STEMS.get(category, category)}.xlsx")
    return sizes
