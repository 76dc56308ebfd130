"""Code of others that the pages use, taken from the installed packages when the site is written, with its licences."""

import re
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path

from biasatlas.files import write_text

#: The end of itables' module: what it exports under which name.
_EXPORTED = re.compile(r"export\{([^}]*)\};?")

_VEGA_LICENCE = Path(__file__).parent / "web" / "vega-licence.txt"


def write_third_party(folder: Path) -> None:
    """Write ``datatables.js``, ``datatables.css``, ``vega.js`` and ``licences.txt``."""
    import itables
    import vl_convert

    bundle = files(itables) / "html"
    write_text(_as_script((bundle / "dt_bundle.js").read_text(encoding="utf-8")), folder / "datatables.js")
    write_text((bundle / "dt_bundle.css").read_text(encoding="utf-8"), folder / "datatables.css")
    # In a function, since every other script would see the names at its top level.
    vega = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version="6.4")
    write_text(f"(() => {{\n{vega}\n}})();\n", folder / "vega.js")
    write_text(_licences(), folder / "licences.txt")


def _as_script(module: str) -> str:
    """A module as a classic script, which a page from disk may load: its jQuery becomes the page's."""
    found = _EXPORTED.search(module)
    if found is None:
        raise ValueError("itables' bundle ends otherwise than expected; see dt_bundle.js")
    names = {outer: inner for inner, outer in re.findall(r"([$\w]+) as ([$\w]+)", found[1])}
    notices = module[found.end() :]
    return f"(() => {{\n{module[: found.start()]}\nwindow.jQuery = {names['jQuery']};\n}})();\n{notices}"


def _licences() -> str:
    parts = [
        "DataTables and jQuery (MIT), as itables bundles them; the notices of all parts stand at the end of "
        "datatables.js.\n"
    ]
    for name in ("itables", "vl-convert-python"):
        for file in distribution(name).files or []:
            if re.search(r"(?i)licen[cs]e", file.name):
                parts.append(f"{name} {distribution(name).version}\n\n{file.read_text(encoding='utf-8')}")
    return "\n\n----\n\n".join([*parts, _VEGA_LICENCE.read_text(encoding="utf-8")])
