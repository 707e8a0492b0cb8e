"use strict";

// The point nearest to (x, y), of those at [x, y] in `places`.
function nearest(places, x, y) {
  let best = 0, least = Infinity;
  places.forEach(([px, py], i) => {
    const distance = (px - x) ** 2 + (py - y) ** 2;
    if (distance < least) [best, least] = [i, distance];
  });
  return best;
}

// Values from `low` to `high` onto pixels from `from` to `to`.
function scale(low, high, from, to) {
  return value => from + (value - low) / (high - low || 1) * (to - from);
}

// Some five round numbers from `low` to `high`.
function ticks(low, high) {
  const rough = (high - low) / 5 || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find(each => each * power >= rough) * power, list = [];
  for (let value = Math.ceil(low / step) * step; value <= high * (1 + 1e-9); value += step) list.push(value);
  return list;
}

function drawPoints(root) {
  const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
  const svg = root.querySelector("svg"), chosen = root.querySelector(".chosen"), points = data.points;
  const [left, right, top, bottom] = [52, 710, 12, 335];
  const draw = (name, attributes, words, parent = svg) => {
    const element = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (words !== undefined) element.textContent = words;
    return parent.appendChild(element);
  };
  const times = [...points.map(point => point.us), data.dense_us], ratios = points.map(point => point.shown_db);
  const x = scale(Math.min(...times), Math.max(...times), left + 8, right - 8);
  const y = scale(Math.min(0, ...ratios), Math.max(...ratios), bottom - 8, top + 8);
  for (const value of ticks(Math.min(...times), Math.max(...times))) {
    draw("line", {x1: x(value), x2: x(value), y1: top, y2: bottom, class: "rule"});
    draw("text", {x: x(value), y: bottom + 16, "text-anchor": "middle"}, +value.toPrecision(6));
  }
  for (const value of ticks(Math.min(0, ...ratios), Math.max(...ratios))) {
    draw("line", {x1: left, x2: right, y1: y(value), y2: y(value), class: "rule"});
    draw("text", {x: left - 6, y: y(value) + 4, "text-anchor": "end"}, +value.toPrecision(6));
  }
  draw("text", {x: (left + right) / 2, y: bottom + 36, "text-anchor": "middle"},
       "predicted time, us");
  draw("text", {x: 14, y: (top + bottom) / 2, "text-anchor": "middle",
                transform: `rotate(-90 14 ${(top + bottom) / 2})`}, "SNR of y, dB");
  draw("line", {x1: x(data.dense_us), x2: x(data.dense_us), y1: top, y2: bottom, class: "dense"});
  const places = points.map(point => [x(point.us), y(point.shown_db)]);
  draw("polyline", {points: data.front.map(i => places[i].join(",")).join(" "), class: "front"});
  places.forEach(([px, py], i) =>
    draw("circle", {cx: px, cy: py, r: points[i].kind === "paper" ? 6 : 3.5, fill: data.colours[points[i].kind]}));
  const mark = draw("circle", {r: 9, class: "mark", cx: -99, cy: -99});

  let held = false, shown = 0;
  const line = (title, words) => {
    const term = document.createElement("dt"), said = document.createElement("dd");
    term.textContent = title, said.textContent = words;
    return [term, said];
  };
  const show = i => {
    const point = points[shown = i], list = document.createElement("dl"), code = document.createElement("code");
    mark.setAttribute("cx", places[i][0]), mark.setAttribute("cy", places[i][1]);
    list.append(...line("pattern", `${data.kinds[point.kind]}: ${point.mask}`),
                ...line("spectrum removed", `${point.zeros} %, energy kept ${point.energy} %`),
                ...line("SNR of y", point.errors),
                ...line("time", `would take ${point.us} us where all of it takes ${data.dense_us} us, ` +
                                `${(data.dense_us / point.us).toFixed(3)} times as fast (${data.model})`),
                ...line("left", point.left));
    code.textContent = `danaus verify --case ${data.case}_${point.mask}`;
    chosen.replaceChildren(list, spectrum(point), code);
  };
  // Energy of the filters, with what the mask removes over it.
  const spectrum = point => {
    const picture = document.createElementNS(svg.namespaceURI, "svg"), bins = data.energy_db.length;
    picture.setAttribute("viewBox", `0 0 ${bins * 10} 90`);
    picture.setAttribute("class", "spectrum");
    const height = scale(-120, 0, 0, 88);
    data.energy_db.forEach((value, i) => {
      const tall = height(value);
      draw("rect", {x: 10 * i, y: 90 - tall, width: 9, height: tall, class: "energy"}, undefined, picture);
      const removed = 1 - parseInt(point.kept[i], 16) / 15;
      if (removed > 0)
        draw("rect", {x: 10 * i, y: 0, width: 10, height: 90, class: "removed", opacity: 0.6 * removed}, undefined,
             picture);
    });
    return picture;
  };
  const at = event => {
    const box = svg.getBoundingClientRect(), part = 720 / box.width;
    return nearest(places, (event.clientX - box.left) * part, (event.clientY - box.top) * part);
  };
  svg.addEventListener("pointermove", event => { if (!held) show(at(event)); });
  svg.addEventListener("pointerdown", event => {
    const i = at(event);
    held = event.pointerType === "mouse" && !(held && i === shown);
    show(i);
  });
  svg.addEventListener("keydown", event => {
    const step = {ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1}[event.key];
    if (!step) return;
    event.preventDefault();
    const from = data.front.indexOf(shown), last = data.front.length - 1;
    held = true;
    show(data.front[from < 0 ? 0 : Math.min(last, Math.max(0, from + step))]);
  });
  show(data.front[data.start]);
}
