"use strict";
// The first page: the order of the models, the same in all panels; and one model lit in all of them.
(() => {
  const order = document.getElementById("order");
  const panels = [...document.querySelectorAll(".scale tbody")];
  const configured = panels.length ? [...panels[0].rows].map((row) => row.dataset.model) : [];

  function sort() {
    const by = panels[order.value];
    const value = by ? Object.fromEntries([...by.rows].map((row) => [row.dataset.model, Number(row.dataset.order || "-Infinity")])) : {};
    const models = by ? [...configured].sort((a, b) => (value[b] ?? -Infinity) - (value[a] ?? -Infinity)) : configured;
    for (const body of panels) {
      const rows = Object.fromEntries([...body.rows].map((row) => [row.dataset.model, row]));
      body.append(...models.filter((model) => rows[model]).map((model) => rows[model]));
    }
    atlas.hash.write({ order: order.value });
  }

  if (order) {
    order.value = atlas.hash.read().order || "";
    if (order.value) sort();
    order.addEventListener("change", sort);
  }
  for (const kind of ["mouseover", "focusin"]) {
    document.querySelector(".panels")?.addEventListener(kind, (event) => {
      const model = event.target.closest("tr")?.dataset.model;
      for (const body of panels) for (const row of body.rows) row.classList.toggle("lit", row.dataset.model === model);
    });
  }
})();
