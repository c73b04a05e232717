// Why an item is suggested: score = by itself + what each item adds + the items together, as bars to both sides of an axis.

import { el, figure, percent } from "./dom.js";

const MOST = 8;

export function why(reason, scoreIs) {
  const { prior, shares, rest, hidden, score, probability } = reason;
  const sum = (parts) => parts.reduce((total, part) => total + part.share, 0);
  const bySize = (parts) => [...parts].sort((a, b) => Math.abs(b.share) - Math.abs(a.share));
  const seen = bySize(shares.filter((part) => part.share !== 0));
  const rows = [["by itself", prior, "plain"]];
  rows.push(...seen.slice(0, MOST).map((part) => [part.title, part.share, "share"]));
  if (seen.length > MOST) rows.push([`${seen.length - MOST} more items`, sum(seen.slice(MOST)), "share"]);
  if (Math.abs(rest) > 1e-6 * Math.max(1, Math.abs(score))) {
    rows.push(["the items together", rest, "plain"]);
    const inside = bySize(hidden).filter((part) => part.share !== 0).slice(0, MOST);
    rows.push(...inside.map((part) => [`of it through ${part.title}`, part.share, "part"]));
  }
  const widest = Math.max(...rows.map(([, value]) => Math.abs(value)), 1e-9);
  const table = el("dl", { class: "parts" });
  for (const [name, value, kind] of rows) {
    const bar = el("i", { class: value < 0 ? "down" : "up" });
    bar.style.width = `${(50 * Math.abs(value)) / widest}%`;
    table.append(
      el("dt", { class: kind }, name),
      el("dd", { class: kind }, el("span", { class: "axis", "aria-hidden": "true" }, bar), el("b", {}, figure(value, true, widest))),
    );
  }
  return el("div", {}, table, el("p", { class: "sum" }, ...summed(score, probability, scoreIs)));
}

function summed(score, probability, scoreIs) {
  if (probability === null || probability === undefined) return ["In all ", el("b", {}, figure(score)), ` (${scoreIs}).`];
  const plain = 1 / (1 + Math.exp(-score));
  const mended = Math.abs(plain - probability) > 0.001 ? ", calibrated" : "";
  return ["In all ", el("b", {}, figure(score)), " of log-odds: a probability of ", el("b", {}, percent(probability)), `${mended}.`];
}
