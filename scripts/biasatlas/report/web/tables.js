"use strict";
// Tables whose first rows are in the page: all rows are loaded, to sort and search, once their details are open.
(() => {
  const plain = jQuery.fn.dataTable.render.text();

  async function open(table) {
    const key = table.dataset.table;
    delete table.dataset.table;
    const { rows, columns } = await atlas.load(key);
    const data = await atlas.unpackAll(columns);
    const names = Object.keys(data);
    const numeric = (name) => ArrayBuffer.isView(data[name]);
    const caption = table.caption;
    caption.querySelector(".soft")?.remove();
    table.tBodies[0].replaceChildren();
    jQuery(table).DataTable({
      data: Array.from({ length: rows }, (_, place) => names.map((name) => atlas.at(data[name], place) ?? null)),
      columns: names.map((name) => ({
        className: numeric(name) ? "number" : "",
        type: numeric(name) ? "num" : "string",
        render: numeric(name)
          ? { display: atlas.number, filter: atlas.number, sort: (value) => value ?? -Infinity, type: (value) => value ?? -Infinity }
          : { display: plain.display, filter: (value) => value ?? "", sort: (value) => value ?? "", type: (value) => value ?? "" },
      })),
      order: [], pageLength: 15, autoWidth: false, deferRender: true, lengthMenu: [15, 50, 200],
      layout: { topStart: "search", topEnd: null, bottomStart: "info", bottomEnd: "paging" },
      language: { search: "Find" },
    });
    const pages = table.closest(".scroll").querySelector("nav");
    if (pages) pages.ariaLabel = `Pages of ${caption.textContent}`;
  }

  for (const table of document.querySelectorAll("table[data-table]")) {
    const details = table.closest("details");
    if (!details) open(table);
    else details.addEventListener("toggle", () => { if (table.dataset.table) open(table); });
  }
  const wanted = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (wanted?.tagName === "DETAILS") wanted.open = true;
})();
