"use strict";
// The explorer: choose a task, one or two models, filters and an order; open a row to read all that is behind it.
(async () => {
  const { make, at, number, hash, kept } = atlas;
  const element = (id) => document.getElementById(id);
  const plain = jQuery.fn.dataTable.render.text().display;
  const { sets, models } = await atlas.load("sets");
  const nameOf = Object.fromEntries(models.map((model) => [model.id, model.name]));
  const ORDERS = {
    adds: "adds most", size: "largest effect", high: "highest score", low: "lowest score", data: "order of the data",
    flips: "flips first", gap: "largest difference", "b-high": "highest score of B", "b-low": "lowest score of B",
  };
  // More fields than this are folded.
  const FEW_FIELDS = 8;
  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
  let store; let grid; let rows; let a; let b; let view; let current = -1; let decimals = 2;

  function asked() {
    const told = hash.read();
    const set = sets.find((one) => one.key === told.set) || sets[0];
    const filters = Object.fromEntries(Object.entries(told).filter(([key]) => key.startsWith("f.")).map(([key, value]) => [key.slice(2), value]));
    return {
      set: set.key, a: set.models.includes(told.a) ? told.a : set.models[0], b: set.models.includes(told.b) ? told.b : "",
      of: (set.adds.find((one) => one.name === told.of) || { name: "" }).name, q: told.q || "", status: told.status || "", flips: told.flips || "", sort: ORDERS[told.sort] ? told.sort : usual(told, set),
      filters, row: told.row || "",
    };
  }

  // A reader who came from a headline wants to know which items make it.
  const usual = (told, set) => (told.b ? "flips" : told.of && set.adds.some((one) => one.name === told.of) ? "adds" : "size");

  function parts(other) {
    const { filters, ...rest } = { ...view, ...other };
    return { ...rest, ...Object.fromEntries(Object.entries(filters).map(([key, value]) => [`f.${key}`, value])) };
  }

  const address = (other) => `#${new URLSearchParams(Object.entries(parts(other)).filter(([, value]) => value !== ""))}`;
  const tell = (step) => hash.write(parts({}), step);

  // A row's name: its key columns, joined.
  function nameRow(row) {
    return store.set.shown.key.map((key) => at(store.columns[key], row)).join("|");
  }

  function choice(label, id, options, value, change) {
    const select = make("select", { id }, ...options.map(([key, text]) => make("option", { value: key }, text)));
    select.value = value;
    select.addEventListener("change", () => change(select.value));
    return make("label", {}, `${label} `, select);
  }

  function toolbar() {
    const { set } = store;
    const held = document.activeElement?.id;
    const named = set.models.map((id) => [id, nameOf[id]]);
    const orders = Object.entries(ORDERS).filter(([key]) => (view.b || !/^(b-|gap|flips)/.test(key)) && (view.of || key !== "adds"));
    const filters = store.filters.map((name) => choice(name.replaceAll("_", " "), `filter-${name}`,
      [["", "all"], ...store.columns[name].labels.map((label) => [label, label])], view.filters[name] || "",
      (value) => { if (value) view.filters[name] = value; else delete view.filters[name]; draw(); }));
    const find = make("input", { type: "search", id: "find", autocomplete: "off" });
    find.value = view.q;
    let waiting;
    find.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => { view.q = find.value.trim(); draw(false); }, 120); });
    const flips = make("input", { type: "checkbox", id: "flips" });
    flips.checked = Boolean(view.flips);
    flips.addEventListener("change", () => { view.flips = flips.checked ? "1" : ""; draw(); });
    element("tools").replaceChildren(
      choice("Task", "set", sets.map((one) => [one.key, one.title]), set.key, (value) => { hash.write({ set: value, a: view.a, b: view.b }, true); start(); }),
      choice(view.b ? "Model A" : "Model", "model-a", named, view.a, (value) => { view.a = value; models_(); }),
      choice(view.b ? "Model B" : "beside", "model-b", [["", "none"], ...named], view.b, (value) => { view.b = value; view.sort = value ? "flips" : "size"; models_(); }),
      make("label", {}, "Find ", find),
      choice("Order", "sort", orders, view.sort, (value) => { view.sort = value; draw(); }),
      choice("Status", "status", [["", "all"], ...atlas.STATUSES.slice(0, -1).map((s) => [s, s.replaceAll("_", " ")])], view.status, (value) => { view.status = value; draw(); }),
      ...(view.b ? [make("label", {}, flips, " only flips")] : []),
      ...(filters.length ? [make("details", { class: "filters", open: Object.keys(view.filters).length > 0 || innerWidth > 960 }, make("summary", {}, "Filters"), make("div", { class: "tools" }, ...filters))] : []));
    // Keyboard users stay at the control that they used.
    if (held && element("tools").contains(element(held))) element(held).focus();
  }

  // The largest score in size: it sets the decimals of all, so that numbers align.
  function largest(model) {
    let top = 0;
    for (const value of model.score) if (Math.abs(value) > top) top = Math.abs(value);
    return top;
  }

  function score(model, row, value = model.score[row]) {
    if (value === undefined || Number.isNaN(value)) return (atlas.STATUSES[model.status[row]] || "not there").replaceAll("_", " ");
    const shown = decimals < 0 ? compact.format(value) : value.toFixed(decimals).replace(/^-(?=[0.]+$)/, "");
    return (value > 0 && store.set.shown.neutral === 0 && Number(shown) !== 0 ? `+${shown}` : shown).replace("-", "−");
  }

  function table() {
    grid?.destroy();
    const { set } = store;
    const narrow = innerWidth < 640;
    const columns = [{ name: "a", title: view.b ? "model A" : "score", share: narrow ? 24 : 9, className: "number" }];
    if (view.b) columns.push({ name: "b", title: "model B", share: narrow ? 24 : 9, className: "number" });
    if (view.b && !narrow) columns.push({ name: "gap", title: "A − B", share: 9, className: "number" });
    const adds = view.of && !view.b ? store.adds(view, a) : null;
    if (adds) columns.unshift({ name: "adds", title: "adds", share: narrow ? 24 : 9, className: "number" });
    const told = store.filters.filter((name) => !/_id$|^template$/.test(name));
    for (const name of narrow ? [] : told.slice(0, view.b ? 2 : 3)) columns.push({ name: `c.${name}`, title: name.replaceAll("_", " "), share: 12 });
    columns.push({ name: "text", title: "text", className: "text", share: 100 - columns.reduce((sum, column) => sum + column.share, 0) });
    const host = make("table", { class: "data" });
    element("grid").replaceChildren(host);
    const value = (name, row) => {
      if (name === "adds") return Number.isNaN(adds[row]) ? "nothing" : score(a, row, adds[row]);
      if (name === "a") return score(a, row);
      if (name === "b") return score(b, row);
      if (name === "gap") return Number.isNaN(a.score[row] - b.score[row]) ? "" : score(a, row, a.score[row] - b.score[row]);
      if (name === "text") return store.text(row);
      return at(store.columns[name.slice(2)], row) ?? "";
    };
    grid = jQuery(host).DataTable({
      serverSide: true, processing: false, ordering: false, autoWidth: false, scrollY: narrow ? "60vh" : "calc(100vh - 19rem)", scrollCollapse: false,
      scroller: { rowHeight: 48, displayBuffer: 4 }, layout: { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null },
      ajax: (request, callback) => {
        const part = Array.from(rows.subarray(request.start, request.start + Math.max(request.length, 1)));
        callback({ draw: request.draw, recordsTotal: set.rows, recordsFiltered: rows.length, data: part });
      },
      columns: columns.map((column, place) => ({
        title: plain(column.title), width: `${column.share}%`, className: column.className || "", data: null,
        render: (row) => (place ? plain(value(column.name, row)) : ""),
      })),
      rowCallback: (line, row) => {
        // Cells are filled as text; the first is a link, so that a keyboard reaches each row.
        const shown = value(columns[0].name, row);
        const first = make("a", { href: address({ row: nameRow(row) }), "aria-label": `${shown}, open item` }, shown);
        first.addEventListener("click", (event) => { event.preventDefault(); event.stopPropagation(); open(row, "opened"); });
        line.cells[0].replaceChildren(first);
        const last = line.cells[line.cells.length - 1];
        const text = make("div", { class: "clamp", lang: set.language }, value("text", row));
        last.replaceChildren(text);
        line.dataset.row = row;
        line.classList.toggle("current", row === current);
        line.onclick = () => open(row, "opened");
        line.style.cursor = "pointer";
      },
      language: { emptyTable: "No row matches.", zeroRecords: "No row matches." },
    });
    // Scrolling redraws all rows: the focus stays on its row.
    let held;
    grid.on("preDraw", () => { held = document.activeElement.closest("#grid tr")?.dataset.row; });
    grid.on("draw", () => { if (held) linkOf(held)?.focus({ preventScroll: true }); });
    const body = element("grid").querySelector(".dt-scroll-body");
    body?.setAttribute("tabindex", "0");
    body?.setAttribute("role", "region");
    body?.setAttribute("aria-label", "Rows");
  }

  // How the headline follows from what items add.
  function added() {
    const one = store.set.adds.find((each) => each.name === view.of);
    if (!one?.of[view.a] || view.b) return "";
    const [mean, value] = one.of[view.a].map((each) => number(each).replace("-", "−"));
    return ` An item adds its distance from no bias to “${one.name}” (${one.unit}): on average ${mean} over the items`
      + (mean === value ? ", which is the headline's." : `; the headline has ${value}, since it weighs items differently, adds what two sides show, or adjusts for how likely the words are by themselves.`);
  }

  function draw(step = true) {
    rows = store.rows(view, a, b);
    tell(step);
    const { set } = store;
    const { shown } = set;
    const what = shown.minus ? `${shown.score} minus ${shown.minus}` : shown.score;
    element("told").textContent = `${rows.length.toLocaleString("en")} of ${set.rows.toLocaleString("en")} rows. The score is ${what.replaceAll("_", " ")}${shown.unit ? `, ${shown.unit}` : ""}; a row counts by its distance from ${number(shown.neutral)}.`
      + added()
      + (set.kept < set.items ? ` Prompts and answers are kept for the ${set.kept.toLocaleString("en")} items that count most.` : "");
    grid.ajax.reload(null, true);
  }

  async function models_(step = true) {
    a = await store.model(view.a);
    b = view.b ? await store.model(view.b) : null;
    const top = Math.max(...[a, b].filter(Boolean).map(largest));
    decimals = top >= 1e5 ? -1 : top >= 100 ? 1 : top >= 10 ? 2 : top >= 1 ? 3 : 4;
    toolbar();
    rows = store.rows(view, a, b);
    table();
    draw(step);
    if (current >= 0) open(current);
  }

  async function start() {
    view = asked();
    current = -1;
    element("split").classList.remove("open");
    if (store?.set.key !== view.set) store = await atlas.Store.open(sets.find((one) => one.key === view.set));
    await models_(false);
    if (view.row) {
      for (let row = 0; row < store.set.rows; row += 1) if (nameRow(row) === view.row) { await open(row); break; }
    }
    document.body.dataset.ready = "yes";
  }

  const said = (role, text, parts) => make("div", { class: "said", lang: store.set.language }, role ? make("span", { class: "role" }, role) : "",
    ...(parts ? parts.map(([words, differs], place) => (differs ? make("mark", { class: parts.side }, words) : words)) : [text]));

  function prompt(request) {
    const shown = [];
    if (request.messages) for (const message of JSON.parse(request.messages)) shown.push([message.role, message.content]);
    if (request.prefix) shown.push(["before it", request.prefix]);
    if (request.continuation) shown.push(["the text whose likelihood is asked", request.continuation]);
    return shown;
  }

  function masses(answer, labels) {
    if (answer.masses) return answer.masses.map((mass, place) => `${labels[place] ?? place + 1} ${number(mass)}`).join(", ");
    return answer.probabilities ?? "";
  }

  // An answer in lines of text: reply, probabilities of options and of none, likelihood.
  function answered(answer, labels) {
    const words = [];
    if (answer.text !== undefined) words.push(answer.text);
    if (answer.masses || answer.probabilities) words.push(masses(answer, labels));
    for (const name of ["refused", "ambiguous", "unparseable", "unresolved"]) if (answer[name] >= 0.0005) words.push(`${name} ${number(answer[name])}`);
    if (answer.log_likelihood !== undefined) words.push(`log-likelihood ${number(answer.log_likelihood)}${answer.tokens ? ` over ${answer.tokens} tokens` : ""}`);
    const mean = answer.nll_per_token ?? -answer.log_likelihood / answer.tokens;
    if (Number.isFinite(mean)) words.push(`${number(-mean)} a token`);
    if (answer.replies) for (const [status, text] of JSON.parse(answer.replies).slice(0, 10)) words.push(`${status}: ${text}`);
    if (answer.status !== "ok") words.push(`${answer.status.replaceAll("_", " ")}${answer.detail ? `: ${answer.detail}` : ""}`);
    return words.join("\n");
  }

  function comparedTexts(parts) {
    // The two fields of a row's only item whose texts are compared, or null.
    const { texts } = store.set.shown;
    const [first, second] = parts;
    if (second) return null;
    const two = ["more", "less"].every((name) => first.fields[name]) ? ["more", "less"]
      : ["stereotype", "anti-stereotype"].every((name) => first.fields[name]) ? ["stereotype", "anti-stereotype"] : null;
    return two && texts.includes(two[0]) ? two : null;
  }

  // A JSON list of texts, joined by commas; other values unchanged.
  function plainly(value) {
    let list;
    try { list = JSON.parse(value); } catch { return String(value); }
    return Array.isArray(list) && list.every((one) => typeof one === "string") ? list.join(", ") : String(value);
  }

  function fieldList(parts) {
    const list = make("dl", {});
    const pair = comparedTexts(parts);
    const marked = {};
    if (pair) {
      const split = atlas.differ(parts[0].fields[pair[0]], parts[0].fields[pair[1]]);
      pair.forEach((name, side) => { marked[name] = split[side]; marked[name].side = "ab"[side]; });
    }
    const names = [...new Set(parts.flatMap((part) => Object.keys(part.fields)))].filter((name) => !/^(variations_|row$)/.test(name));
    for (const name of names) {
      const values = parts.map((part) => part.fields[name]);
      const one = values.every((value) => value === values[0]);
      const show = (value) => (marked[name] ? make("span", {}, ...marked[name].map(([words, differs]) => (differs ? make("mark", { class: marked[name].side }, words) : words))) : plainly(value ?? "–"));
      list.append(make("dt", {}, name.replaceAll("_", " ")), make("dd", { lang: store.set.language }, ...(one ? [show(values[0])] : [make("mark", { class: "a" }, show(values[0])), " / ", make("mark", { class: "b" }, show(values[1]))])));
    }
    return list;
  }

  function requestBlock(part, request, other, chosen) {
    const labels = request.labels ? JSON.parse(request.labels) : [];
    const keys = Object.entries(request).filter(([name, value]) => !["request", "messages", "prefix", "continuation", "labels", "change", "pair"].includes(name) && value !== undefined && value !== "");
    const shown = prompt(request);
    const against = other ? prompt(other) : null;
    const texts = shown.map(([role, text], place) => {
      const twin = against?.[place]?.[1];
      if (!twin || twin === text) return said(role, text);
      const [left, right] = request.request <= other.request ? atlas.differ(text, twin) : atlas.differ(twin, text).reverse();
      const mine = request.request <= other.request ? left : left;
      mine.side = other.second ? "a" : "b";
      return said(role, text, mine);
    });
    const lines = chosen.flatMap((model, place) => part.answers[place].by(request.request).map((answer, repeat, all) => make("tr", {},
      make("td", {}, `${nameOf[model]}${all.length > 1 ? ` · ${repeat + 1}` : ""}`), make("td", { class: "text", lang: store.set.language }, answered(answer, labels), answer.token_log_likelihoods && atlas.tokens(answer.token_log_likelihoods)))));
    return make("div", {}, make("h3", {}, keys.map(([name, value]) => (name === "request_id" ? value : `${name.replaceAll("_", " ")} ${plainly(value)}`)).join(" · ")),
      ...texts, make("table", { class: "data" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "model"), make("th", { scope: "col" }, "answer"))), make("tbody", {}, ...lines)));
  }

  // The link of a row; null if it is not drawn.
  function linkOf(row) {
    return element("grid").querySelector(`tr[data-row="${row}"] a`);
  }

  function shut() {
    const row = current;
    current = -1;
    view.row = "";
    tell(true);
    element("split").classList.remove("open");
    grid.columns.adjust();
    (linkOf(row) || element("grid").querySelector(".dt-scroll-body")).focus();
  }

  // `by` says how a reader came to the row: "opened", or by a "step" to the previous or next; empty if it is redrawn.
  async function open(row, by = "") {
    const held = document.activeElement?.textContent;
    current = row;
    view.row = nameRow(row);
    tell(by === "opened");
    const chosen = [view.a, view.b].filter(Boolean);
    const { parts, scores } = await atlas.behind(store, row, chosen);
    if (current !== row) return;
    if (!element("split").classList.contains("open")) {
      element("split").classList.add("open");
      grid.columns.adjust();
    }
    const place = rows.indexOf(row);
    const step = (by, text) => make("button", { type: "button", disabled: rows[place + by] === undefined, on: { click: () => { open(rows[place + by], "step"); } } }, text);
    const copy = make("button", { type: "button", on: { click: async () => { try { await navigator.clipboard.writeText(location.href); copy.textContent = "Copied"; } catch { copy.textContent = "Copy the address above"; } } } }, "Copy link");
    const close = make("button", { type: "button", "aria-label": "Close the item", title: "Escape", on: { click: shut } }, "Close");
    const scoreTable = (...lines) => make("table", { class: "data" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "score"), ...chosen.map((model) => make("th", { scope: "col", class: "number" }, nameOf[model])))),
      make("tbody", {}, ...lines.map(([name, ...values]) => make("tr", {}, make("td", {}, name), ...values.map((value) => make("td", { class: "number" }, value))))));
    const counted = scoreTable(["counts as", ...[a, b].filter(Boolean).map((model) => score(model, row))]);
    const madeFrom = [...new Set(scores.flatMap(Object.keys))].map((name) => [name.replaceAll("_", " "), ...scores.map((told) => number(told[name]))]);
    const fields = fieldList(parts);
    const blocks = parts.flatMap((part, which) => part.asked.map((request, index) => {
      const twin = parts.length > 1 ? parts[1 - which].asked[index] : undefined;
      return requestBlock(part, request, twin && { ...twin, second: which === 0 }, chosen);
    }));
    const judged = parts.flatMap((part) => part.answers.flatMap((answer, which) => answer.judged.map((grade) => {
      const told = answered(grade, grade.labels ? JSON.parse(grade.labels) : []);
      return make("details", {},
        make("summary", {}, `${nameOf[chosen[which]]}, judged: ${[grade.criterion, grade.answer && `answer ${Number(grade.answer) + 1}`].filter(Boolean).join(", ")}: ${told.split("\n")[0].slice(0, 60)}`),
        ...(grade.messages ? JSON.parse(grade.messages).map((message) => said(message.role, message.content)) : []),
        said("the judge", told));
    })));
    const settings = parts[0]?.settings ? Object.entries(parts[0].settings).filter(([, value]) => value !== null && value !== "") : [];
    element("item").replaceChildren(make("h2", {}, view.row.replaceAll("|", " · ")), make("div", { class: "steps" }, step(-1, "Previous"), step(1, "Next"), copy, close),
      make("h3", {}, "What was asked, and answered"), ...blocks,
      ...(judged.length ? [make("h3", {}, "A judge's grades"), ...judged] : []),
      make("h3", {}, "How it counts"), make("p", { class: "soft" }, `${place + 1} of ${rows.length} in this order`), counted,
      ...(madeFrom.length ? [make("details", {}, make("summary", {}, "What the score is made from"), scoreTable(...madeFrom))] : []),
      make("details", { open: fields.children.length <= 2 * FEW_FIELDS }, make("summary", {}, "The item's fields"), fields),
      ...(settings.length ? [make("p", { class: "soft" }, settings.map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`).join(", "))] : []));
    element("item").scrollTop = 0;
    const pressed = [...element("item").querySelectorAll(".steps button")].find((button) => button.textContent === held && !button.disabled);
    if (by) (by === "step" && pressed ? pressed : element("item")).focus();
    for (const line of element("grid").querySelectorAll("tbody tr")) line.classList.toggle("current", line.dataset.row === String(row));
  }

  function reveal() {
    element("notice").hidden = true;
    element("explorer").hidden = false;
    return start();
  }
  element("split").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && current >= 0) shut();
    const line = event.target.closest("#grid tbody tr");
    const next = { ArrowDown: line?.nextElementSibling, ArrowUp: line?.previousElementSibling }[event.key]?.querySelector("a");
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
  element("nothing").hidden = sets.length > 0;
  if (!sets.length) return;
  addEventListener("hashchange", start);
  element("dismiss").addEventListener("click", async () => { kept.set("notice", "seen"); await reveal(); element("main").focus(); });
  if (kept.get("notice") === "seen") reveal();
  else element("notice").hidden = false;
})();
