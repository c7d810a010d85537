// The list of jobs: the selection, which live updates keep, and rows that do not move while they are used.
//
// Rows stay where they are while any is selected, or has the pointer or the focus: new jobs wait behind a
// button, and jobs that have left the list stay until the selection ends.

const main = () => document.querySelector("main");
const boxes = (root = main()) => [...root.querySelectorAll("input[name=id]")];
const rows = (root) => [...root.querySelectorAll(".selection tr[data-key]")];
const isTop = (row) => row.classList.contains("depth-0");

let last = null; // the box that was clicked last: Shift selects from there
let isReleased = false; // show the new jobs now

// Adapt the page, or what is about to be merged into it, to the selection.
function dress(root) {
  const all = main().querySelector("input[name=all]");
  if (!all || !root.querySelector("[data-picked]")) return;
  const picked = boxes().filter((box) => box.checked).length;
  const isAny = all.checked || picked > 0;
  root.querySelector("[data-picked]").textContent = all.checked
    ? "All that match"
    : picked > 0
      ? `${picked} selected`
      : "None selected";
  for (const button of root.querySelectorAll("button[name=intent]")) button.disabled = !isAny;
  const form = root.querySelector("form.selection");
  form.classList.add("scripted");
  form.classList.toggle("has-picked", isAny);
  const page = root.querySelector("[data-page]");
  page.hidden = false;
  page.checked = picked > 0 && picked === boxes().length;
  page.indeterminate = picked > 0 && !page.checked;
  for (const row of rows(root)) row.classList.toggle("is-picked", isPicked(row.dataset.key));
}

function isPicked(id) {
  return main().querySelector(`input[name=id][value="${CSS.escape(id)}"]`)?.checked ?? false;
}

function isInUse() {
  return Boolean(main().querySelector("tbody:is(:hover, :focus-within) tr[data-key], tr.is-picked"));
}

// Keep the rows of the page where they are; return the number of new ones that wait.
function hold(fresh) {
  const old = new Map(rows(main()).map((row) => [row.dataset.key, row]));
  const body = fresh.querySelector("form.selection tbody");
  if (!body || old.size === 0) return 0;
  const waiting = rows(fresh).filter((row) => isTop(row) && !old.has(row.dataset.key));
  for (const row of waiting) row.remove();
  const kept = new Map(rows(fresh).map((row) => [row.dataset.key, row]));
  let before = null;
  for (const [id, row] of old) {
    let stays = kept.get(id);
    if (!stays && isTop(row)) {
      stays = document.importNode(row, true);
      while (before?.nextElementSibling && !isTop(before.nextElementSibling)) before = before.nextElementSibling;
      if (before) before.after(stays);
      else body.prepend(stays);
    }
    before = stays ?? before;
  }
  return waiting.length;
}

document.addEventListener("tenure:fresh", ({ detail: fresh }) => {
  const waiting = isInUse() && !isReleased ? hold(fresh) : 0;
  isReleased = false;
  dress(fresh);
  const newer = fresh.querySelector("[data-newer]");
  if (!newer) return;
  newer.hidden = waiting === 0;
  newer.firstElementChild.textContent = waiting === 1 ? "Show 1 new job" : `Show ${waiting} new jobs`;
});

document.addEventListener("change", ({ target }) => {
  if (target.matches("[data-page]")) for (const box of boxes()) box.checked = target.checked;
  if (target.closest("form.selection")) dress(main());
});

document.addEventListener("click", (event) => {
  const { target } = event;
  if (target.matches("input[name=id]")) {
    const all = boxes();
    const [from, to] = [all.indexOf(last), all.indexOf(target)];
    if (event.shiftKey && from >= 0) {
      for (const box of all.slice(Math.min(from, to), Math.max(from, to) + 1)) box.checked = target.checked;
    }
    last = target;
    dress(main());
  } else if (target.closest("[data-newer]")) {
    isReleased = true;
    document.dispatchEvent(new Event("tenure:refresh"));
  } else if (target.closest("a[data-stay]") && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    history.replaceState(null, "", target.closest("a").href);
    document.dispatchEvent(new Event("tenure:refresh"));
  }
});

dress(main());
addEventListener("pageshow", () => dress(main()));
