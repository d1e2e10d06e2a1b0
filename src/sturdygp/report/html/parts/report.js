/* Draws the charts, and lets the reader choose theme, axis and order. */
(() => {
  "use strict";

  const PRINTED_WIDTH = 660;
  /* Named one by one: some of Plotly's own buttons send data away. */
  const BUTTONS = ["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"];
  const CONFIG = { displaylogo: false, responsive: true, modeBarButtons: [BUTTONS] };
  const BUTTONS_HEIGHT = 30;
  /* Numbers up to a billion are written out: epochs and frequencies differ in their last digits. */
  const PLAIN = { minexponent: 10, exponentformat: "e" };
  const root = document.documentElement;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)").matches;
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const chosen = {};

  const theme = () => root.dataset.theme ?? (systemDark.matches ? "dark" : "light");

  /* Plotly wants plain colours: the browser resolves the variable. */
  function colour(name) {
    root.style.outlineColor = `var(--${name})`;
    return getComputedStyle(root).outlineColor;
  }

  function painted(trace) {
    const own = colour(trace.meta);
    const edge = { ...trace.marker?.line, color: own };
    return {
      ...trace,
      fillcolor: own,
      line: { ...trace.line, color: own },
      marker: { ...trace.marker, color: own, line: edge },
    };
  }

  /* Only its own side: axes that push each other's margins find no end on a narrow screen. */
  function axis(side, given) {
    const rule = colour("rule");
    /* A title keeps clear of its labels, however long these are. */
    const title = { ...given.title, standoff: 8 };
    return { automargin: side, gridcolor: rule, linecolor: rule, zerolinecolor: rule, ...PLAIN, ...given, title };
  }

  function draw(id, width) {
    const chart = charts[id];
    const node = document.getElementById(id);
    const view = chart.views[chosen[id] ?? 0];
    const data = chart.data.map((trace, index) => painted({ type: "scatter", ...trace, ...view.data[index] }));
    const layout = {
      width,
      autosize: width === undefined,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", size: 13, color: colour("ink") },
      /* The buttons have room of their own: they cover neither the legend nor a line. */
      margin: { l: 50, r: 10, t: BUTTONS_HEIGHT, b: 40 },
      legend: { orientation: "h", yref: "container", yanchor: "top", y: 1 - BUTTONS_HEIGHT / node.clientHeight },
      showlegend: data.length > 1,
      /* No marks between thousands: the tables have none. */
      separators: ".",
      hovermode: "closest",
      hoverlabel: { bgcolor: colour("raised"), bordercolor: colour("soft"), font: { color: colour("ink") } },
      modebar: { color: colour("soft"), activecolor: colour("ink"), bgcolor: "rgba(0,0,0,0)" },
      /* On a touch screen a finger on a chart scrolls the page. */
      dragmode: touch ? false : "zoom",
      xaxis: axis("bottom", { ...chart.xaxis, ...view.xaxis }),
      yaxis: axis("left", chart.yaxis),
    };
    return Plotly.react(node, data, layout, CONFIG);
  }

  function drawAll(width) {
    document.getElementById("theme").textContent = theme() === "dark" ? "Light" : "Dark";
    Object.keys(charts).forEach((id) => draw(id, width));
  }

  function compare(first, second) {
    const [a, b] = [Number(first), Number(second)];
    return Number.isNaN(a) || Number.isNaN(b) ? first.localeCompare(second) : a - b;
  }

  function sort(header) {
    const order = header.ariaSort === "ascending" ? "descending" : "ascending";
    const sign = order === "ascending" ? 1 : -1;
    const body = header.closest("table").tBodies[0];
    const value = (row) => row.cells[header.cellIndex].dataset.value;
    body.append(...[...body.rows].sort((a, b) => sign * compare(value(a), value(b))));
    header.parentElement.querySelectorAll("th").forEach((each) => each.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", order);
  }

  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    drawAll();
  });
  systemDark.addEventListener("change", () => drawAll());
  document.querySelectorAll("select[data-chart]").forEach((select) =>
    select.addEventListener("change", () => {
      chosen[select.dataset.chart] = Number(select.value);
      draw(select.dataset.chart);
    }),
  );
  document.querySelectorAll("thead button").forEach((button) =>
    button.addEventListener("click", () => sort(button.closest("th"))),
  );
  addEventListener("beforeprint", () => {
    root.style.colorScheme = "light";
    drawAll(PRINTED_WIDTH);
  });
  addEventListener("afterprint", () => {
    root.style.colorScheme = "";
    drawAll();
  });
  drawAll();
})();
