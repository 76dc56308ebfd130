"use strict";
// Which words (or Chinese characters) of two texts differ: those outside the longest common subsequence.
atlas.differ = (left, right) => {
  const words = (text) => text.match(/[\u2e80-\u9fff\uf900-\ufaff]|[^\s\u2e80-\u9fff]+|\s+/gu) || [];
  const [one, two] = [words(left), words(right)];
  if (one.length * two.length > 4e6) return [[[left, false]], [[right, false]]];
  const width = two.length + 1;
  const longest = new Uint16Array((one.length + 1) * width);
  for (let i = one.length - 1; i >= 0; i -= 1) {
    for (let j = two.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] = one[i] === two[j]
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const parts = [[], []];
  const add = (side, text, differs) => {
    const last = parts[side].at(-1);
    if (last && last[1] === differs) last[0] += text;
    else parts[side].push([text, differs]);
  };
  let [i, j] = [0, 0];
  while (i < one.length || j < two.length) {
    if (i < one.length && j < two.length && one[i] === two[j]) {
      add(0, one[i], false);
      add(1, two[j], false);
      i += 1;
      j += 1;
    } else if (j >= two.length || (i < one.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) {
      add(0, one[i], true);
      i += 1;
    } else {
      add(1, two[j], true);
      j += 1;
    }
  }
  return parts;
};

// A text token by token, the unlikelier the darker; each with its log-likelihood.
atlas.tokens = (told) => atlas.make("p", { class: "tokens" }, ...JSON.parse(told).map(([text, value]) => {
  const token = atlas.make("span", { title: `${atlas.number(value)} nats` }, text, atlas.make("small", {}, value.toFixed(1).replace("-", "−")));
  token.style.setProperty("--unlikely", `${Math.min(100, -10 * value)}%`);
  return token;
}));
