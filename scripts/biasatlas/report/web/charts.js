"use strict";
// Charts: drawn when they come into view, redrawn when their width changes, downloaded as pictures.
(() => {
  const [views, widths] = [new Map(), new Map()];
  const options = {
    ast: true, renderer: "svg", actions: false, defaultStyle: false, tooltip: { disableDefaultStyle: true }, logLevel: 1,
  };

  async function draw(element) {
    const said = element.ariaLabel;
    widths.set(element, element.clientWidth);
    element.tabIndex = 0; // a chart of the old width can be scrolled until it is redrawn
    const spec = await atlas.unpack(await atlas.load(element.dataset.chart));
    const wide = spec.layer ? { width: element.clientWidth, autosize: { type: "fit-x", contains: "padding" } } : {};
    // A phone has room for one name in a row; a wide page for many panels, beside the names of the models.
    if (element.clientWidth < 480) spec.config.legend.columns = 1;
    if (spec.facet) {
      spec.columns = Math.max(1, Math.floor((element.clientWidth - 150) / 220));
      spec.spec.width = (element.clientWidth - 150) / spec.columns - 24;
    }
    views.get(element.dataset.chart)?.finalize();
    const { view } = await vegaEmbed(element, { ...spec, ...wide }, options);
    // The element around it is the image, and has its label.
    element.querySelector("svg").setAttribute("aria-hidden", "true");
    Object.assign(element, { role: "img", ariaLabel: said, ariaRoleDescription: null });
    // A chart that is too wide can be scrolled by keyboard.
    element.tabIndex = element.scrollWidth > element.clientWidth ? 0 : -1;
    views.set(element.dataset.chart, view);
  }

  function save(name, url) {
    atlas.make("a", { href: url, download: name }).click();
  }

  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) if (target.clientWidth !== widths.get(target)) draw(target);
  });
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      resized.observe(entry.target);
    }
  }, { rootMargin: "400px" });
  for (const element of document.querySelectorAll("[data-chart]")) seen.observe(element);

  document.addEventListener("click", async (event) => {
    const kind = event.target.dataset?.as;
    if (!kind) return;
    const key = event.target.parentElement.dataset.for;
    const name = `${key.split("/").pop()}.${kind}`;
    if (kind === "svg") {
      const text = await views.get(key).toSVG();
      const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
      save(name, url);
      URL.revokeObjectURL(url);
    } else {
      save(name, await views.get(key).toImageURL("png", 3));
    }
  });
})();
