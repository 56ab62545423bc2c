// How a matrix is painted: the twin of web/page/heatmap.py, for numbers that came after the page was made.
// tests/test_heatmap_twins.py holds both together.
const TONES = { zero: [250, 247, 240], above: [9, 88, 82], below: [140, 52, 18], none: [150, 150, 150] };
const LEVELS = 40; // steps of colour on each side of zero
// To the nearest integer, halves to the even one, as Python rounds.
const rounded = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));
const share = (value, largest) => (largest ? Math.min(1, Math.abs(value) / largest) : 0);
const hex = (tone) => "#" + tone.map((part) => part.toString(16).padStart(2, "0")).join("");
const colour = (value, largest) => {
  if (!Number.isFinite(value)) return hex(TONES.none);
  const part = rounded(share(value, largest) * LEVELS) / LEVELS;
  const end = value > 0 ? TONES.above : TONES.below;
  return hex(TONES.zero.map((zero, i) => rounded(zero + (end[i] - zero) * part)));
};
// The side of a cell, px, in a picture of so many columns.
export const cellSide = (columns) => Math.max(12, Math.min(40, Math.floor(600 / Math.max(1, columns))));
// The attributes of the paths that paint lines of numbers, the first cell's corner at left and top.
export const cellPaths = (lines, [left, top, side], largest) => {
  const [fills, marks] = [{}, {}];
  const add = (group, tone, path) => {
    group[tone] = (group[tone] || "") + path;
  };
  const reach = Math.max(2, rounded(side * 0.13));
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
  return [...Object.entries(fills).map(([fill, d]) => ({ fill, d })), ...Object.entries(marks).map(([tone, d]) => ({ class: tone, d }))];
};
