"use strict";
// On every page: data loaded as scripts, the theme, and elements shown only where scripts run.
window.atlas = (() => {
  const slots = new Map();

  function slot(key) {
    if (!slots.has(key)) {
      const made = { asked: false };
      made.value = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
      slots.set(key, made);
    }
    return slots.get(key);
  }

  // Each file in data/ calls this with its value.
  function put(key, value) {
    slot(key).resolve(value);
  }

  // The value in data/{key}.js. A page from disk cannot fetch it, but can add a script.
  function load(key) {
    const made = slot(key);
    if (!made.asked) {
      made.asked = true;
      const script = document.createElement("script");
      script.src = `${document.body.dataset.here}data/${key.split("/").map(encodeURIComponent).join("/")}.js`;
      script.onerror = () => made.reject(new Error(`${key} is not there`));
      script.onload = () => script.remove();
      document.head.append(script);
    }
    return made.value;
  }

  function bytes(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const letters = atob(text);
    const found = new Uint8Array(letters.length);
    for (let place = 0; place < letters.length; place += 1) found[place] = letters.charCodeAt(place);
    return found;
  }

  async function inflated(text) {
    const stream = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(stream).arrayBuffer();
  }

  // A packed column (report/packing.py): numbers in a typed array; text as {labels, codes}, or a list.
  async function unpack([type, data, codes]) {
    if (type === "c") {
      const [labels, places] = await Promise.all([unpack(data), unpack(codes)]);
      return { labels, codes: places };
    }
    const buffer = await inflated(data);
    if (type === "j") return JSON.parse(new TextDecoder().decode(buffer));
    if (type === "b") return new Uint8Array(buffer);
    if (type === "h") return new Uint16Array(buffer);
    if (type === "i") return new Int32Array(buffer);
    const planes = new Uint8Array(buffer);
    const count = planes.length / 4;
    const whole = new Uint8Array(planes.length);
    for (let plane = 0; plane < 4; plane += 1) {
      for (let place = 0; place < count; place += 1) whole[4 * place + plane] = planes[plane * count + place];
    }
    return new Float32Array(whole.buffer);
  }

  async function unpackAll(packed) {
    const names = Object.keys(packed);
    const columns = await Promise.all(names.map((name) => unpack(packed[name])));
    return Object.fromEntries(names.map((name, place) => [name, columns[place]]));
  }

  // A row's value in a column of either form; undefined where it is missing.
  function at(column, place) {
    const value = column.labels ? column.labels[column.codes[place]] : column[place];
    return value === null || Number.isNaN(value) ? undefined : value;
  }

  // Four significant digits, as the written tables have them.
  function number(value) {
    if (value === undefined || value === null || Number.isNaN(value)) return "";
    if (typeof value !== "number") return String(value);
    if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value).replace("-", "−");
    return String(Number(value.toPrecision(4))).replace("-", "−");
  }

  // An element; children are elements or text, never HTML.
  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
      else if (key === "class") element.className = value;
      else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== undefined && child !== null && child !== ""));
    return element;
  }

  const kept = {
    get(key) {
      try { return localStorage.getItem(`atlas.${key}`); } catch { return null; }
    },
    set(key, value) {
      try { localStorage.setItem(`atlas.${key}`, value); } catch { /* a browser may refuse to keep anything */ }
    },
  };

  const dark = matchMedia("(prefers-color-scheme: dark)");
  function theme(chosen) {
    const name = chosen || kept.get("theme") || (dark.matches ? "dark" : "light");
    document.documentElement.classList.toggle("dark", name === "dark");
    document.documentElement.classList.toggle("light", name === "light");
    return name;
  }
  theme();
  dark.addEventListener("change", () => theme());

  // The view, as names and values after #: a link reopens it.
  const hash = {
    read: () => Object.fromEntries(new URLSearchParams(location.hash.slice(1))),
    // With `step`, Back returns to the previous view.
    write(values, step = false) {
      const used = Object.entries(values).filter(([, value]) => value !== "" && value !== undefined && value !== null);
      const told = `#${new URLSearchParams(used)}`;
      if (told === (location.hash || "#")) return;
      if (step) history.pushState(null, "", told);
      else history.replaceState(null, "", told);
    },
  };

  document.addEventListener("DOMContentLoaded", () => {
    for (const element of document.querySelectorAll(".script-only")) element.hidden = false;
    // This link must not change the view, which is stored after #.
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault();
      document.getElementById("main").focus();
    });
    const button = document.getElementById("theme");
    button.hidden = false;
    button.addEventListener("click", () => {
      const other = theme() === "dark" ? "light" : "dark";
      kept.set("theme", other);
      theme(other);
    });
  });

  return { put, load, unpack, unpackAll, at, number, make, kept, hash };
})();
