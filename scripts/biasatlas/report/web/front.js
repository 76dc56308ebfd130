"use strict";
// The first page: sorts the models, opens the topic that a cell links to, and links sizes to their items.
(() => {
  for (const link of document.querySelectorAll("#sizes tr > td > a")) {
    link.href = `${link.closest("tbody").dataset.to}&a=${link.closest("tr").id.replace(/^q\d+/, "")}`;
  }

  function open() {
    const shown = document.getElementById(location.hash.slice(1));
    const topic = shown && shown.closest("#sizes");
    if (!topic || topic.open) return;
    topic.open = true;
    shown.scrollIntoView();
  }

  addEventListener("hashchange", open);
  open();
  const order = document.getElementById("order");
  if (!order) return;
  const body = document.querySelector(".grid tbody");
  const configured = [...body.rows];

  function sort() {
    const value = (row) => Number(row.cells[Number(order.value) + 1].dataset.order ?? -Infinity);
    body.append(...(order.value ? [...configured].sort((a, b) => value(b) - value(a)) : configured));
    atlas.hash.write({ order: order.value });
  }

  order.value = atlas.hash.read().order || "";
  if (order.value) sort();
  order.addEventListener("change", sort);
})();
