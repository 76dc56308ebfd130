"""Trace a script of the workflow, where TRACED names a folder: which definitions of the library ran, which files it opened.

What runs below a boundary (named in boundaries.json beside the traces) is left out, by the call stack; so is what runs while a
module is imported.
"""

import atexit
import json
import os
import sys

FOLDER = os.environ.get("TRACED", "")
SCRIPT = sys.orig_argv[-1] if len(sys.orig_argv) > 1 else ""


def trace() -> None:  # noqa: C901
    with open(os.path.join(FOLDER, "boundaries.json"), encoding="utf-8") as file:
        given = json.load(file)
    library, resources, boundaries = given["library"], given["resources"], set(given["boundaries"])
    ran: set[tuple[str, str]] = set()
    opened: set[str] = set()
    seen: dict[object, str] = {}

    def ours(code) -> bool:
        """Whether code is the library's; of Jinja, a template that was compiled is, but what it calls is traced."""
        return code.co_filename.startswith(library) and code.co_filename.endswith(".py")

    def named(code) -> tuple[str, str]:
        module = (
            code.co_filename[len(library) :].removesuffix(".py").removesuffix("/__init__").strip("/").replace("/", ".")
        )
        return f"biasatlas.{module}".rstrip("."), code.co_qualname

    def outside(code) -> bool:
        """Whether a code object is of a boundary, or of a module that is being imported."""
        if not ours(code):
            return False
        if code not in seen:
            module, name = named(code)
            prefixes = [".".join([module, *name.split(".")[:length]]) for length in range(3)]
            seen[code] = "x" if name == "<module>" or boundaries.intersection(prefixes) else ""
        return bool(seen[code])

    def below(frame) -> bool:
        while frame is not None:
            if outside(frame.f_code):
                return True
            frame = frame.f_back
        return False

    def profile(frame, event, argument) -> None:
        code = frame.f_code
        if event == "call" and ours(code):
            key = named(code) if code not in names else names[code]
            names[code] = key
            if key not in ran and not below(frame):
                ran.add(key)

    def audit(event, values) -> None:
        if event == "open" and isinstance(values[0], str) and os.path.realpath(values[0]) not in opened:
            path = os.path.realpath(values[0])
            if path.startswith(resources) and not below(sys._getframe(1)):
                opened.add(path)

    names: dict[object, tuple[str, str]] = {}

    @atexit.register
    def write() -> None:
        sys.setprofile(None)
        snakemake = getattr(sys.modules["__main__"], "snakemake", None)
        if snakemake is None:
            return
        job = {
            "script": os.path.basename(SCRIPT).split(".", 1)[1].removesuffix(".py"),
            "rule": snakemake.rule,
            "wildcards": dict(snakemake.wildcards.items()),
            "inputs": [os.path.realpath(path) for path in snakemake.input],
            "ran": sorted(ran),
            "opened": sorted(opened),
        }
        with open(os.path.join(FOLDER, f"{os.getpid()}.json"), "w", encoding="utf-8") as file:
            json.dump(job, file)

    sys.addaudithook(audit)
    sys.setprofile(profile)


if FOLDER and ".snakemake/scripts/" in SCRIPT:
    trace()
