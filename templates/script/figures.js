// Heatmaps, bars and tables with other numbers than those they came with; drawn just as they were at first.
const TONES = { zero: [250, 247, 240], above: [9, 88, 82], below: [140, 52, 18], none: [150, 150, 150] };
const share = (value, largest) => (largest ? Math.min(1, Math.abs(value) / largest) : 0);
const colour = (value, largest) => {
  const hex = (tone) => "#" + tone.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("");
  if (!Number.isFinite(value)) return hex(TONES.none);
  const part = Math.round(share(value, largest) * 40) / 40;
  const end = value > 0 ? TONES.above : TONES.below;
  return hex(TONES.zero.map((zero, i) => zero + (end[i] - zero) * part));
};
const squares = (lines, left, top, side, largest) => {
  const [fills, marks] = [{}, {}];
  const add = (group, tone, path) => {
    group[tone] = (group[tone] || "") + path;
  };
  const reach = Math.max(2, Math.round(side * 0.13));
  lines.forEach((line, row) => line.forEach((value, column) => {
    const [x, y, s] = [left + column * side, top + row * side, side - 1];
    const [cx, cy] = [x + Math.floor(s / 2), y + Math.floor(s / 2)];
    add(fills, colour(value, largest), `M${x} ${y}h${s}v${s}h-${s}z`);
    if (!Number.isFinite(value)) add(marks, "mark", `M${cx - reach} ${cy - reach}l${2 * reach} ${2 * reach}m0-${2 * reach}l-${2 * reach} ${2 * reach}`);
    else if (value) {
      const upright = value > 0 ? `m-${reach}-${reach}v${2 * reach}` : "";
      add(marks, share(value, largest) > 0.5 ? "mark pale" : "mark", `M${cx - reach} ${cy}h${2 * reach}${upright}`);
    }
  }));
  return [
    ...Object.entries(fills).map(([fill, d]) => draw("path", { fill, d })),
    ...Object.entries(marks).map(([tone, d]) => draw("path", { class: tone, d })),
  ];
};
const finite = (values) => values.filter(Number.isFinite);
const largestOf = (values) => finite(values).reduce((most, v) => Math.max(most, Math.abs(v)), 0);
const paintHeatmap = (svg, lines, largest) => {
  const [left, top, side] = svg.dataset.frame.split(" ").map(Number);
  all("path", svg).forEach((path) => path.remove());
  svg.append(...squares(lines, left, top, side, largest));
  const cursor = one(".cursor", svg);
  if (cursor) svg.append(cursor);
};
// A heatmap of its own, with places counted along both axes.
const heatmap = (lines, largest, words) => {
  const side = Math.max(12, Math.min(40, Math.floor(600 / Math.max(1, lines[0].length))));
  const [width, height] = [22 + side * lines[0].length, 20 + side * lines.length];
  const svg = draw("svg", { class: "heatmap", role: "img", "aria-label": words, viewBox: `0 0 ${width} ${height}`, width, height, "data-frame": `20 18 ${side}` });
  const label = (x, y, anchor, text) => {
    svg.append(draw("text", { x, y, "text-anchor": anchor }));
    svg.lastChild.textContent = text;
  };
  if (side >= 16) {
    lines[0].forEach((_, i) => label(20 + i * side + side / 2, 13, "middle", i));
    lines.forEach((_, i) => label(15, 18 + i * side + side / 2 + 4, "end", i));
  }
  svg.append(...squares(lines, 20, 18, side, largest));
  return svg;
};
const extremes = (values) => {
  const kept = finite(values);
  return kept.length ? `Min ${short(Math.min(...kept))} · Max ${short(Math.max(...kept))}` : "No finite value";
};
const scaleWords = (values, largest) => (Math.min(0, ...finite(values)) < 0 ? `Scale −${short(largest)} to ${short(largest)}` : `Scale 0 to ${short(largest)}`);
// Bars from zero on a scale from `low` to `high`.
const along = (value, low, high) => (high > low ? (100 * (value / 2 - low / 2)) / (high / 2 - low / 2) : 0);
const paintBar = (line, value, low, high) => {
  const number = Number.isFinite(value) ? value : 0;
  const [from, to] = [along(0, low, high), along(number, low, high)].sort((a, b) => a - b);
  const [base, bar] = all("rect", line);
  base.setAttribute("x", from === to ? from + "%" : along(0, low, high) + "%");
  bar.setAttribute("x", from + "%");
  bar.setAttribute("width", to - from + "%");
  bar.setAttribute("class", number > 0 ? "above" : number < 0 ? "below" : "at");
};
