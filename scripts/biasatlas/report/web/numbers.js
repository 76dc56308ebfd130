"use strict";
// The matrix: sort by column, find a model, filter by state, tick two models to compare.
(() => {
  const table = document.getElementById("matrix");
  const find = document.getElementById("find");
  const state = document.getElementById("state");
  const compare = document.getElementById("compare");
  const shown = document.getElementById("shown");
  const wanted = atlas.hash.read();
  const [column, way] = (wanted.order || "").split(" ");
  const grid = new jQuery.fn.dataTable.Api(
    jQuery(table).DataTable({
      paging: false, info: false, order: way ? [[Number(column), way]] : [], autoWidth: false, titleRow: 1,
      language: { zeroRecords: "No model matches." },
      layout: { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null },
    }),
  );

  // The address can reopen the view.
  function tell() {
    atlas.hash.write({
      q: find.value, state: state.value, order: grid.order().map((by) => by.join(" "))[0],
      scale: document.querySelector("[name=scale]:checked").id.replace("scale-", "").replace("raw", ""),
      pick: [...table.querySelectorAll(".pick:checked")].map((box) => box.value).join(" "),
    });
  }

  jQuery.fn.dataTable.ext.search.push((settings, texts, place) => {
    const shown = settings.aoData[place].nTr;
    const name = shown.cells[0].textContent.toLowerCase();
    const kept = state.value;
    return name.includes(find.value.trim().toLowerCase()) && (!kept || shown.querySelector(`td.${kept}`) !== null);
  });
  find.value = wanted.q || "";
  state.value = wanted.state || "";
  for (const box of table.querySelectorAll(".pick")) box.checked = (wanted.pick || "").split(" ").includes(box.value);
  if (wanted.scale) document.getElementById(`scale-${wanted.scale}`).checked = true;
  addEventListener("hashchange", () => location.reload());
  find.addEventListener("input", () => grid.draw());
  state.addEventListener("change", () => grid.draw());
  document.querySelector(".scales").addEventListener("change", tell);

  function picked() {
    const boxes = [...table.querySelectorAll(".pick:checked")];
    const [some, all] = ["applied", "none"].map((search) => grid.rows({ search }).count());
    shown.textContent = `${some < all ? `${some} of ` : ""}${all} model${all === 1 ? "" : "s"}${boxes.length ? `, ${boxes.length} ticked` : ""}${all > 1 && boxes.length !== 2 ? "; tick two to compare them" : ""}`;
    compare.hidden = boxes.length !== 2;
    if (boxes.length === 2) {
      compare.href = `${document.body.dataset.here}compare.html#a=${boxes[0].value}&b=${boxes[1].value}`;
    }
  }
  jQuery(table).on("change draw.dt", () => { tell(); picked(); });
  grid.draw();
})();
