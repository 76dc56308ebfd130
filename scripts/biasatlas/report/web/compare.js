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
  // Half the width of a scale, in smallest effects that matter: the first that holds every difference.
  const SPANS = [2, 4, 6, 8, 10, 15];

  function svg(kind, attributes, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  // Where an effect lies on a scale from -span to span, in percent.
  const at = (effect, span) => `${Math.round(5000 + 4800 * Math.max(-1, Math.min(1, effect / span))) / 100}%`;
  const picture = (...children) => svg("svg", { class: "strip", "aria-hidden": "true" }, ...children);

  // A difference, its interval, and that which decides (none: no limit); what goes on beyond the scale ends at the edge.
  function strip({ low, high, least, most, effect, state }, span) {
    const arrow = (side) => svg("svg", { x: side < 0 ? "2%" : "98%" }, svg("path", { d: side < 0 ? "M0 5l-7 4l7 4z" : "M0 5l7 4l-7 4z" }));
    const line = (from, to, more) => svg("line", { ...more, x1: from === null || from <= -span ? "0%" : at(from, span), x2: to === null || to >= span ? "100%" : at(to, span) });
    const open = state === "differ" || state === "alike" ? {} : { class: "open" };
    return picture(
      svg("use", { href: "#band", width: "100%", height: 18 }),
      ...(least === null && most === null ? [] : [line(least, most, { class: "thin" })]),
      ...(low === null ? [] : [line(low, high, {})]),
      Math.abs(effect) > span ? arrow(effect) : svg("circle", { ...open, cx: at(effect, span) }));
  }

  // A difference as people would say it: of logarithms it is a factor.
  function plain({ base }, away) {
    if (!base) return atlas.number(Math.round(10 * away) / 10);
    const factor = base ** away;
    return factor < 1.1 ? factor.toFixed(2) : String(Number(factor.toPrecision(2)));
  }

  // The other model less the chosen one, in smallest effects that matter; null where the pair has no number.
  function against(pair, chosen) {
    if (pair.headline < 0 || pair.effect === null || ![pair.a, pair.b].includes(chosen)) return null;
    const turn = pair.b === chosen ? 1 : -1;
    const scale = pair.value === 0 ? 0 : pair.effect / pair.value;
    const limits = [turn * pair.ci_low, turn * pair.ci_high].sort((x, y) => x - y);
    const known = pair.ci_low !== null && scale;
    const [low, high] = limits.map((limit) => (known ? limit * scale : null));
    const ends = turn > 0 ? [pair.least, pair.most] : [pair.most, pair.least];
    const [least, most] = ends.map((limit) => (limit === null || !scale ? null : turn * limit * scale));
    return { least, most, limits, other: pair.b === chosen ? pair.a : pair.b, effect: turn * pair.effect, low, high, value: turn * pair.value, state: pair.state, why: pair.why };
  }

  function table() {
    const found = rows.map((row, place) => [row, paired.filter((pair) => pair.headline === place).map((pair) => against(pair, a.value)).filter(Boolean)])
      .filter(([, shown]) => shown.length);
    const largest = Math.max(0, ...found.flatMap(([, shown]) => shown.map((each) => Math.abs(each.effect))));
    const span = SPANS.find((each) => each >= largest) || SPANS[SPANS.length - 1];
    const { make, number } = atlas;
    const others = [...a.options].filter((option) => option.value !== a.value);
    const [left, right] = [-1, 1].map((end) => at(end, span));
    document.getElementById("against").hidden = found.length === 0;
    document.getElementById("head").textContent = name(a);
    document.getElementById("differences").replaceChildren(
      make("caption", { class: "sr" }, "Models by questions"),
      make("thead", {}, make("tr", {}, make("td", {}, svg("svg", { class: "sr" }, svg("symbol", { id: "band" },
        svg("rect", { x: left, width: `${parseFloat(right) - parseFloat(left)}%`, height: 18 }), svg("line", { x1: "50%", x2: "50%", y2: 18 })))),
      ...found.map(([row]) => make("th", { scope: "col" }, make("a", { href: row.page }, row.topic[0].toUpperCase() + row.topic.slice(1)),
        make("small", {}, row.question), make("small", {}, `Matters from ${row.one} on. Benchmark: ${row.benchmark}.`),
        make("span", { class: "axis", "aria-hidden": "true" }, make("span", {}, "less biased"), make("span", {}, "alike"), make("span", {}, "more biased")))))),
      make("tbody", {}, ...others.map((other) => make("tr", {},
        make("th", { scope: "row" }, make("a", { href: `model-${encodeURIComponent(other.textContent)}.html` }, other.textContent)),
        ...found.map(([row, shown]) => {
          const each = shown.find((one) => one.other === other.value);
          if (!each) return make("td", {}, "Not compared");
          const items = row.cells[each.other]?.href;
          const size = `${plain(row, each.value)} ${row.shortly}`;
          return make("td", { class: each.state, title: `${number(each.value)}${row.unit}; ${each.why}` },
            make("b", { class: `verdict ${each.state}` }, each.state ? each.state[0].toUpperCase() + each.state.slice(1) : "No verdict"), " ",
            items ? make("a", { href: `${items}&b=${a.value}&sort=gap` }, size) : size, " ",
            make("small", {}, each.low === null ? "no interval" : `95% sure: ${each.limits.map((limit) => plain(row, limit)).join(" to ")}`), strip(each, span));
        })))));
  }

  function cell(found) {
    if (!found || found.value === null) return atlas.make("td", { class: "number" }, "");
    const interval = found.low === null ? "" : ` [${atlas.number(found.low)}, ${atlas.number(found.high)}]`;
    return atlas.make("td", { class: "number", title: found.state }, `${atlas.number(found.value)}${interval}`);
  }

  function draw() {
    atlas.hash.write({ a: a.value, b: b.value });
    table();
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
        ? atlas.make("a", { href: `${left.href}&b=${b.value}&sort=flips` }, "that differ") : "";
      body.append(atlas.make("tr", {},
        atlas.make("td", {}, atlas.make("a", { href: row.page }, row.benchmark)),
        atlas.make("td", { class: "wide" }, row.question),
        atlas.make("td", {}, !there ? "" : alike ? "yes" : "no"),
        cell(left), cell(right),
        atlas.make("td", { class: "number" }, there ? `${atlas.number(left.value - right.value)}${row.unit}` : ""),
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
