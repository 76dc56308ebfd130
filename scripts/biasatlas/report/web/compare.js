"use strict";
// All models against one, item by item, where the run has a table of pairs; and two models by their headline numbers.
(async () => {
  const [a, b] = ["a", "b"].map((id) => document.getElementById(id));
  const body = document.querySelector("#pair tbody");
  const rows = await atlas.load("headlines");
  const packed = await atlas.load("paired");
  const columns = Object.entries(await atlas.unpackAll(packed.columns));
  const paired = Array.from({ length: packed.rows }, (_, place) =>
    Object.fromEntries(columns.map(([name, column]) => [name, atlas.at(column, place) ?? null])));
  const wanted = atlas.hash.read();
  if (wanted.a) a.value = wanted.a;
  if (wanted.b) b.value = wanted.b;
  const name = (select) => select.selectedOptions[0].textContent;
  const nameOf = Object.fromEntries([...a.options].map((option) => [option.value, option.textContent]));
  // Half the width of a scale, in smallest effects that matter: the first that holds every difference.
  const SPANS = [2, 4, 6, 8, 10, 15];

  function svg(kind, attributes, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  // A difference and its interval between -span and span; beyond it an arrow.
  function strip(shown, span) {
    const at = (effect) => Math.round(5000 + 4800 * Math.max(-1, Math.min(1, effect / span))) / 100;
    const line = svg("svg", { width: "100%", height: 20, "aria-hidden": "true", focusable: "false" },
      svg("rect", { class: "band", x: `${at(-1)}%`, width: `${at(1) - at(-1)}%`, height: 20 }),
      svg("line", { class: "null", x1: "50%", x2: "50%", y2: 20 }));
    const arrow = (side) => svg("svg", { x: side < 0 ? "2%" : "98%", overflow: "visible" },
      svg("path", { class: "cut", d: side < 0 ? "M0 6l-7 4l7 4z" : "M0 6l7 4l-7 4z" }));
    if (shown.low !== null) {
      line.append(svg("line", { class: "range", x1: `${at(shown.low)}%`, x2: `${at(shown.high)}%`, y1: 10, y2: 10 }));
      if (shown.low < -span) line.append(arrow(-1));
      if (shown.high > span) line.append(arrow(1));
    }
    if (Math.abs(shown.effect) > span) line.append(arrow(shown.effect));
    else {
      const dot = shown.state === "differ" || shown.state === "alike" ? "dot" : "dot open";
      line.append(svg("svg", { x: `${at(shown.effect)}%`, overflow: "visible" }, svg("circle", { class: dot, cy: 10, r: 4.5 })));
    }
    return line;
  }

  function ticks(span) {
    const far = Math.max(...[1, 2, 3, 5, 10].filter((tick) => tick < span));
    const marks = [...new Set([-far, -1, 0, 1, far])];
    return svg("svg", { width: "100%", height: 16, "aria-hidden": "true", focusable: "false" }, ...marks.map((tick) => {
      const sign = tick > 0 ? "+" : tick < 0 ? "−" : "";
      return svg("text", { x: `${50 + (48 * tick) / span}%`, y: 12, "text-anchor": "middle" }, `${sign}${Math.abs(tick)}`);
    }));
  }

  // The other model less the chosen one, in smallest effects that matter; null where the pair has no number.
  function against(pair, chosen) {
    if (pair.headline < 0 || pair.effect === null || ![pair.a, pair.b].includes(chosen)) return null;
    const turn = pair.b === chosen ? 1 : -1;
    const scale = pair.value === 0 ? 0 : pair.effect / pair.value;
    const limits = pair.ci_low === null ? [null, null] : [turn * pair.ci_low, turn * pair.ci_high].sort((x, y) => x - y);
    const [low, high] = limits.map((limit) => (limit === null || !scale ? null : limit * scale));
    return { other: pair.b === chosen ? pair.a : pair.b, effect: turn * pair.effect, low, high, value: turn * pair.value, limits, state: pair.state, why: pair.why };
  }

  function panels() {
    const found = rows.map((row, place) => [row, paired.filter((pair) => pair.headline === place).map((pair) => against(pair, a.value)).filter(Boolean)])
      .filter(([, shown]) => shown.length);
    const largest = Math.max(0, ...found.flatMap(([, shown]) => shown.map((each) => Math.abs(each.effect))));
    const span = SPANS.find((each) => each >= largest) || SPANS[SPANS.length - 1];
    const { make, number } = atlas;
    document.getElementById("against").hidden = found.length === 0;
    document.getElementById("head").textContent = name(a);
    document.getElementById("panels").classList.toggle("many", a.options.length > 4);
    document.getElementById("panels").replaceChildren(...found.map(([row, shown], place) => make("section", { class: "panel" },
      make("h3", {}, row.question),
      make("p", { class: "soft" }, make("a", { href: row.page }, row.benchmark), `, ${row.name} · what matters: ±${row.smallest}${row.unit}`),
      make("table", { class: "scale" },
        make("caption", { class: "sr" }, row.question),
        make("colgroup", {}, make("col", { class: "who" }), make("col", { class: "strip" }), make("col", { class: "value" }), make("col", { class: "word" })),
        make("thead", {}, make("tr", {}, make("th", { scope: "col", class: "sr" }, "model"),
          make("th", { scope: "col" }, make("span", { class: "ends" }, make("span", {}, "← less"), place ? "" : make("span", {}, "too small to matter"), make("span", {}, `more: ${row.ends[1]} →`))),
          make("th", { scope: "col", class: "sr" }, "difference and 95% interval"), make("th", { scope: "col", class: "sr" }, "verdict"))),
        make("tbody", {}, ...shown.map((each) => {
          const items = row.cells[each.other]?.href;
          const value = `${number(each.value)}${row.unit}`;
          const interval = each.limits[0] === null ? "no interval" : `[${each.limits.map(number).join(", ")}]`;
          return make("tr", { class: each.state },
            make("th", { scope: "row" }, make("a", { href: `model-${encodeURIComponent(nameOf[each.other])}.html` }, nameOf[each.other])),
            make("td", { class: "strip" }, strip(each, span)),
            make("td", { class: "value" }, items ? make("a", { href: `${items}&b=${a.value}&sort=gap`, title: "the items that differ most" }, make("b", {}, value)) : make("b", {}, value), " ", make("span", { class: "soft" }, interval)),
            make("td", { class: "word", title: each.why }, make("span", { class: `verdict ${each.state}` }, each.state || "no verdict")));
        })),
        make("tfoot", {}, make("tr", {}, make("td", { class: "soft" }, "× what matters"), make("td", { class: "strip" }, ticks(span)), make("td", { colspan: 2 })))))));
  }

  function cell(found) {
    if (!found || found.value === null) return atlas.make("td", { class: "number" }, "");
    const interval = found.low === null ? "" : ` [${atlas.number(found.low)}, ${atlas.number(found.high)}]`;
    return atlas.make("td", { class: "number", title: found.state }, `${atlas.number(found.value)}${interval}`);
  }

  function draw() {
    atlas.hash.write({ a: a.value, b: b.value });
    panels();
    document.getElementById("head-a").textContent = name(a);
    document.getElementById("head-b").textContent = name(b);
    body.replaceChildren();
    let same = 0;
    let both = 0;
    for (const row of rows) {
      const [left, right] = [row.cells[a.value], row.cells[b.value]];
      if (!left && !right) continue;
      const there = left && right && left.value !== null && right.value !== null;
      const alike = Boolean(there && left.asked && left.asked === right.asked);
      both += there ? 1 : 0;
      same += alike ? 1 : 0;
      const link = there && left.href
        ? atlas.make("a", { href: `${left.href}&b=${b.value}&sort=flips` }, "flips first") : "";
      body.append(atlas.make("tr", {},
        atlas.make("td", {}, atlas.make("a", { href: row.page }, row.benchmark)),
        atlas.make("td", { class: "wide" }, row.question),
        atlas.make("td", {}, !there ? "" : alike ? "yes" : "no"),
        cell(left), cell(right),
        atlas.make("td", { class: "number" }, there ? atlas.number(left.value - right.value) : ""),
        atlas.make("td", {}, link)));
    }
    const together = paired.filter((pair) => [a.value, b.value].includes(pair.a) && [a.value, b.value].includes(pair.b) && pair.a !== pair.b);
    document.getElementById("same-items").hidden = together.length === 0;
    document.querySelector("#paired tbody").replaceChildren(...together.map((pair) => {
      const turn = pair.a === a.value ? 1 : -1;
      const limits = pair.ci_low === null ? "" : `[${[turn * pair.ci_low, turn * pair.ci_high].sort((x, y) => x - y).map(atlas.number).join(", ")}]`;
      const numbers = [turn * pair.value, limits, pair.n, pair.flipped];
      return atlas.make("tr", {}, atlas.make("td", {}, pair.about),
        atlas.make("td", {}, pair.said),
        ...numbers.map((word) => atlas.make("td", { class: "number" }, atlas.number(word))));
    }));
    document.getElementById("asked").textContent = both
      ? `Both answered ${both} of ${rows.length}; in ${same} of these they were sent exactly the same requests.`
      : "They have no benchmark in common.";
  }
  addEventListener("hashchange", () => location.reload());
  a.addEventListener("change", draw);
  b.addEventListener("change", draw);
  draw();
})();
