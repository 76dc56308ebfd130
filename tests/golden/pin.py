"""Pin the answers that the code gives now in this folder's JSON files: `python tests/golden/pin.py`.

Refuses if answers changed and none of their VERSIONs was raised: the old answers in users' stores would pass for new.
"""

import json
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent / "scripts"), str(TESTS)]

from golden.cases import GOLDEN  # noqa: E402

for golden in GOLDEN:
    versions, answers = golden.versions(), json.loads(json.dumps(golden.compute()))
    if golden.path.exists() and not golden.fault(versions, answers):
        print(f"{golden.path.name}: nothing changed")
        continue
    if golden.path.exists() and versions == golden.pinned()["versions"]:
        sys.exit(f"{golden.path.name}: {golden.fault(versions, answers)}")
    text = json.dumps({"versions": versions, "answers": answers}, indent=1)
    golden.path.write_text(text + "\n", encoding="utf-8")
    print(f"{golden.path.name}: pinned")
