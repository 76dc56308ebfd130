"use strict";
// Two models by their headline numbers, and item by item where the run has a table of pairs.
(async () => {
  const [a, b] = ["a", "b"].map((id) => document.getElementById(id));
  const body = document.querySelector("#pair tbody");
  const rows = await atlas.load("headlines");
  const paired = await atlas.load("paired");
  const wanted = atlas.hash.read();
  if (wanted.a) a.value = wanted.a;
  if (wanted.b) b.value = wanted.b;
  const name = (select) => select.selectedOptions[0].textContent;

  function cell(found) {
    if (!found || found.value === null) return atlas.make("td", { class: "number" }, "");
    const interval = found.low === null ? "" : ` [${atlas.number(found.low)}, ${atlas.number(found.high)}]`;
    return atlas.make("td", { class: "number", title: found.state }, `${atlas.number(found.value)}${interval}`);
  }

  function draw() {
    atlas.hash.write({ a: a.value, b: b.value });
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
      return atlas.make("tr", {}, atlas.make("td", {}, pair.about.filter((word, place, all) => place < all.length - 1 || word !== "recommended").join(" · ").replaceAll("_", " ")),
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
