"use strict";
// Fills matrix cells from their short form in the page (report/cells.py, shown_column).
(() => {
  const drawn = (name, attributes, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const { make } = atlas;

  // Up to 5 smallest effects that matter; an arrow marks more.
  const SPAN = 5;
  const parsed = (text) => Number(text.replace("−", "-"));

  function strip(value, low, high, effect, head) {
    const at = (text) => `${50 + 48 * Math.max(-1, Math.min(1, (parsed(text) - head.null) / head.smallest / SPAN))}%`;
    const line = low ? [drawn("line", { x1: at(low), x2: at(high) })] : [];
    const mark = Math.abs(effect) <= SPAN ? drawn("circle", { cx: at(value) })
      : effect > 0 ? drawn("svg", { x: "98%" }, drawn("path", { d: "M0 2l7 4l-7 4z" }))
        : drawn("svg", { x: "2%" }, drawn("path", { d: "M0 2l-7 4l7 4z" }));
    const band = drawn("use", { href: "#band", width: "100%", height: 12 });
    return drawn("svg", { class: "strip", "aria-hidden": "true" }, band, ...line, mark);
  }

  function fill(cell, head, model) {
    const [low, high, n, sets, unparsed, effect, errors, printed, why] = cell.dataset.is.split("|");
    const [state, value] = [...cell.childNodes];
    const title = [
      cell.classList.contains("biased") && head.said,
      low && `95%: ${low} to ${high}${head.unit || ""}`,
      `n ${n}${sets > 1 ? ` in ${sets} independent sets` : ""}`,
      unparsed && `${unparsed} refused or unparsed`,
      printed && `printed ${printed}`,
      why && head.why.split("|")[why],
    ].filter(Boolean).join("; ");
    cell.dataset.order = parsed(value.data);
    const shown = (text, scale) => make("span", { class: `v ${scale}` }, text);
    cell.replaceChildren(make("a", { title, href: n !== "0" && head.to && `${head.to}&a=${model}` },
      make("span", { class: "figure" }, state, shown(value, "raw"), ...(effect ? [shown(effect, "effect"), shown(errors, "errors")] : [])),
      // A dot without an interval adds nothing to the number.
      effect && (low || !cell.classList.contains("untestable")) ? strip(value.data, low, high, parsed(effect), head) : "",
      unparsed ? make("span", { class: "unparsed" }, unparsed) : ""));
  }

  for (const table of document.querySelectorAll(".matrix")) {
    const heads = [...table.querySelectorAll("thead .head")].map((head) => head.dataset);
    for (const row of table.tBodies[0].rows) {
      for (const cell of row.querySelectorAll("[data-is]")) fill(cell, heads[cell.cellIndex - 1], row.dataset.a);
    }
  }
})();
