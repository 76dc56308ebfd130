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

  // A difference and the interval that decides (null: no limit), cut off at the edges of the scale.
  function strip({ least, most, effect, state }, span) {
    const arrow = (side) => svg("svg", { x: side < 0 ? "2%" : "98%" }, svg("path", { d: side < 0 ? "M0 5l-7 4l7 4z" : "M0 5l7 4l-7 4z" }));
    const line = (from, to) => svg("line", { x1: from === null || from <= -span ? "0%" : at(from, span), x2: to === null || to >= span ? "100%" : at(to, span) });
    const open = state === "differ" || state === "alike" ? {} : { class: "open" };
    return picture(
      svg("use", { href: "#band", width: "100%", height: 18 }),
      ...(least === null && most === null ? [] : [line(least, most)]),
      Math.abs(effect) > span ? arrow(effect) : svg("circle", { ...open, cx: at(effect, span) }));
  }

  // A difference in plain terms: a factor where it is of logarithms.
  function plain({ base }, away) {
    if (!base) return atlas.number(Math.round(10 * away) / 10);
    const factor = base ** away;
    if (factor > 1000 || factor < 0.001) return factor > 1 ? "over 1,000" : "under 0.001";
    return factor < 0.01 ? factor.toFixed(3) : factor < 1.1 ? factor.toFixed(2) : String(Number(factor.toPrecision(2)));
  }

  // An interval in words; limits may be null.
  function sure(row, [low, high]) {
    const [least, most] = [low, high].map((limit) => (limit === null ? "" : plain(row, limit)));
    if (least && most) return `${least} to ${most}`;
    return least ? `${least} or more` : most ? `${most} or less` : "no interval";
  }

  // A number with its unit and interval, to the second digit of the interval's half width; without one, to three digits.
  function measured(value, low, high, unit = "") {
    const width = low === null || high === null ? 0 : (high - low) / 2;
    const digits = width > 0 ? Math.max(0, 1 - Math.floor(Math.log10(width))) : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value) || 1)));
    const shown = (number) => number.toFixed(Math.min(digits, 3)).replace(/^-(?=[0.]+$)/, "").replace("-", "−");
    return `${shown(value)}${unit}${width > 0 ? ` [${shown(low)} to ${shown(high)}]` : ""}`;
  }

  // The other model less the chosen one, in smallest effects that matter; null where the pair has no number.
  function against(pair, chosen) {
    if (pair.headline < 0 || pair.value === null || !pair.smallest || ![pair.a, pair.b].includes(chosen)) return null;
    const turn = pair.b === chosen ? 1 : -1;
    const ends = pair.least === null && pair.most === null ? [pair.ci_low, pair.ci_high] : [pair.least, pair.most];
    const limits = (turn > 0 ? ends : ends.reverse()).map((limit) => (limit === null ? null : turn * limit));
    const [least, most] = limits.map((limit) => (limit === null ? null : limit / pair.smallest));
    return { least, most, limits, other: pair.b === chosen ? pair.a : pair.b, effect: turn * pair.value / pair.smallest, value: turn * pair.value, state: pair.state, why: pair.why };
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
        make("small", {}, row.question), make("small", {}, `${row.lower && `Lower: towards “${row.lower}”. `}Threshold: ${row.one}. Benchmark: ${row.benchmark}.`),
        make("span", { class: "axis", "aria-hidden": "true" }, make("span", {}, "lower"), make("span", {}, "alike"), make("span", {}, "higher")))))),
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
            make("small", {}, sure(row, each.limits)), strip(each, span));
        })))));
  }

  function cell(found) {
    const known = found && found.value !== null;
    return atlas.make("td", { class: "number", title: known ? found.state : "" }, known ? measured(found.value, found.low, found.high) : "");
  }

  function draw() {
    atlas.hash.write({ a: a.value, b: b.value });
    table();
    document.getElementById("head-a").textContent = name(a);
    document.getElementById("head-b").textContent = name(b);
    body.replaceChildren();
    let same = 0;
    let both = 0;
    const together = paired.filter((pair) => [a.value, b.value].includes(pair.a) && [a.value, b.value].includes(pair.b) && pair.a !== pair.b);
    const turned = (pair, unit) => {
      const turn = pair.b === b.value ? -1 : 1;  // the table has pair.a minus pair.b, this page the second minus the first
      const limits = pair.ci_low === null ? [null, null] : [turn * pair.ci_low, turn * pair.ci_high].sort((x, y) => x - y);
      return measured(turn * pair.value, ...limits, unit);
    };
    const difference = (place, left, right) => {
      const pair = together.find((each) => each.headline === place);
      return pair ? turned(pair) : measured(right.value - left.value, null, null);
    };
    for (const [place, row] of rows.entries()) {
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
        atlas.make("td", { class: "wide" }, `${row.question} `, atlas.make("small", { class: "soft" }, row.unit && `in${row.unit === "%" ? " " : ""}${row.unit}`)),
        atlas.make("td", {}, !there ? "" : alike ? "yes" : "no"),
        cell(left), cell(right), atlas.make("td", { class: "number" }, there ? difference(place, left, right) : ""),
        atlas.make("td", {}, link)));
    }
    document.getElementById("same-items").hidden = together.length === 0;
    document.querySelector("#paired tbody").replaceChildren(...together.map((pair) => {
      const numbers = [turned(pair, pair.unit), pair.n, pair.flipped];
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
