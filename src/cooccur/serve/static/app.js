// The page: a basket, what it lacks and why, the map and the model's card. The basket lives in the address (#i=...),
// so a basket can be shared; the service keeps nothing.

import { Trouble, get, made, post, ready, token } from "./api.js";
import { card } from "./card.js";
import { $, count, el, figure, percent, roundScale } from "./dom.js";
import { ItemMap } from "./map.js";
import { why } from "./why.js";

const STEP = 10, MOST = 50;
const wide = matchMedia("(min-width: 900px)");
const titles = new Map(); // what items are called, as far as the service has told
let basket = [], past = [], future = []; // lists of ids
let like = null; // the item whose companions are shown in place of the completions
let k = STEP, open = null, shown = [], scoreIs = "score", asking = null;

const name = (id) => titles.get(id)?.title ?? id;
const learn = (items) => items.forEach((item) => titles.set(item.id, item));
const say = (words) => ($("live").textContent = words);

// -- the basket -------------------------------------------------------------------------------------

function change(next, words) {
  past.push(basket);
  future = [];
  settle(next, words);
}

function settle(next, words) {
  basket = next;
  [k, open, like] = [STEP, null, null];
  say(words);
  keep();
  drawBasket();
  refresh();
}

function add(id) {
  if (basket.includes(id)) return note(`${name(id)} is in the basket already.`);
  change([...basket, id], `${name(id)} added.`);
}

const remove = (id) => change(basket.filter((one) => one !== id), `${name(id)} taken out.`);

function undo() {
  if (!past.length) return;
  future.push(basket);
  settle(past.pop(), "Undone.");
}

function redo() {
  if (!future.length) return;
  past.push(basket);
  settle(future.pop(), "Done again.");
}

function keep() {
  const text = new URLSearchParams(basket.map((id) => ["i", id])).toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
}

const fromAddress = () => [...new Set(new URLSearchParams(location.hash.slice(1)).getAll("i"))];

function drawBasket() {
  $("chips").replaceChildren(...basket.map((id) => el("li", { class: titles.get(id)?.unknown ? "unknown" : "" },
    el("button", { type: "button", class: "name", title: "What goes with it", "aria-pressed": String(like === id),
      onclick: () => companions(like === id ? null : id) }, name(id)),
    el("button", { type: "button", class: "out", "aria-label": `Take ${name(id)} out`,
      onclick: () => (remove(id), $("search").focus()) }, "×"))));
  if (!basket.length) $("chips").append(el("li", { class: "none" }, "Nothing yet. Find an item above, or choose one below."));
  $("undo").disabled = !past.length;
  $("clear").disabled = !basket.length;
}

function note(words) {
  $("note").textContent = words;
  $("note").hidden = !words;
}

// -- what it lacks ----------------------------------------------------------------------------------

/** Ask anew; what is shown stays until the answer is there, and an answer that came too late is dropped. */
async function refresh() {
  asking?.abort();
  const mine = (asking = new AbortController());
  const slow = setTimeout(() => $("list").classList.add("pending"), 250);
  $("list").ariaBusy = "true";
  try {
    if (like === null) await complete(mine.signal);
    else await similar(mine.signal);
    calm();
  } catch (error) {
    if (error.name !== "AbortError") trouble(error);
  } finally {
    clearTimeout(slow);
    if (asking === mine) {
      $("list").classList.remove("pending");
      $("list").ariaBusy = "false";
    }
  }
}

async function complete(signal) {
  const found = await post("complete", { basket, k }, signal);
  learn(found.basket);
  learn(found.suggestions);
  found.unknown.forEach((id) => titles.set(id, { id, title: id, unknown: true }));
  scoreIs = found.score_is;
  const some = found.unknown.map((id) => `“${id}”`).join(", ");
  note(some && `The model does not know ${some}; ${found.unknown.length > 1 ? "they count" : "it counts"} for nothing here.`);
  drawBasket();
  drawList(found.suggestions, basket.length ? "What is missing" : "Most likely by themselves");
  const first = found.suggestions[0];
  if (first) say(`${$("live").textContent} ${found.suggestions.length} suggestions, the first is ${first.title}.`);
}

async function similar(signal) {
  const found = await get("similar", { item: like, k }, signal);
  learn([found.item, ...found.similar]);
  note("");
  drawBasket();
  drawList(found.similar, `People who have ${found.item.title} also have`);
}

function companions(id) {
  [like, k, open] = [id, STEP, null];
  if (!wide.matches) view("basket");
  refresh();
}

function drawList(items, title) {
  const chances = items.length > 0 && items.every((item) => typeof item.probability === "number");
  const scores = items.map((item) => item.score), low = Math.min(0, ...scores), high = Math.max(0, ...scores);
  const full = roundScale(Math.max(0, ...items.map((item) => item.probability ?? 0)));
  const share = (item) => (chances ? item.probability / full : high > low ? (item.score - low) / (high - low) : 0);
  $("title").textContent = title;
  $("back").hidden = like === null;
  $("scale").hidden = !items.length;
  $("scale").textContent = chances ? `probability; a full bar is ${percent(full)}`
    : like === null ? `${scoreIs}: scores, for this model gives no probabilities` : "how strongly it goes with it, whatever its popularity";
  const old = new Map([...$("list").children].map((row) => [row.dataset.id, row])), focused = place();
  const rows = items.map((item, rank) => {
    const row = old.get(item.id) ?? makeRow(item);
    row.querySelector(".rank").textContent = rank + 1;
    row.querySelector(".value").textContent = chances ? percent(item.probability) : figure(item.score);
    row.querySelector(".bar i").style.width = `${100 * Math.max(0, Math.min(1, share(item)))}%`;
    return row;
  });
  $("list").replaceChildren(...rows);
  if (!rows.length) $("list").append(el("li", { class: "none" }, "Nothing is left to suggest."));
  shown = items.map((item) => item.id);
  $("more").hidden = items.length < k || k >= MOST;
  if (focused >= 0) mains()[Math.min(focused, shown.length - 1)]?.focus();
  explain(shown.includes(open) ? open : null);
  mark();
}

function makeRow({ id, title, group }) {
  const panel = `why-${[...id].map((letter) => letter.codePointAt(0).toString(36)).join("-")}`;
  const main = el("button", { type: "button", class: "main-row", "aria-expanded": "false", "aria-controls": panel,
    onclick: () => explain(open === id ? null : id) },
  el("span", { class: "rank" }), el("span", { class: "name" }, title, group ? el("small", {}, group) : null),
  el("span", { class: "value" }), el("span", { class: "bar", "aria-hidden": "true" }, el("i")));
  const plus = el("button", { type: "button", class: "add", "aria-label": `Add ${title}`, title: "Add", onclick: () => add(id) }, "+");
  const row = el("li", {}, main, plus, el("div", { id: panel, class: "why", hidden: true }));
  row.dataset.id = id;
  return row;
}

const mains = () => [...$("list").querySelectorAll(".main-row")];
const place = () => mains().indexOf(document.activeElement);

/** Open the reason of one suggestion, and close the others'. */
async function explain(id) {
  open = id;
  for (const row of $("list").children) {
    const here = row.dataset.id === id && id !== null;
    row.querySelector(".main-row")?.setAttribute("aria-expanded", String(here));
    const panel = row.querySelector(".why");
    if (panel && !here) panel.hidden = true;
  }
  if (id === null) return;
  const panel = [...$("list").children].find((row) => row.dataset.id === id).querySelector(".why");
  try {
    const reason = await post("explain", { basket, item: id });
    if (open !== id) return;
    panel.replaceChildren(why(reason, scoreIs), el("div", { class: "actions" },
      el("button", { type: "button", class: "main", onclick: () => add(id) }, "Add to the basket"),
      el("button", { type: "button", onclick: () => companions(id) }, "Goes with"),
      el("button", { type: "button", onclick: () => (view("map"), map.reveal([id])) }, "On the map")));
    panel.hidden = false;
  } catch (error) {
    trouble(error);
  }
}

// -- finding items ----------------------------------------------------------------------------------

const finder = { options: [], active: 0, text: null, timer: 0, asked: null };

async function find() {
  clearTimeout(finder.timer);
  const text = $("search").value.trim();
  finder.asked?.abort();
  if (!text) return drawOptions([], null);
  finder.asked = new AbortController();
  try {
    const found = await get("items", { q: text, limit: 12 }, finder.asked.signal);
    learn(found.items);
    drawOptions(found.items, text, found.total);
    calm();
  } catch (error) {
    if (error.name !== "AbortError") trouble(error);
  }
}

function drawOptions(items, text, total = 0) {
  Object.assign(finder, { options: items, text, active: 0 });
  const rows = items.map((item, at) => el("li", { role: "option", id: `option-${at}`,
    onpointerdown: (event) => (event.preventDefault(), choose(at)) },
  el("span", { class: "name" }, ...underlined(item.title, text)), item.group ? el("small", {}, item.group) : null,
  el("small", { class: "often" }, basket.includes(item.id) ? "in the basket" : count(item.frequency))));
  if (!rows.length && text) rows.push(el("li", { class: "none", role: "option", "aria-disabled": "true" }, `No item is called “${text}”, or nearly so.`));
  else if (total > items.length) rows.push(el("li", { class: "none", role: "presentation" }, `${count(total - items.length)} more; type on`));
  $("options").replaceChildren(...rows);
  $("options").hidden = !rows.length;
  $("search").setAttribute("aria-expanded", String(rows.length > 0));
  activate();
}

function underlined(title, text) {
  const at = title.toLowerCase().indexOf(text.toLowerCase());
  return at < 0 ? [title] : [title.slice(0, at), el("mark", {}, title.slice(at, at + text.length)), title.slice(at + text.length)];
}

function activate() {
  const rows = [...$("options").querySelectorAll("[role=option]:not(.none)")];
  rows.forEach((row, at) => row.setAttribute("aria-selected", String(at === finder.active)));
  const row = rows[finder.active];
  if (row) $("search").setAttribute("aria-activedescendant", row.id);
  else $("search").removeAttribute("aria-activedescendant");
  row?.scrollIntoView({ block: "nearest" });
}

function choose(at) {
  const item = finder.options[at];
  if (!item) return;
  $("search").value = "";
  drawOptions([], null);
  add(item.id);
}

$("search").addEventListener("input", () => {
  clearTimeout(finder.timer);
  finder.timer = setTimeout(find, 60);
});
$("search").addEventListener("blur", () => drawOptions([], null));
$("search").addEventListener("focus", () => $("search").value.trim() && find());
$("search").addEventListener("keydown", async (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], n = finder.options.length;
  if (step && n) {
    finder.active = (finder.active + step + n) % n;
    activate();
  } else if (event.key === "ArrowDown" && !$("search").value) mains()[0]?.focus();
  else if (event.key === "Enter") {
    event.preventDefault();
    if (finder.text !== $("search").value.trim()) await find(); // typed faster than answered
    choose(finder.active);
  } else if (event.key === "Escape" && $("search").value) {
    $("search").value = "";
    find();
  } else if (event.key === "Backspace" && !$("search").value && basket.length) remove(basket.at(-1));
  else return;
  event.preventDefault();
});

// -- keys -------------------------------------------------------------------------------------------

$("list").addEventListener("keydown", (event) => {
  const at = place();
  if (at < 0) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) (at + step < 0 ? $("search") : mains()[at + step] ?? $("more"))?.focus();
  else if (event.key === "Enter") add(shown[at]);
  else return;
  event.preventDefault();
});

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input") && event.target.value !== "", dialog = document.querySelector("dialog[open]");
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !typing && !dialog) {
    event.preventDefault();
    event.shiftKey ? redo() : undo();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || dialog) return;
  if (event.target.matches("input")) return;
  if (event.key === "/") {
    event.preventDefault();
    view("basket");
    $("search").focus();
  } else if (event.key === "?") $("keys").showModal();
  else if (event.key === "Escape") open !== null ? explain(null) : like !== null && companions(null);
});

$("undo").addEventListener("click", undo);
$("clear").addEventListener("click", () => change([], "The basket is empty."));
$("back").addEventListener("click", () => companions(null));
$("more").addEventListener("click", () => ((k = Math.min(MOST, k + STEP)), refresh()));
$("help").addEventListener("click", () => $("keys").showModal());

// -- views ------------------------------------------------------------------------------------------

const views = ["basket", "map", "card"];
let chosen = "map";

/** Show a view. On a wide screen the basket is always there, beside the map or the card. */
function view(which) {
  if (!(wide.matches && which === "basket")) chosen = which;
  const now = wide.matches && chosen === "basket" ? "map" : chosen;
  for (const one of views) {
    $(one).hidden = one !== now && !(wide.matches && one === "basket");
    $(`tab-${one}`).setAttribute("aria-selected", String(one === now));
    $(`tab-${one}`).tabIndex = one === now ? 0 : -1;
  }
  if (now === "card") drawCard();
}

for (const one of views) {
  $(`tab-${one}`).addEventListener("click", () => view(one));
  $(`tab-${one}`).addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], there = wide.matches ? views.slice(1) : views;
    if (!step) return;
    const next = there[(there.indexOf(one) + step + there.length) % there.length];
    view(next);
    $(`tab-${next}`).focus();
  });
}
wide.addEventListener("change", () => view(wide.matches ? chosen : "basket"));

const map = new ItemMap($("map"), { actions: [{ label: "Add to the basket", run: add }, { label: "Goes with", run: companions }] });
const mark = () => map.mark(basket, shown);

async function drawMap() {
  const wait = (words) => (($("map-note").textContent = words), ($("map-note").hidden = !words));
  try {
    map.show(await made("map", (share) => wait(`The map is being made: ${Math.round(100 * share)} %`)));
    wait("");
    mark();
    $("map").dataset.state = "shown";
  } catch (error) {
    wait(`No map: ${error.message}${error.remedy ? " " + error.remedy : ""}`);
    $("map").dataset.state = "none";
    if (error.kind !== "refused") trouble(error);
  }
}

async function drawCard() {
  try {
    $("card").replaceChildren(...card(await get("model")));
  } catch (error) {
    trouble(error);
  }
}

async function summary() {
  const about = await get("model");
  $("summary").textContent = `${about.model} · ${count(about.items)} items · ${count(about.records)} records`;
}

// -- trouble ----------------------------------------------------------------------------------------

let waiting = 0;

/** Say what is wrong; if the service is away, try again by and by and go on when it is back. */
function trouble(error) {
  if (!(error instanceof Trouble)) throw error;
  if (error.kind === "token") return askToken();
  $("trouble").replaceChildren(el("strong", {}, error.message), " ", error.remedy);
  $("trouble").hidden = false;
  if (error.kind === "refused" || waiting) return;
  const again = async (pause) => {
    if (await ready()) {
      waiting = 0;
      start();
    } else waiting = setTimeout(again, pause, Math.min(8000, 1.6 * pause));
  };
  waiting = setTimeout(again, 700, 1200);
}

function calm() {
  if (!waiting) $("trouble").hidden = true;
}

function askToken() {
  if ($("token").open) return;
  $("token").showModal();
  $("token").addEventListener("close", () => (token.set($("token-text").value), start()), { once: true });
}

// -- start ------------------------------------------------------------------------------------------

addEventListener("hashchange", () => {
  const next = fromAddress();
  if (String(next) !== String(basket)) change(next, "The basket of the address.");
});

function start() {
  drawBasket();
  refresh();
  summary().catch(trouble);
  if ($("map").dataset.state !== "shown") drawMap();
}

basket = fromAddress();
view(wide.matches ? "map" : "basket");
start();
