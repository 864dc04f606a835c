#include "render/html_page.h"

#include <fmt/format.h>

#include "render/colormap.h"

namespace qkv {
namespace {

// Colours stand once, as variables.  The dark ones are for screens only: paper is white.
constexpr std::string_view kStyle = R"css(
:root {
  --paper: #fdfdfb; --card: #ffffff; --ink: #1d2430; --quiet: #566070; --line: #dfe2e7; --accent: #1f5fae;
  --good: #176b3a; --warn: #8a4b00; --warn-paper: #fff6e5; --note-paper: #eef4fc; --stripe: #9aa3b0; --mark: #d1345b;
}
@media screen and (prefers-color-scheme: dark) { :root:not([data-theme="light"]) {
  --paper: #14171c; --card: #1b1f26; --ink: #e6e8ec; --quiet: #a3acba; --line: #333a45; --accent: #8cb8f5;
  --good: #7fd0a0; --warn: #f2bd72; --warn-paper: #33290f; --note-paper: #1a2738; --stripe: #6b7584; --mark: #ff86a5;
  color-scheme: dark; } }
@media screen { :root[data-theme="dark"] {
  --paper: #14171c; --card: #1b1f26; --ink: #e6e8ec; --quiet: #a3acba; --line: #333a45; --accent: #8cb8f5;
  --good: #7fd0a0; --warn: #f2bd72; --warn-paper: #33290f; --note-paper: #1a2738; --stripe: #6b7584; --mark: #ff86a5;
  color-scheme: dark; } }

html[lang="en"] [lang="zh"]:not(button), html[lang="zh"] [lang="en"]:not(button) { display: none; }
[hidden] { display: none !important; }

html { scroll-padding: 4.5rem 0 9rem; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, "Segoe UI", Roboto, "Noto Sans", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1.25rem 10rem; }
h1 { font-size: 1.7rem; line-height: 1.3; margin: .5rem 0 .75rem; }
h2 { font-size: 1.15rem; margin: 0 0 .25rem; }
h2 b { display: inline-block; min-width: 1.65em; margin-right: .5em; border-radius: .35em; text-align: center;
  font-weight: 600; color: var(--accent); border: 1px solid currentColor; }
p { margin: .35rem 0; }
a { color: var(--accent); }
.faint { color: var(--quiet); font-size: .92rem; }
.good { color: var(--good); }
.good::before { content: "\2713  "; }
.note, .warning { padding: .4rem .8rem; border-left: 3px solid var(--accent); background: var(--note-paper); }
.warning { border-color: var(--warn); background: var(--warn-paper); }
.warning b { color: var(--warn); }
section, .heads { margin: 1.25rem 0; padding: 1.1rem 1.25rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .6rem; }
h2 code { font: .85em ui-monospace, Consolas, "Noto Sans Mono", monospace; color: var(--quiet); margin-left: .35em; }
.formula { font-size: 1.25rem; margin: .6rem 0 .15rem; overflow-x: auto; overflow-y: hidden; }
.shapes { color: var(--quiet); font-size: .9rem; }
.scroll { overflow-x: auto; margin: .75rem 0 .25rem; padding: 4px; }
table { border-collapse: separate; border-spacing: 3px; font-variant-numeric: tabular-nums; }
th { font-weight: 500; color: var(--quiet); padding: .1rem .5rem; text-align: right; white-space: nowrap; }
th[scope="row"] { position: sticky; left: 0; background: var(--card); text-align: left; z-index: 1; }
td { padding: .3rem .65rem; text-align: right; border-radius: .3rem; white-space: nowrap; min-width: 3.2em; cursor: default; }
td.term { text-align: left; background: var(--note-paper); }
td.sum { color: var(--quiet); font-style: italic; }
td.no { color: var(--ink); background: repeating-linear-gradient(135deg, transparent 0 5px, var(--stripe) 5px 6px), var(--card);
  text-shadow: 0 0 3px var(--card), 0 0 3px var(--card), 0 0 3px var(--card); }
html.plain td:not(.no):not(.term) { background: none; color: inherit; box-shadow: inset 0 0 0 1px var(--line); }
td:focus-visible, button:focus-visible, a:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
td:focus { outline: 3px solid var(--accent); outline-offset: 1px; }
td.at { outline: 3px solid var(--ink); outline-offset: 1px; }
td.from { outline: 3px dashed var(--mark); outline-offset: 0; box-shadow: 0 0 0 3px var(--card); }
.scale { display: flex; flex-wrap: wrap; align-items: center; gap: .3rem .6rem; color: var(--quiet); font-size: .85rem; }
.scale i { display: inline-block; width: .55rem; height: .8rem; }
.scale .ramp { display: inline-flex; border-radius: .2rem; overflow: hidden; }
.scale .no { width: 1.4rem; border-radius: .2rem; border: 1px solid var(--line); height: .8rem;
  background: repeating-linear-gradient(135deg, transparent 0 4px, var(--stripe) 4px 5px); }
.working { overflow-x: auto; margin: .75rem 0 0; padding: 0; list-style: none; font: .88rem/1.7 ui-monospace, Consolas, "Noto Sans Mono", monospace; }
pre { overflow-x: auto; }

.bar { position: sticky; top: 0; z-index: 3; background: var(--paper); border-bottom: 1px solid var(--line); }
.bar div { max-width: 62rem; margin: 0 auto; padding: .5rem 1.25rem; display: flex; flex-wrap: wrap; gap: .4rem; align-items: center; }
.bar .gap { flex: 1; padding: 0; }
button { font: inherit; font-size: .92rem; color: var(--ink); background: var(--card); border: 1px solid var(--line);
  border-radius: .45rem; padding: .2rem .75rem; min-height: 2.1rem; cursor: pointer; }
button:hover { border-color: var(--accent); }
button[aria-pressed="true"] { color: var(--paper); background: var(--accent); border-color: var(--accent); }
button:disabled { opacity: .45; cursor: default; }
#place { min-width: 4.5em; text-align: center; color: var(--quiet); font-variant-numeric: tabular-nums; }
#panel { position: fixed; inset: auto 0 0; z-index: 3; background: var(--card); border-top: 2px solid var(--accent);
  box-shadow: 0 -4px 16px rgb(0 0 0 / 12%); }
#panel > div { max-width: 62rem; margin: 0 auto; padding: .6rem 1.25rem; max-height: 30vh; min-height: 4.6em; overflow: auto;
  overflow-wrap: anywhere; font: 1rem/1.55 ui-monospace, Consolas, "Noto Sans Mono", "Noto Sans CJK SC", monospace; }
#arithmetic { display: grid; grid-template-columns: max-content 1fr; column-gap: .6em; }
#arithmetic b { font-weight: 600; }
#arithmetic span { grid-column: 2; }
#hint { color: var(--quiet); font-family: inherit; }

.heads ul { display: flex; flex-wrap: wrap; gap: 1rem; padding: 0; margin: .75rem 0 0; list-style: none; }
.heads a { display: block; text-decoration: none; text-align: center; color: var(--ink); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem; }
.heads a:hover { border-color: var(--accent); }
.heads svg { display: block; width: 8.5rem; height: 8.5rem; }
.heads pattern path { stroke: var(--stripe); stroke-width: .12; }

/* One step, and before it, side by side, the tables it reads. */
main.steps { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
main.steps > * { display: none; }
main.steps > .shown { display: block; flex: 1 1 26rem; box-sizing: border-box; margin: 0; max-width: 100%; border-color: var(--accent); }
main.steps > .read { display: block; margin: 0; padding: .7rem .9rem; max-width: 100%; box-sizing: border-box; }
main.steps > .read > :not(h2):not(.scroll) { display: none; }
main.steps > .read h2 { font-size: 1rem; }

@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } td { transition: outline-color .12s; } }
@media (max-width: 40rem) { main, .bar div, #panel > div { padding-left: .75rem; padding-right: .75rem; } section { padding: .8rem; } }
@media print {
  .bar, #panel { display: none; }
  html { font-size: 10pt; }
  body { background: white; }
  main, main.steps { display: block; max-width: none; padding: 0; }
  main.steps > *, main.steps > .shown { display: block; margin: .8rem 0; border-color: var(--line); }
  main.steps > .read > :not(h2):not(.scroll) { display: revert; }
  main.steps > .read, section { margin: .8rem 0; padding: .6rem .8rem; }
  section, tr, .heads li { break-inside: avoid; }
  h2 { break-after: avoid; }
  .scroll { overflow: visible; }
  td.from, td.at, td:focus { outline: none; box-shadow: none; }
  td, .scale i, .heads rect { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)css";

constexpr std::string_view kScript = R"js(
'use strict';
(() => {
  const root = document.documentElement;
  const main = document.querySelector('main');
  const $ = (id) => document.getElementById(id);
  const cells = [...document.querySelectorAll('td')];
  const number = new Map(cells.map((cell, k) => [cell, k]));
  const data = $('data') ? JSON.parse($('data').textContent) : { lines: [], from: [] };
  for (const part of document.querySelectorAll('[data-live]')) part.hidden = false;

  // The arithmetic of one cell, and the cells it came from.
  let focused = null;
  const show = (cell) => {
    for (const old of document.querySelectorAll('.at, .from')) old.classList.remove('at', 'from');
    const line = cell ? data.lines[number.get(cell)] : undefined;
    $('hint').hidden = Boolean(line);
    $('arithmetic').hidden = !line;
    if (!cell) return $('arithmetic').replaceChildren();
    cell.classList.add('at');
    if (!line) return;
    for (const k of data.from[number.get(cell)]) cells[k].classList.add('from');
    $('arithmetic').replaceChildren(...line.map((text, k) => {
      const part = document.createElement(k === 0 ? 'b' : 'span');
      part.textContent = k === 0 ? text : '= ' + text;
      return part;
    }));
  };
  main.addEventListener('mouseover', (event) => { const cell = event.target.closest('td'); if (cell) show(cell); });
  main.addEventListener('mouseout', (event) => { if (event.target.closest('td')) show(focused); });
  main.addEventListener('focusin', (event) => {
    const cell = event.target.closest('td');
    if (!cell) return;
    // One stop of the Tab key for each table: the cell that was last in focus.
    for (const other of cell.closest('table').querySelectorAll('td[tabindex="0"]')) other.tabIndex = -1;
    cell.tabIndex = 0;
    focused = cell;
    show(cell);
  });
  main.addEventListener('focusout', () => { focused = null; show(null); });
  for (const table of document.querySelectorAll('table')) {
    table.querySelectorAll('td').forEach((cell, k) => { cell.tabIndex = k === 0 ? 0 : -1; });
  }

  // Arrow keys, Home and End inside a table.
  const moved = (event, cell) => {
    const row = cell.parentNode;
    const rows = [...row.parentNode.rows];
    const place = [...row.querySelectorAll('td')].indexOf(cell);
    const at = (line, k) => line && [...line.querySelectorAll('td')].at(k);
    switch (event.key) {
      case 'ArrowRight': return at(row, place + 1);
      case 'ArrowLeft': return place > 0 ? at(row, place - 1) : undefined;
      case 'ArrowDown': return at(rows[rows.indexOf(row) + 1], place);
      case 'ArrowUp': return at(rows[rows.indexOf(row) - 1], place);
      case 'Home': return event.ctrlKey ? at(rows[0], 0) : at(row, 0);
      case 'End': return event.ctrlKey ? at(rows.at(-1), -1) : at(row, -1);
    }
    return null;
  };

  // One step at a time, or all.
  const steps = [...main.querySelectorAll('section')];
  let step = -1;  // all
  const go = (to) => {
    step = to;
    main.classList.toggle('steps', step >= 0);
    const reads = step >= 0 && steps[step].dataset.reads ? steps[step].dataset.reads.split(' ') : [];
    steps.forEach((section, k) => {
      section.classList.toggle('shown', k === step);
      section.classList.toggle('read', reads.includes(section.id));
    });
    $('place').textContent = (step < 0 ? '\u2013' : step + 1) + ' / ' + steps.length;
    $('all').setAttribute('aria-pressed', step < 0);
    $('previous').disabled = step <= 0;
    $('next').disabled = step === steps.length - 1;
    if (step >= 0) window.scrollTo(0, 0);
  };
  const forth = () => { if (step < steps.length - 1) go(step + 1); };
  const back = () => { if (step > 0) go(step - 1); };
  $('next').addEventListener('click', forth);
  $('previous').addEventListener('click', back);
  $('all').addEventListener('click', () => go(-1));
  window.addEventListener('hashchange', () => {
    const to = steps.findIndex((section) => '#' + section.id === location.hash);
    if (to >= 0 && step >= 0) go(to);
  });

  document.addEventListener('keydown', (event) => {
    if (event.altKey || event.metaKey) return;
    const cell = event.target.closest && event.target.closest('td');
    const next = cell ? moved(event, cell) : null;
    if (next !== null) {
      event.preventDefault();
      if (next) next.focus();
    } else if (event.key === 'Escape') {
      if (cell) cell.blur(); else if (step >= 0) go(-1);
    } else if (step >= 0 && (event.key === 'PageDown' || event.key === 'ArrowRight')) {  // as a presenter's remote sends them
      event.preventDefault();
      forth();
    } else if (step >= 0 && (event.key === 'PageUp' || event.key === 'ArrowLeft')) {
      event.preventDefault();
      back();
    }
  });

  // Language, light and dark, heat.
  const tongues = document.querySelectorAll('button[lang]');
  const speak = (language) => {
    root.lang = language;
    for (const button of tongues) button.setAttribute('aria-pressed', button.lang === language);
  };
  for (const button of tongues) button.addEventListener('click', () => speak(button.lang));
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  const is_dark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : system.matches);
  const tell_dark = () => $('dark').setAttribute('aria-pressed', is_dark());
  $('dark').addEventListener('click', () => { root.dataset.theme = is_dark() ? 'light' : 'dark'; tell_dark(); });
  system.addEventListener('change', tell_dark);
  $('heat').addEventListener('click', () => $('heat').setAttribute('aria-pressed', !root.classList.toggle('plain')));

  speak(root.lang);
  tell_dark();
  go(-1);
})();
)js";

}  // namespace

std::string page_style() {
  std::string style(kStyle);
  for (int level = 0; level < kHeatLevels; ++level) {
    const Rgb color = color_at(ColorMap::viridis, static_cast<double>(level) / (kHeatLevels - 1));
    style += fmt::format(".h{0} {{ background: {1}; color: {2}; fill: {1}; }}\n", level, hex(color),
                         hex(ink_on(color)));
  }
  return style;
}

std::string_view page_script() { return kScript; }

const std::string_view kPageStyleHash = "uVPsPP3ZvR4cWRK+EaXz4bB9JqbMafJbU9Ijnp0I8D4=";
const std::string_view kPageScriptHash = "0a6MFDarzYCKEZlt7AGrRRQ6GQR48NxPNuGqXweD11s=";

}  // namespace qkv
