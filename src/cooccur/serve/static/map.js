// The map of all items: points by WebGL, names and marks on a canvas above them, and the controls.
// The page imports this file; `cooccur map -o map.html` puts it whole into its one file. It asks nothing of the network.
//
//   const map = new ItemMap(element, { labels: 250, actions: [{ label: "Add", run: (id) => ... }] })
//   map.show({ x, y, id, title, group, frequency })     the arrays of /api/v1/map
//   map.mark(basketIds, suggestedIds)                   what stands out
//   map.reveal([id, ...])                               go there

export const PALETTE = [
  "#4e79a7", "#e1812c", "#3a923a", "#c44e52", "#8064a2", "#937860", "#d76fb0", "#7f8f2e", "#2a9fb0", "#b59a2b",
];
const LETTERS = 34, LINE = 16, GAP = 7, NEAR = 14, MOST = 60;

/** Greedily, in the order given: [number, left, top] of the labels that cover no earlier one; drawing.py does the same.
 *  Here some boxes [left, top, right, down] may be taken beforehand. */
export function placeLabels(places, widths, height, size, gap = 4, limit = Infinity, before = []) {
  const cell = 4 * height, lift = Math.max(gap, height / 2), taken = new Map(), shown = [];
  const cellsOf = ([left, top, right, down]) => {
    const cells = [];
    for (let column = Math.floor(left / cell); column <= Math.floor(right / cell); column++)
      for (let row = Math.floor(top / cell); row <= Math.floor(down / cell); row++) cells.push(column * 65536 + row);
    return cells;
  };
  const take = (box) => cellsOf(box).forEach((at) => (taken.has(at) ? taken.get(at).push(box) : taken.set(at, [box])));
  before.forEach(take);
  for (let number = 0; number < widths.length && shown.length < limit; number++) {
    const [x, y] = places[number], width = widths[number];
    const middle = x - width / 2, above = y - height / 2;
    const tries = [[x + gap, above], [x - gap - width, above], [middle, y - lift - height], [middle, y + lift]];
    for (const [left, top] of tries) {
      const right = left + width, down = top + height;
      if (left < 0 || top < 0 || right > size[0] || down > size[1]) continue;
      const covers = (b) => left < b[2] && b[0] < right && top < b[3] && b[1] < down;
      const box = [left, top, right, down];
      if (cellsOf(box).some((at) => taken.get(at)?.some(covers))) continue;
      take(box);
      shown.push([number, left, top]);
      break;
    }
  }
  return shown;
}

/** Text as it is searched: small letters, no accents. */
export const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

const shorten = (title) => (title.length <= LETTERS ? title : title.slice(0, LETTERS - 1).trimEnd() + "…");

function node(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export class ItemMap {
  constructor(root, { labels = 250, actions = [] } = {}) {
    this.root = root;
    root.itemMap = this; // for the curious, and for tests
    this.labels = labels;
    this.actions = actions;
    this.basket = [];
    this.suggested = [];
    this.found = [];
    this.only = null; // the group that is looked at alone
    this.hover = this.pinned = -1;
    this.pointers = new Map();
    this.#build();
    this.view = { x: 0, y: 0, k: 1 };
    new ResizeObserver(() => this.#resize()).observe(this.stage);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#paint());
  }

  /** The items: see the top of this file. */
  show(data) {
    this.data = data;
    const n = (this.n = data.id.length);
    this.number = new Map(data.id.map((id, at) => [id, at]));
    this.order = Array.from({ length: n }, (_, at) => at).sort((a, b) => data.frequency[b] - data.frequency[a] || a - b);
    this.text = data.title.map(shorten);
    this.searched = null;
    this.width = new Map();
    const most = Math.max(1, ...this.order.slice(0, 1).map((at) => data.frequency[at]));
    const thin = Math.min(1, (3000 / Math.max(n, 1)) ** 0.25);
    this.size = Float32Array.from(data.frequency, (f) => thin * (3.2 + 6 * Math.sqrt(f / most)));
    const count = new Map();
    for (const group of data.group ?? []) if (group) count.set(group, (count.get(group) ?? 0) + 1);
    const groups = [...count.keys()].sort((a, b) => count.get(b) - count.get(a) || (a < b ? -1 : 1));
    this.colours = new Map(groups.slice(0, PALETTE.length).map((group, at) => [group, PALETTE[at]]));
    this.#index();
    this.#legend(groups.length);
    this.names.setAttribute(
      "aria-label",
      `Map of ${n.toLocaleString("en")} items. Drag or use the arrow keys to move, plus and minus to zoom, 0 to see all.`,
    );
    this.#paint();
    this.#resize();
    this.fit(true);
  }

  /** Which items stand out. */
  mark(basket, suggested) {
    [this.basket, this.suggested] = [basket, suggested];
    this.#draw();
  }

  /** Move so that these items are in view. */
  reveal(ids) {
    const at = ids.map((id) => this.number?.get(id)).filter((one) => one !== undefined);
    if (!at.length) return;
    const x = at.map((one) => this.data.x[one]), y = at.map((one) => this.data.y[one]);
    const [left, right, low, high] = [Math.min(...x), Math.max(...x), Math.min(...y), Math.max(...y)];
    const k = Math.min(0.6 * this.w / Math.max(right - left, 1e-9), 0.6 * this.h / Math.max(high - low, 1e-9));
    this.#fly({ x: (left + right) / 2, y: (low + high) / 2, k: Math.min(k, 7 * this.whole.k) });
    if (at.length === 1) this.#pin(at[0]);
  }

  /** All of it in view. */
  fit(now = false) {
    if (!this.n) return;
    this.whole = this.#wholeView();
    now ? ((this.view = { ...this.whole }), this.#draw()) : this.#fly(this.whole);
  }

  zoom(factor, px = this.w / 2, py = this.h / 2, smooth = true) {
    const k = Math.min(Math.max(this.view.k * factor, 0.5 * this.whole.k), 400 * this.whole.k);
    const [x, y] = this.#at(px, py);
    const to = { k, x: x - (px - this.w / 2) / k, y: y + (py - this.h / 2) / k };
    if (smooth) this.#fly(to);
    else ((this.view = to), this.#draw());
  }

  // -- the elements ---------------------------------------------------------------------------------

  #build() {
    const points = (this.points = node("canvas", { class: "map-points", "aria-hidden": "true" }));
    const names = (this.names = node("canvas", { class: "map-names", tabindex: "0", role: "application" }));
    names.setAttribute("aria-label", "Map of the items");
    this.tip = node("div", { class: "map-tip", role: "status", hidden: "" });
    this.key = node("div", { class: "map-key", role: "group", "aria-label": "Groups" });
    this.input = node("input", {
      type: "search", class: "map-find", placeholder: "Find on the map", "aria-label": "Find on the map",
      autocomplete: "off", spellcheck: "false",
      oninput: () => this.#find(), onkeydown: (event) => this.#findKey(event), onblur: () => this.#closeList(),
    });
    this.list = node("ul", { class: "map-list", hidden: "" });
    const button = (label, sign, run) =>
      node("button", { type: "button", "aria-label": label, title: label, onclick: run }, sign);
    const tools = node("div", { class: "map-tools" },
      button("Zoom in", "+", () => this.zoom(1.8)), button("Zoom out", "−", () => this.zoom(1 / 1.8)),
      button("See all", "⤢", () => this.fit()));
    this.stage = node("div", { class: "map-stage" },
      points, names, node("div", { class: "map-search" }, this.input, this.list), tools, this.tip);
    this.root.classList.add("map");
    this.root.append(this.stage, this.key);
    names.addEventListener("wheel", (event) => {
      event.preventDefault();
      const step = event.deltaMode ? 20 * event.deltaY : event.deltaY;
      this.zoom(Math.exp(-Math.max(-200, Math.min(200, step)) * (event.ctrlKey ? 0.01 : 0.002)), ...this.#local(event), false);
    }, { passive: false });
    for (const [type, run] of [["pointerdown", this.#down], ["pointermove", this.#move], ["pointerup", this.#up],
      ["pointercancel", this.#up], ["pointerleave", this.#leave], ["keydown", this.#keys]])
      names.addEventListener(type, run.bind(this));
    names.addEventListener("dblclick", (event) => this.zoom(2.2, ...this.#local(event)));
    points.addEventListener("webglcontextlost", (event) => event.preventDefault());
    points.addEventListener("webglcontextrestored", () => ((this.gl = undefined), this.#paint()));
  }

  #legend(count) {
    this.key.replaceChildren();
    for (const [group, colour] of this.colours) {
      const dot = node("i");
      dot.style.background = colour;
      const one = node("button", { type: "button", "aria-pressed": "false" }, dot, group);
      one.addEventListener("click", () => {
        this.only = this.only === group ? null : group;
        for (const other of this.key.querySelectorAll("button"))
          other.setAttribute("aria-pressed", String(other === one && this.only !== null));
        this.#paint();
      });
      this.key.append(one);
    }
    if (count > this.colours.size) this.key.append(node("span", {}, `${count - this.colours.size} more in grey`));
  }

  // -- looking for a name ---------------------------------------------------------------------------

  /** Numbers of the items whose title holds the text: at its start, at a word's, anywhere; frequent ones first. */
  search(text, limit = 200) {
    this.searched ??= this.data.title.map(plain);
    const wanted = plain(text.trim()), ranks = [[], [], []];
    if (!wanted) return [];
    for (const at of this.order) {
      const where = this.searched[at].indexOf(wanted);
      if (where >= 0) ranks[where === 0 ? 0 : this.searched[at].includes(" " + wanted) ? 1 : 2].push(at);
    }
    return ranks.flat().slice(0, limit);
  }

  #find() {
    if (!this.n) return;
    this.found = this.search(this.input.value);
    this.active = 0;
    const rows = this.found.slice(0, 8).map((at) =>
      node("li", { onpointerdown: (event) => (event.preventDefault(), this.#choose(at)) }, this.data.title[at]));
    if (!rows.length && this.input.value.trim()) rows.push(node("li", { class: "none" }, "Nothing of that name"));
    this.list.replaceChildren(...rows);
    this.list.hidden = !rows.length;
    this.#activate();
    this.#draw();
  }

  #activate() {
    [...this.list.children].forEach((row, at) => row.classList.toggle("active", at === this.active));
  }

  #findKey(event) {
    const rows = Math.min(8, this.found.length), step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && rows) {
      event.preventDefault();
      this.active = (this.active + step + rows) % rows;
      this.#activate();
    } else if (event.key === "Enter" && rows) this.#choose(this.found[this.active]);
    else if (event.key === "Escape") {
      event.stopPropagation();
      this.input.value = "";
      this.#find();
    }
  }

  #choose(at) {
    this.input.value = this.data.title[at];
    this.found = [];
    this.list.hidden = true;
    this.reveal([this.data.id[at]]);
  }

  #closeList() {
    this.list.hidden = true;
    if (!this.input.value.trim()) this.found = [];
    this.#draw();
  }

  // -- moving ---------------------------------------------------------------------------------------

  #local(event) {
    const box = this.names.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #at(px, py) {
    return [this.view.x + (px - this.w / 2) / this.view.k, this.view.y - (py - this.h / 2) / this.view.k];
  }

  #place(at) {
    const { x, y, k } = this.view;
    return [this.w / 2 + (this.data.x[at] - x) * k, this.h / 2 - (this.data.y[at] - y) * k];
  }

  #down(event) {
    this.names.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.#local(event));
    this.moved = this.pointers.size > 1;
    this.flight = null;
  }

  #move(event) {
    const [px, py] = this.#local(event), before = this.pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch") this.#point(this.#nearest(px, py));
      return;
    }
    if (Math.hypot(px - before[0], py - before[1]) < 4 && !this.moved) return;
    this.moved = true;
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const apart = (one) => Math.hypot(one[0] - other[0], one[1] - other[1]);
      this.zoom(apart([px, py]) / Math.max(apart(before), 1), (px + other[0]) / 2, (py + other[1]) / 2, false);
    }
    const share = other ? 0.5 : 1;
    this.view.x -= (share * (px - before[0])) / this.view.k;
    this.view.y += (share * (py - before[1])) / this.view.k;
    this.pointers.set(event.pointerId, [px, py]);
    this.names.classList.add("dragging");
    this.#draw();
  }

  #up(event) {
    const there = this.pointers.delete(event.pointerId);
    this.names.classList.remove("dragging");
    if (there && !this.moved && event.type === "pointerup") this.#pin(this.#nearest(...this.#local(event)));
  }

  #leave() {
    this.#point(-1);
  }

  #keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.n) return;
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (step) {
      const { x, y, k } = this.flight?.to ?? this.view;
      this.#fly({ x: x + (step[0] * 80) / k, y: y + (step[1] * 80) / k, k });
    } else if (event.key === "+" || event.key === "=") this.zoom(1.5);
    else if (event.key === "-") this.zoom(1 / 1.5);
    else if (event.key === "0") this.fit();
    else if (event.key === "Escape") this.#pin(-1);
    else return;
    event.preventDefault();
  }

  #fly(to) {
    if (!this.w || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.view = to;
      this.#draw();
      return;
    }
    this.flight = { from: { ...this.view }, to, start: performance.now() };
    this.#draw();
  }

  #glide(now) {
    if (!this.flight) return;
    const { from, to, start } = this.flight, t = Math.min(1, (now - start) / 320), s = 1 - (1 - t) ** 3;
    const k = from.k * (to.k / from.k) ** s; // evenly in scale; the centre moves so that the path looks straight
    const part = Math.abs(to.k - from.k) < 1e-9 * from.k ? s : (1 / from.k - 1 / k) / (1 / from.k - 1 / to.k);
    this.view = { k, x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
    if (t < 1) this.#draw();
    else ((this.view = to), (this.flight = null));
  }

  // -- pointing -------------------------------------------------------------------------------------

  /** A grid over the plane: the items of a cell stand side by side in `members`. */
  #index() {
    const side = (this.side = Math.max(1, Math.ceil(Math.sqrt(this.n / 4))));
    const cell = (at) => this.#cell(this.data.y[at]) * side + this.#cell(this.data.x[at]);
    this.starts = new Int32Array(side * side + 1);
    for (let at = 0; at < this.n; at++) this.starts[cell(at) + 1]++;
    for (let one = 0; one < side * side; one++) this.starts[one + 1] += this.starts[one];
    const next = this.starts.slice();
    this.members = new Int32Array(this.n);
    for (let at = 0; at < this.n; at++) this.members[next[cell(at)]++] = at;
  }

  #cell(value) {
    return Math.min(this.side - 1, Math.max(0, Math.floor(((value + 1) / 2) * this.side)));
  }

  #nearest(px, py) {
    if (!this.n) return -1;
    const [x, y] = this.#at(px, py), reach = NEAR / this.view.k;
    let best = -1, least = reach * reach;
    for (let row = this.#cell(y - reach); row <= this.#cell(y + reach); row++)
      for (let column = this.#cell(x - reach); column <= this.#cell(x + reach); column++) {
        const cell = row * this.side + column;
        for (let one = this.starts[cell]; one < this.starts[cell + 1]; one++) {
          const at = this.members[one], far = (this.data.x[at] - x) ** 2 + (this.data.y[at] - y) ** 2;
          if (far < least) [best, least] = [at, far];
        }
      }
    return best;
  }

  #point(at) {
    if (at === this.hover) return;
    this.hover = at;
    this.names.classList.toggle("on-item", at >= 0);
    if (this.pinned < 0) this.#tell(at, false);
    this.#draw();
  }

  #pin(at) {
    this.pinned = at;
    this.#tell(at, true);
    this.#draw();
  }

  #tell(at, pinned) {
    this.tip.hidden = at < 0;
    this.told = at;
    if (at < 0) return;
    const { title, group, frequency, id } = this.data, records = frequency[at].toLocaleString("en");
    const about = [group?.[at], `in ${records} record${frequency[at] === 1 ? "" : "s"}`].filter(Boolean).join(" · ");
    this.tip.replaceChildren(node("strong", {}, title[at]), node("span", {}, about));
    this.tip.classList.toggle("pinned", pinned);
    if (pinned && this.actions.length) {
      const buttons = this.actions.map(({ label, run }) =>
        node("button", { type: "button", onclick: () => (this.#pin(-1), run(id[at])) }, label));
      this.tip.append(node("div", {}, ...buttons));
    }
  }

  // -- drawing --------------------------------------------------------------------------------------

  #wholeView() {
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let at = 0; at < this.n; at++) {
      left = Math.min(left, this.data.x[at]), right = Math.max(right, this.data.x[at]);
      low = Math.min(low, this.data.y[at]), high = Math.max(high, this.data.y[at]);
    }
    const k = Math.min((0.9 * this.w) / Math.max(right - left, 1e-6), (0.86 * this.h) / Math.max(high - low, 1e-6));
    return { x: (left + right) / 2, y: (low + high) / 2, k: Math.max(1e-6, Math.min(k, this.w + this.h)) };
  }

  #resize() {
    const { clientWidth: w, clientHeight: h } = this.stage, before = this.w;
    if (!w || !h) return;
    [this.w, this.h, this.ratio] = [w, h, Math.min(devicePixelRatio || 1, 2)];
    for (const canvas of [this.points, this.names])
      [canvas.width, canvas.height] = [Math.round(w * this.ratio), Math.round(h * this.ratio)];
    if (this.n) {
      const all = this.whole && this.view.k === this.whole.k;
      this.whole = this.#wholeView();
      if (!before || all) this.view = { ...this.whole };
    }
    this.#draw();
  }

  /** Take the colours from the style sheet, and hand the points over to the graphics card. */
  #paint() {
    const style = getComputedStyle(this.root), colour = (name) => style.getPropertyValue(name).trim();
    this.ink = { text: colour("--ink"), soft: colour("--soft"), paper: colour("--map"), basket: colour("--accent"),
      suggested: colour("--second"), grey: colour("--dots") };
    if (!this.n) return;
    if (this.gl === undefined) this.#start();
    const shade = [...this.order].reverse(); // the frequent ones are painted last
    const rgb = new Map([["", bytes(this.ink.grey)], ...[...this.colours].map(([group, hue]) => [group, bytes(hue)])]);
    const cells = new ArrayBuffer(16 * this.n), floats = new Float32Array(cells), small = new Uint8Array(cells);
    shade.forEach((at, one) => {
      const group = this.data.group?.[at], out = this.only !== null && group !== this.only;
      floats[4 * one] = this.data.x[at];
      floats[4 * one + 1] = this.data.y[at];
      floats[4 * one + 2] = this.size[at];
      small.set([...(rgb.get(out ? "" : group ?? "") ?? rgb.get("")), out ? 60 : 255], 16 * one + 12);
    });
    this.cells = { floats, small };
    if (this.gl) this.gl.bufferData(this.gl.ARRAY_BUFFER, cells, this.gl.STATIC_DRAW);
    this.#draw();
  }

  #start() {
    const gl = (this.gl = this.points.getContext("webgl", { antialias: false, alpha: true }));
    this.flat = gl ? null : this.points.getContext("2d"); // no WebGL here: slower, but the same picture
    if (!gl) return;
    const shader = (type, text) => {
      const made = gl.createShader(type);
      gl.shaderSource(made, text);
      gl.compileShader(made);
      return made;
    };
    const program = gl.createProgram();
    gl.attachShader(program, shader(gl.VERTEX_SHADER, `
      attribute vec2 place; attribute float size; attribute vec4 hue;
      uniform vec4 view; uniform float scale; varying vec4 colour; varying float radius;
      void main() {
        gl_Position = vec4((place - view.xy) * view.zw, 0.0, 1.0);
        gl_PointSize = size * scale + 1.0; radius = 0.5 * gl_PointSize; colour = hue;
      }`));
    gl.attachShader(program, shader(gl.FRAGMENT_SHADER, `
      precision mediump float;
      uniform float strength; varying vec4 colour; varying float radius;
      void main() {
        float edge = radius - length(gl_PointCoord - 0.5) * 2.0 * radius;
        float a = clamp(edge, 0.0, 1.0) * colour.a * strength;
        gl_FragColor = vec4(colour.rgb * a, a);
      }`));
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    for (const [name, count, type, whole, from] of [["place", 2, gl.FLOAT, false, 0], ["size", 1, gl.FLOAT, false, 8],
      ["hue", 4, gl.UNSIGNED_BYTE, true, 12]]) {
      const at = gl.getAttribLocation(program, name);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, count, type, whole, 16, from);
    }
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.uniform = Object.fromEntries(
      ["view", "scale", "strength"].map((name) => [name, gl.getUniformLocation(program, name)]));
  }

  #draw() {
    if (this.due || !this.n || !this.w) return;
    this.due = true;
    requestAnimationFrame((now) => {
      this.due = false;
      this.#glide(now);
      this.#drawPoints();
      this.#drawNames();
      this.#putTip();
    });
  }

  #drawPoints() {
    const { x, y, k } = this.view, gl = this.gl, deep = Math.min(2.2, (k / this.whole.k) ** 0.25);
    const strength = this.basket.length || this.found.length ? 0.5 : 0.85;
    if (gl) {
      gl.viewport(0, 0, this.points.width, this.points.height);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.uniform4f(this.uniform.view, x, y, (2 * k) / this.w, (2 * k) / this.h);
      gl.uniform1f(this.uniform.scale, deep * this.ratio);
      gl.uniform1f(this.uniform.strength, strength);
      gl.drawArrays(gl.POINTS, 0, this.n);
    } else if (this.flat) {
      const pen = this.flat, { floats, small } = this.cells;
      pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      pen.clearRect(0, 0, this.w, this.h);
      for (let one = 0; one < this.n; one++) {
        const r = (deep * floats[4 * one + 2]) / 2, c = 16 * one + 12;
        const px = this.w / 2 + (floats[4 * one] - x) * k, py = this.h / 2 - (floats[4 * one + 1] - y) * k;
        if (px < -r || py < -r || px > this.w + r || py > this.h + r) continue;
        pen.fillStyle = `rgba(${small[c]},${small[c + 1]},${small[c + 2]},${(strength * small[c + 3]) / 255})`;
        pen.beginPath();
        pen.arc(px, py, r, 0, 7);
        pen.fill();
      }
    }
  }

  #drawNames() {
    const pen = this.names.getContext("2d"), { basket, suggested, text, paper, soft } = this.ink;
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.w, this.h);
    const numbers = (ids) => ids.map((id) => this.number.get(id)).filter((at) => at !== undefined);
    const kinds = [[numbers(this.basket), basket, 6.5], [numbers(this.suggested), suggested, 5.5], [this.found, text, 4.5]];
    const marked = new Map();
    for (const [items, colour, radius] of kinds.toReversed?.() ?? [...kinds].reverse())
      for (const at of items) {
        const [px, py] = this.#place(at);
        marked.set(at, colour);
        pen.beginPath();
        pen.arc(px, py, radius, 0, 7);
        pen.fillStyle = colour;
        pen.strokeStyle = paper;
        pen.lineWidth = 2;
        pen.fill();
        pen.stroke();
      }
    for (const at of new Set([this.hover, this.pinned]))
      if (at >= 0) {
        pen.beginPath();
        pen.arc(...this.#place(at), 8, 0, 7);
        pen.strokeStyle = text;
        pen.lineWidth = 1.5;
        pen.stroke();
      }
    // names: what was looked for, the basket's, the suggestions', then by frequency whatever is in view
    const first = new Set([...this.found.slice(0, MOST), ...kinds[0][0], ...kinds[1][0]]);
    const limit = Math.min(this.labels, Math.max(20, (this.w * this.h) / 7500)), size = [this.w, this.h], boxes = [];
    for (const at of marked.keys()) {
      const [px, py] = this.#place(at);
      boxes.push([px - 5, py - 5, px + 5, py + 5]); // no other name over a mark
    }
    const rest = [], inView = (at) => this.#place(at).every((value, axis) => value >= 0 && value <= size[axis]);
    for (const at of this.order) {
      if (rest.length >= 12 * limit) break;
      if (!first.has(at) && (this.only === null || this.data.group[at] === this.only) && inView(at)) rest.push(at);
    }
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    this.shown = [];
    for (const [items, before] of [[[...first].filter(inView), []], [rest, boxes]]) {
      const places = items.map((at) => this.#place(at)), widths = items.map((at) => this.#width(pen, at, marked.has(at)));
      for (const [number, left, top] of placeLabels(places, widths, LINE, size, GAP, limit - this.shown.length, before)) {
        const at = items[number], colour = marked.get(at);
        boxes.push([left, top, left + widths[number], top + LINE]);
        this.shown.push(this.data.id[at]);
        pen.font = font(colour !== undefined);
        pen.strokeStyle = paper;
        pen.lineWidth = 3;
        pen.strokeText(this.text[at], left, top + LINE / 2);
        pen.fillStyle = colour ?? soft;
        pen.fillText(this.text[at], left, top + LINE / 2);
      }
    }
  }

  #width(pen, at, bold) {
    const key = bold ? -1 - at : at;
    if (!this.width.has(key)) {
      pen.font = font(bold);
      this.width.set(key, pen.measureText(this.text[at]).width);
    }
    return this.width.get(key);
  }

  #putTip() {
    if (this.tip.hidden || this.told < 0) return;
    const [px, py] = this.#place(this.told), { offsetWidth: wide, offsetHeight: high } = this.tip;
    const left = Math.max(8, Math.min(this.w - wide - 8, px - wide / 2)), above = py - high - 14;
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${above < 8 ? Math.min(py + 14, this.h - high - 8) : above}px`;
  }
}

const font = (bold) => `${bold ? "600 " : ""}12px Inter, system-ui, sans-serif`;

function bytes(colour) {
  const one = /^#(..)(..)(..)$/.exec(colour);
  return one ? one.slice(1).map((part) => parseInt(part, 16)) : [128, 128, 128];
}
