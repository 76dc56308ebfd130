"use strict";
// The column store behind the explorer: rows of a task, the scores of one or two models, filters, orders.
atlas.Store = class {
  static async open(set) {
    const { columns, parts, texts } = await atlas.load(`${set.key}/rows`);
    const store = new atlas.Store();
    const [told, places, found] = await Promise.all([
      atlas.unpackAll(columns), Promise.all(parts.map(atlas.unpack)), atlas.unpackAll(texts),
    ]);
    Object.assign(store, { set, columns: told, parts: places, texts: found, models: new Map() });
    return store;
  }

  async model(id) {
    if (!this.models.has(id)) this.models.set(id, await atlas.unpackAll(await atlas.load(`${this.set.key}/${id}`)));
    return this.models.get(id);
  }

  // Columns that a reader may filter by: those with a few values.
  get filters() {
    return Object.entries(this.columns)
      .filter(([, column]) => column.labels && column.labels.length > 1 && column.labels.length <= 80)
      .map(([name]) => name);
  }

  // The first row of each item that adds something, most first.
  adding(rows, adds) {
    const [name] = this.set.shown.key;
    const seen = new Set();
    const first = rows.filter((row) => {
      const item = atlas.at(this.columns[name], row);
      return !Number.isNaN(adds[row]) && !seen.has(item) && seen.add(item);
    });
    return first.sort((x, y) => Math.abs(adds[y]) - Math.abs(adds[x]) || x - y);
  }

  // What each row's item adds to the headline of the view.
  adds(view, model) {
    return model[`adds${this.set.adds.findIndex((one) => one.name === view.of)}`];
  }

  item(row, part = 0) {
    return this.parts[part][row] - 1;
  }

  // The text of a row, as the grid shows it.
  text(row) {
    const item = this.item(row);
    if (item < 0) return "";
    return Object.values(this.texts).map((column) => atlas.at(column, item)).filter(Boolean).join(" · ");
  }

  // For each item, whether each word is in any of its texts; distinct texts are searched once.
  matches(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const found = new Uint8Array(this.set.items);
    const columns = Object.values(this.texts);
    const holds = columns.map((column) => {
      const list = column.labels || column;
      return words.map((word) => Uint8Array.from(list, (text) => (text && text.toLowerCase().includes(word) ? 1 : 0)));
    });
    for (let item = 0; item < found.length; item += 1) {
      found[item] = words.every((_, w) => columns.some((column, c) => {
        const place = column.labels ? column.codes[item] : item;
        return holds[c][w][place] === 1;
      })) ? 1 : 0;
    }
    return found;
  }

  // The rows that a view shows, in its order. Missing scores come last whatever the order.
  rows(view, a, b) {
    const { neutral } = this.set.shown;
    const tests = [];
    for (const [name, value] of Object.entries(view.filters)) {
      const column = this.columns[name];
      if (!column?.labels) continue;
      const code = column.labels.indexOf(value);
      tests.push((row) => column.codes[row] === code);
    }
    if (view.status) {
      const code = atlas.STATUSES.indexOf(view.status);
      tests.push((row) => a.status[row] === code);
    }
    if (view.q) {
      const found = this.matches(view.q);
      const names = Object.values(this.columns).filter((column) => column.labels);
      const query = view.q.toLowerCase();
      const told = names.map((column) => column.labels.map((label) => (label || "").toLowerCase().includes(query)));
      tests.push((row) => found[this.item(row)] === 1 || names.some((column, c) => told[c][column.codes[row]]));
    }
    const flips = (row) => b && (a.score[row] - neutral) * (b.score[row] - neutral) < 0;
    if (view.flips) tests.push(flips);
    const kept = new Int32Array(this.set.rows);
    let count = 0;
    for (let row = 0; row < kept.length; row += 1) {
      if (tests.every((test) => test(row))) kept[count++] = row;
    }
    const rows = kept.subarray(0, count);
    if (view.sort === "adds") return this.adding(rows, this.adds(view, a));
    const keys = this.sortKeys(view.sort, a, b, neutral, flips);
    return keys ? rows.sort((x, y) => keys[x] - keys[y] || x - y) : rows;
  }

  // Sort keys of rows, least first; null for the order of the data.
  sortKeys(sort, a, b, neutral, flips) {
    const by = {
      size: (row) => -Math.abs(a.score[row] - neutral),
      high: (row) => -a.score[row],
      low: (row) => a.score[row],
      "b-high": (row) => -b?.score[row],
      "b-low": (row) => b?.score[row],
      gap: (row) => -Math.abs(a.score[row] - b?.score[row]),
      flips: (row) => -Math.abs(a.score[row] - b?.score[row]) - (flips(row) ? 1e9 : 0),
    }[sort];
    if (!by) return null;
    const keys = new Float64Array(this.set.rows);
    for (let row = 0; row < keys.length; row += 1) {
      const key = by(row);
      keys[row] = Number.isNaN(key) || key === undefined ? Infinity : key;
    }
    return keys;
  }
};

// The statuses of columns.py, in its order; then one for a row that the model lacks.
atlas.STATUSES = ["ok", "ambiguous", "unparseable", "refused", "filtered", "thought", "truncated", "not_applicable", "failed", "not there"];

// What is behind one row: its items, their requests, and each model's answers and scores.
atlas.behind = async (store, row, models) => {
  const { set } = store;
  const parts = await Promise.all(store.parts.map(async (_, part) => {
    const item = store.item(row, part);
    if (item < 0) return null;
    const number = Math.floor(item / set.chunk);
    const place = item - number * set.chunk;
    const texts = await atlas.load(`${set.key}/texts-${number}`);
    texts.open ||= Promise.all([atlas.unpackAll(texts.items), atlas.unpackAll(texts.requests), atlas.unpack(texts.item)]);
    const [items, requests, of] = await texts.open;
    const fields = Object.entries(items).map(([name, column]) => [name, atlas.at(column, place)]).filter(([, value]) => value !== undefined && value !== "");
    const asked = [];
    for (let request = 0; request < of.length; request += 1) {
      if (of[request] !== place || !store.concerns(row, requests, request)) continue;
      const told = Object.fromEntries(Object.entries(requests).map(([name, column]) => [name, atlas.at(column, request)]));
      asked.push({ request, ...told, request_id: `${atlas.at(items.item_id, place)}${told.request_id}` });
    }
    const answers = await Promise.all(models.map(async (model) => atlas.answers(set, model, number, place)));
    return { fields: Object.fromEntries(fields), asked, answers, settings: texts.settings };
  }));
  const scores = await Promise.all(models.map(async (model) => {
    const number = Math.floor(row / set.chunk);
    const packed = await atlas.load(`${set.key}/${model}-scores-${number}`).catch(() => ({}));
    packed.open ||= atlas.unpackAll(packed);
    const columns = await packed.open;
    const place = row - number * set.chunk;
    return Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, atlas.at(column, place)]));
  }));
  return { parts: parts.filter(Boolean), scores };
};

// Whether a request of a row's item is about this row: they agree on the prompt (or group, repeat) if both name one.
atlas.Store.prototype.concerns = function concerns(row, requests, request) {
  for (const [name, column] of Object.entries(requests)) {
    const mine = this.columns[name];
    if (!mine || name === "request_id") continue;
    const [asked, told] = [atlas.at(column, request), atlas.at(mine, row)];
    if (asked !== undefined && told !== undefined && asked !== told) return false;
  }
  return true;
};

// A model's answers to a chunk's requests, and a judge's grades of one item's answers.
atlas.answers = async (set, model, number, place) => {
  const file = await atlas.load(`${set.key}/${model}-${number}`).catch(() => null);
  if (!file) return { by: () => [], judged: [] };
  const opened = async (packed) => {
    const [columns, masses] = await Promise.all([
      atlas.unpackAll(packed.responses), Promise.all((packed.masses || []).map(atlas.unpack)),
    ]);
    return (index) => ({
      ...Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, atlas.at(column, index)])),
      masses: masses.length && !Number.isNaN(masses[0][index]) ? masses.map((mass) => mass[index]) : undefined,
    });
  };
  file.open ||= (async () => {
    const [places, read] = await Promise.all([file.place && atlas.unpack(file.place), opened(file)]);
    const by = places ? new Map() : null;
    places?.forEach((request, index) => by.set(request, [...(by.get(request) || []), index]));
    const judged = file.judged ? { of: await atlas.unpack(file.judged.item), read: await opened(file.judged) } : null;
    return { by, read, judged };
  })();
  const { by, read, judged } = await file.open;
  const grades = [];
  judged?.of.forEach((item, index) => { if (item === place) grades.push(judged.read(index)); });
  // Without places, answers are in the order of requests.
  return { by: (request) => (by ? by.get(request) || [] : [request]).map(read), judged: grades };
};
