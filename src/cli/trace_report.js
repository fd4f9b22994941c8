// The list of compilations: sorted, filtered, and drawn some rows at a time. Everything that comes from a trace is set
// as text, never as markup.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);

  // Tables that are whole in their page: rows without the words typed are hidden.
  for (const input of document.querySelectorAll("input[data-filter]")) {
    const rows = [...byId(input.dataset.filter).tBodies[0].rows];
    input.form.addEventListener("submit", (event) => event.preventDefault());
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/);
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
  }

  const data = window.headwayCompiles;
  const table = byId("list");
  if (!data || !table) return;

  const LOG = 0, ID = 1, NAME = 2, TIME = 3, STAGE = 4, CACHE = 9, FLAGS = 10, TEXTS = 11;
  const CACHES = ["", "hit", "miss", "bypass"];
  const AGAIN = 1, FAILED = 2, UNENDED = 4, BREAKS = 8, RESTARTS = 16;
  const STAGES = ["dynamo", "aot", "inductor", "codegen", "kernels"];
  const PAGE_ROWS = 200;
  const SVG = "http://www.w3.org/2000/svg";
  const longest = data.rows.reduce((most, row) => Math.max(most, row[TIME]), 1);
  const haystack = data.names.map((name) => name.toLowerCase());
  const COLUMNS = [
    { name: "process", key: (row) => row[LOG] },
    { name: "id", key: (_row, order) => order },
    { name: "compiled", key: (row) => haystack[row[NAME]] },
    { name: "time", key: (row) => row[TIME], number: true },
    { name: "stages", key: null },
    { name: "cache", key: (row) => CACHES[row[CACHE]] },
    { name: "notes", key: (row) => row[FLAGS] },
    { name: "texts", key: (row) => row[TEXTS], number: true },
  ];
  let sorted = 3, down = true, shown = PAGE_ROWS, found = [];

  const make = (name, text, style) => {
    const node = document.createElement(name);
    if (text !== undefined) node.textContent = text;
    if (style) node.className = style;
    return node;
  };
  const time = (us) => {
    if (us >= 60e6) return `${Math.floor(us / 60e6)}m ${String(Math.floor(us / 1e6) % 60).padStart(2, "0")}s`;
    if (us >= 1e6) return `${(us / 1e6).toPrecision(4)} s`;
    return us === 0 ? "–" : `${(us / 1e3).toPrecision(3)} ms`;
  };
  const bar = (row) => {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("class", "bar");
    svg.setAttribute("viewBox", "0 0 10000 10");
    svg.setAttribute("preserveAspectRatio", "none");
    const title = document.createElementNS(SVG, "title");
    title.textContent = STAGES.map((name, i) => `${name} ${time(row[STAGE + i])}`).join(", ");
    svg.append(title);
    let x = 0;
    for (let i = 0; i < STAGES.length; ++i) {
      const width = (row[STAGE + i] / longest) * 10000;
      if (width <= 0) continue;
      const rect = document.createElementNS(SVG, "rect");
      rect.setAttribute("class", `s${i}`);
      rect.setAttribute("x", x);
      rect.setAttribute("width", width);
      rect.setAttribute("height", 10);
      svg.append(rect);
      x += width;
    }
    return svg;
  };
  const line = (row) => {
    const tr = make("tr");
    tr.append(make("td", data.logs[row[LOG]]));
    const id = make("td");
    const link = make("a", row[ID]);
    link.href = `log${row[LOG]}/${row[ID].replace("!", "a").replaceAll("/", "_")}/index.html`;
    id.append(link);
    tr.append(id, make("td", data.names[row[NAME]], "long"));
    const flags = row[FLAGS];
    tr.append(flags & UNENDED ? make("td", "not ended", "n bad") : make("td", time(row[TIME]), "n"));
    const stages = make("td", undefined, "stages");
    stages.append(bar(row));
    tr.append(stages, make("td", CACHES[row[CACHE]], row[CACHE] === 1 ? "good" : "bad"));
    const notes = [];
    if (flags & AGAIN) notes.push("again");
    if (flags & BREAKS) notes.push("graph break");
    if (flags & RESTARTS) notes.push("restarted");
    if (flags & FAILED) notes.push("failed");
    tr.append(make("td", notes.join(", "), flags & FAILED ? "bad" : ""), make("td", row[TEXTS], "n"));
    return tr;
  };

  const body = make("tbody");
  const draw = () => {
    body.replaceChildren(...found.slice(0, shown).map(line));
    byId("more").hidden = shown >= found.length;
    byId("count").textContent = `${found.length} of ${data.rows.length}`;
  };
  const select = () => {
    const words = byId("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const log = byId("log").value;
    const again = byId("again").checked, cold = byId("cold").checked, broken = byId("broken").checked;
    const keys = new Map();
    found = data.rows.filter((row, order) => {
      if (log !== "" && row[LOG] !== Number(log)) return false;
      if (again && !(row[FLAGS] & AGAIN)) return false;
      if (cold && row[CACHE] < 2) return false;
      if (broken && !(row[FLAGS] & (FAILED | UNENDED | RESTARTS))) return false;
      if (!words.every((word) => haystack[row[NAME]].includes(word) || row[ID].startsWith(word))) return false;
      keys.set(row, COLUMNS[sorted].key(row, order));
      return true;
    });
    const sign = down ? -1 : 1;
    found.sort((a, b) => {
      const x = keys.get(a), y = keys.get(b);
      return x === y ? 0 : x < y ? -sign : sign;
    });
    shown = PAGE_ROWS;
    draw();
  };

  const head = make("tr");
  const tell = () => {
    [...head.cells].forEach((th, i) => {
      if (i === sorted) th.setAttribute("aria-sort", down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    });
  };
  COLUMNS.forEach((column, i) => {
    const th = make("th", undefined, column.number ? "n" : "");
    th.scope = "col";
    if (column.key) {
      const button = make("button", column.name);
      button.type = "button";
      button.addEventListener("click", () => {
        down = i === sorted ? !down : Boolean(column.number);
        sorted = i;
        tell();
        select();
      });
      th.append(button);
    } else {
      th.textContent = column.name;
    }
    head.append(th);
  });
  const thead = make("thead");
  thead.append(head);
  table.append(thead, body);

  data.logs.forEach((name, i) => {
    const option = make("option", name);
    option.value = i;
    byId("log").append(option);
  });
  for (const id of ["words", "log", "again", "cold", "broken"]) byId(id).addEventListener("input", select);
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  byId("more").addEventListener("click", () => {
    shown += PAGE_ROWS;
    draw();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      byId("words").focus();
    } else if (event.key === "Escape" && document.activeElement === byId("words")) {
      byId("words").value = "";
      select();
    }
  });
  tell();
  select();
})();
