// How a matrix is painted: the twin of web/page/heatmap.py, for numbers that came after the page was made.
// tests/test_heatmap_twins.py holds both together.
/** @typedef {[low: number, high: number]} Scale zero is on it, but where all numbers are near each other and far from zero */
/** @typedef {number[]} Frame left, top, a cell's width and height, and the decimals of the numbers in the cells if there are any */
const TONES = { zero: [250, 247, 240], above: [9, 88, 82], below: [140, 52, 18], none: [150, 150, 150] };
const LEVELS = 40; // steps of colour on each side of zero
const PALE = 0.75; // beyond this part of a scale a cell is so dark that what stands in it is white
// To the nearest integer, halves to the even one, as Python rounds.
const rounded = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));
const share = (value, [low, high]) => {
  if (low <= 0 && high >= 0) {
    const most = Math.max(-low, high);
    return most ? Math.min(1, Math.abs(value) / most) : 0;
  }
  const [near, far] = low > 0 ? [low, high] : [high, low];
  return Math.min(1, Math.max(0, (value - near) / (far - near)));
};
const hex = (tone) => "#" + tone.map((part) => part.toString(16).padStart(2, "0")).join("");
export const colour = (value, scale) => {
  if (!Number.isFinite(value)) return hex(TONES.none);
  const part = rounded(share(value, scale) * LEVELS) / LEVELS;
  const end = value > 0 ? TONES.above : TONES.below;
  return hex(TONES.zero.map((zero, i) => rounded(zero + (end[i] - zero) * part)));
};
// The side of a cell, px, in a picture of so many columns without numbers in its cells.
export const cellSide = (columns) => Math.max(12, Math.min(40, Math.floor(600 / Math.max(1, columns))));
// A number as a cell holds it; whole numbers of a whole array keep all their digits.
export const cellWords = (value, decimals, whole = false) => {
  if (!value && !Number.isNaN(value)) return "0";
  if (!Number.isFinite(value) || whole) return String(value);
  const text = Math.abs(value).toFixed(decimals);
  return value < 0 && Number(text) ? "−" + text : text;
};
// The attributes of the paths and texts that paint lines of numbers.
/** @type {(lines: number[][], frame: Frame, scale: Scale, whole?: boolean) => any[]} */
export const cellPaths = (lines, [left, top, width, height, decimals], scale, whole) => {
  const [fills, marks, texts] = [{}, {}, []];
  const add = (group, tone, path) => {
    group[tone] = (group[tone] || "") + path;
  };
  const reach = Math.max(2, rounded(Math.min(width, height) * 0.13));
  const [w, h] = [width - 1, height - 1];
  lines.forEach((line, row) => line.forEach((value, column) => {
    const [x, y] = [left + column * width, top + row * height];
    const [cx, cy] = [x + Math.floor(w / 2), y + Math.floor(h / 2)];
    const pale = Number.isFinite(value) && share(value, scale) > PALE ? " pale" : "";
    add(fills, colour(value, scale), `M${x} ${y}h${w}v${h}h-${w}z`);
    if (decimals !== undefined) texts.push({ class: "cell" + pale, x: cx, y: cy + 4, words: cellWords(value, decimals, whole) });
    else if (!Number.isFinite(value)) add(marks, "mark", `M${cx - reach} ${cy - reach}l${2 * reach} ${2 * reach}m0-${2 * reach}l-${2 * reach} ${2 * reach}`);
    else if (value) add(marks, "mark" + pale, `M${cx - reach} ${cy}h${2 * reach}${value > 0 ? `m-${reach}-${reach}v${2 * reach}` : ""}`);
  }));
  return [...Object.entries(fills).map(([fill, d]) => ({ fill, d })), ...Object.entries(marks).map(([tone, d]) => ({ class: tone, d })), ...texts];
};
