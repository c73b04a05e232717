// The model's card: what it is, what it learned from, how it learned, and how well it does as far as that was measured.

import { count, el, figure, percent } from "./dom.js";

const W = 420, H = 170, LEFT = 44, DOWN = 26, TOP = 12, RIGHT = 12;

export function card(about) {
  const { model, params, score_is, records, items, fingerprint, library, file, loaded_at, history, measured, calibration } = about;
  const facts = [
    ["Model", model], ["A score is", score_is], ["Items", count(items)], ["Learned from", `${count(records)} records`],
    ["Data's fingerprint", fingerprint?.slice(0, 16)], ["File", file], ["Loaded", when(loaded_at)], ["cooccur", library],
  ].filter(([, value]) => value);
  return [
    el("h2", {}, "The model"), pairs(facts),
    el("h3", {}, "How well it does"), ...accuracy(measured),
    el("h3", {}, "Is a probability true?"), ...truth(measured?.reliability ?? calibration),
    el("h3", {}, "How it learned"), ...learning(history),
    el("details", {}, el("summary", {}, "Parameters"), pairs(Object.entries(params ?? {}))),
  ];
}

const text = (value) => (typeof value === "number" ? (Number.isInteger(value) ? count(value) : figure(value)) : String(value ?? "none"));

function pairs(entries) {
  return el("dl", { class: "facts" }, ...entries.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, text(value))]));
}

function when(moment) {
  const date = typeof moment === "number" ? new Date(1000 * moment) : new Date(moment ?? NaN);
  return Number.isNaN(date.getTime()) ? moment : date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

const unmeasured = (command) => [el("p", { class: "soft" }, "Not measured yet; run ", el("code", {}, command), ".")];

/** A leaderboard if there is one (this model beside its baselines), else whatever was noted. */
function accuracy(measured) {
  if (!measured || !Object.keys(measured).length) return unmeasured("cooccur fit ... --measure");
  const rows = measured.summary ?? measured.rows;
  if (!Array.isArray(rows) || !rows.length)
    return [pairs(Object.entries(measured).filter(([, value]) => value !== null && typeof value !== "object"))];
  const shown = [["Top@1", "top1"], ["Top@10", "top10"], ["MRR", "mrr"]]
    .map(([name, key]) => [name, (row) => row[`${key}_mean`] ?? row[key]])
    .filter(([, value]) => rows.some((row) => value(row) !== undefined && value(row) !== null));
  const cell = (value) => (typeof value === "number" ? value.toFixed(2) : "");
  return [el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "model"), ...shown.map(([name]) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {},
      el("th", { scope: "row" }, row.label ?? row.model), ...shown.map(([, value]) => el("td", {}, cell(value(row)))))))),
    el("p", { class: "soft" }, `Percent of ${measured.removals ? count(measured.removals) + " " : ""}removed items that were found again, by a model that had not seen their records.`)];
}

/** The reliability curve, wherever it lies in what was measured; else what the calibration does to a probability. */
function truth(calibration) {
  if (!calibration) return unmeasured("cooccur fit ... --measure");
  const curve = findCurve(calibration);
  if (curve) {
    const most = Math.max(...curve.predicted, ...curve.observed, 0.01);
    const said = curve.predicted.map((p, at) => [p, curve.observed[at]]);
    return [chart({ lines: [{ points: [[0, 0], [most, most]], kind: "ideal" }, { points: said, kind: "one", dots: true }],
      x: "said", y: "came true", form: percent, label: "Reliability curve: what was said against what came true" }),
    el("p", { class: "soft" }, "On the thin line what is said comes true exactly as often.")];
  }
  const line = calibration.given_rest;
  if (!Array.isArray(line) || line.length !== 2) return [el("p", { class: "soft" }, "The probabilities are calibrated.")];
  const chance = (odds) => 1 / (1 + Math.exp(-odds)), points = [];
  for (let odds = -9; odds <= 9; odds += 0.2) points.push([chance(odds), chance(bend(line, odds))]);
  return [chart({ lines: [{ points: [[0, 0], [1, 1]], kind: "ideal" }, { points, kind: "one" }], x: "before", y: "after",
    form: percent, label: "What the calibration makes of a probability" }),
  el("p", { class: "soft" }, "What the calibration, learned on held-out records, makes of a probability.")];
}

function findCurve(found) {
  if (!found || typeof found !== "object") return null;
  if (Array.isArray(found.predicted) && Array.isArray(found.observed)) return found;
  for (const key of ["questions", "given_rest", "after", "by_prediction", ...Object.keys(found)]) {
    const inside = Array.isArray(found[key]) ? null : findCurve(found[key]);
    if (inside) return inside;
  }
  return null;
}

function bend([x, y], at) {
  const next = x.findIndex((one) => one >= at);
  if (next <= 0) return next < 0 ? y[y.length - 1] : y[0];
  return y[next - 1] + ((y[next] - y[next - 1]) * (at - x[next - 1])) / (x[next] - x[next - 1]);
}

function learning(history) {
  const epochs = history?.epochs;
  if (!Array.isArray(epochs) || !epochs.length) return [el("p", { class: "soft" }, "The file keeps no training history.")];
  const drawn = [];
  for (const [key, name, form] of [["loss", "loss", figure], ["top10", "Top@10 on held-out records, percent", figure]]) {
    const points = epochs.filter((one) => typeof one[key] === "number").map((one) => [one.epoch, one[key]]);
    if (!points.length) continue;
    const kept = points.find(([epoch]) => epoch === history.best);
    drawn.push(chart({ lines: [{ points, kind: "one" }], mark: kept, x: "epoch", y: name, form,
      label: `${name} by epoch, from ${form(points[0][1])} to ${form(points.at(-1)[1])}` }));
  }
  const kept = history.best >= 0 ? `Epoch ${history.best} was kept` : "The last epoch was kept";
  drawn.push(el("p", { class: "soft" }, `${kept}, of ${epochs.length}${history.interrupted ? "; the training was interrupted" : ""}.`));
  return drawn;
}

function chart({ lines, mark, x, y, form, label }) {
  const all = lines.flatMap((line) => line.points);
  const [left, right] = [Math.min(...all.map((p) => p[0])), Math.max(...all.map((p) => p[0]))];
  const [low, high] = [Math.min(...all.map((p) => p[1])), Math.max(...all.map((p) => p[1]))];
  const px = (value) => LEFT + ((W - LEFT - RIGHT) * (value - left)) / (right - left || 1);
  const py = (value) => H - DOWN - ((H - DOWN - TOP) * (value - low)) / (high - low || 1);
  const made = el("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": label, class: "chart" });
  for (const value of [low, (low + high) / 2, high])
    made.append(
      el("line", { x1: LEFT, x2: W - RIGHT, y1: py(value), y2: py(value), class: "grid" }),
      el("text", { x: LEFT - 6, y: py(value) + 3.5, "text-anchor": "end" }, form(value)));
  const whole = (value) => (form === percent ? form(value) : String(Math.round(value)));
  made.append(
    el("text", { x: LEFT, y: H - 8 }, whole(left)), el("text", { x: W - RIGHT, y: H - 8, "text-anchor": "end" }, whole(right)),
    el("text", { x: (LEFT + W - RIGHT) / 2, y: H - 8, "text-anchor": "middle" }, x));
  for (const { points, kind, dots } of lines) {
    made.append(el("path", { d: "M" + points.map((p) => `${px(p[0]).toFixed(1)} ${py(p[1]).toFixed(1)}`).join("L"), class: kind }));
    if (dots) for (const p of points) made.append(el("circle", { cx: px(p[0]), cy: py(p[1]), r: 2.5, class: kind }));
  }
  if (mark) made.append(el("circle", { cx: px(mark[0]), cy: py(mark[1]), r: 4.5, class: "kept" }, el("title", {}, "kept")));
  return el("figure", {}, el("figcaption", {}, y), made);
}
