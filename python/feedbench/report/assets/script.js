// Replaces each drawn figure by the live chart of the same specification: it fits the column and answers the pointer.
// Without this script, or when a chart fails, the drawing stays.
(() => {
  "use strict";
  const NARROW = 520; // CSS pixels; below it legends take two columns and labels less room

  const options = {
    actions: false,
    renderer: "svg", // so that the style sheet can repaint the marks in dark mode
    ast: true, // interpret expressions: the page's policy forbids eval
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  };

  const fitted = (specification, width) => {
    const narrow = width < NARROW;
    const config = specification.config;
    config.legend.columns = narrow ? 2 : Math.min(4, Math.max(2, Math.floor(width / 170)));
    config.legend.labelFontSize = narrow ? 11 : 12;
    config.legend.labelLimit = narrow ? Math.floor(width / 2) - 45 : 200;
    config.legend.columnPadding = narrow ? 8 : 18;
    config.axisY.labelLimit = narrow ? Math.floor(width * 0.36) : 220;
    config.axis.labelFontSize = narrow ? 11 : 12;
    config.text.fontSize = narrow ? 9 : 11;
    if (narrow) {
      config.axisTop.labelAngle = -90; // a slanted name would leave the screen
      specification.padding = { left: 2, top: 4, right: 4, bottom: 4 };
    }
    return specification;
  };

  const draw = async (box) => {
    const width = box.clientWidth;
    if (width === 0 || box.dataset.width === String(width)) return;
    box.dataset.width = String(width);
    const specification = fitted(JSON.parse(box.parentElement.querySelector("script").textContent), width);
    const holder = document.createElement("div");
    holder.style.width = "100%";
    const drawing = box.firstElementChild;
    box.append(holder);
    holder.style.height = "0";
    try {
      const { view } = await vegaEmbed(holder, specification, options);
      if (box.view) box.view.finalize();
      box.view = view;
      drawing.remove();
      holder.style.height = "";
      box.classList.add("live");
    } catch (error) {
      holder.remove();
      console.error(`the chart ${box.parentElement.id} could not be drawn`, error);
    }
  };

  const boxes = [...document.querySelectorAll(".chart")];
  const seen = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target)),
    { rootMargin: "800px" },
  );
  boxes.forEach((box) => seen.observe(box));

  let pending = 0;
  addEventListener("resize", () => {
    clearTimeout(pending);
    pending = setTimeout(() => boxes.filter((box) => box.view).forEach(draw), 150);
  });

  // A printed page shows every question, open or not.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
})();
