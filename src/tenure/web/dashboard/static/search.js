// Completes the words of the search field, by mouse and by keyboard: a combobox with a list of words that
// the server offers for the word before the cursor.

const field = document.querySelector("input[data-complete]");
const list = document.createElement("ul");
const PAUSE = 80; // ms after a key
const WORDS = /(?:[^\s"]|"[^"]*(?:"|$))+|\s+/g; // a value in quotes may have spaces

let active = -1;
let timer = null;
let asking = null;

function begin() {
  list.id = "search-words";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Words for the search");
  list.hidden = true;
  field.after(list);
  for (const [name, value] of Object.entries({
    role: "combobox",
    "aria-autocomplete": "list",
    "aria-controls": list.id,
    "aria-expanded": "false",
  })) {
    field.setAttribute(name, value);
  }
  field.addEventListener("input", soon);
  field.addEventListener("focus", soon);
  field.addEventListener("blur", close);
  field.addEventListener("keydown", press);
  // Before the field loses the focus.
  list.addEventListener("mousedown", (event) => {
    event.preventDefault();
    const option = event.target.closest("[role=option]");
    if (option) accept(option);
  });
  // The list is ours: what arrives does not have it.
  document.addEventListener("tenure:fresh", ({ detail }) => {
    const combo = detail.querySelector(".combo");
    if (combo) combo.dataset.same = "";
  });
}

// Return the word before the cursor.
const word = () => field.value.slice(0, field.selectionStart).match(WORDS)?.at(-1).trim() ?? "";

function soon() {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
}

async function ask() {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  const address = `${field.dataset.complete}?word=${encodeURIComponent(word())}`;
  try {
    const answer = await fetch(address, { credentials: "same-origin", signal });
    if (answer.ok) offer(await answer.json());
  } catch {
    if (!signal.aborted) close();
  }
}

function offer(words) {
  if (document.activeElement !== field) return;
  const chosen = list.children[active]?.dataset.word;
  list.replaceChildren(
    ...words.map(([text, hint], index) => {
      const option = document.createElement("li");
      option.id = `search-word-${index}`;
      option.dataset.word = text;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.append(text);
      if (hint) option.append(" ", Object.assign(document.createElement("small"), { textContent: hint }));
      return option;
    }),
  );
  active = -1;
  show(words.some(([text]) => text !== word()));
  const again = words.findIndex(([text]) => text === chosen);
  if (again >= 0 && !list.hidden) move(again + 1); // an answer that comes late keeps the choice
}

function show(isOpen) {
  list.hidden = !isOpen;
  field.setAttribute("aria-expanded", String(isOpen));
  if (!isOpen) field.removeAttribute("aria-activedescendant");
}

function close() {
  clearTimeout(timer);
  asking?.abort();
  active = -1;
  show(false);
}

function move(step) {
  const options = [...list.children];
  active = (active + step + options.length + (active < 0 && step < 0 ? 1 : 0)) % options.length;
  options.forEach((option, index) => option.setAttribute("aria-selected", String(index === active)));
  field.setAttribute("aria-activedescendant", options[active].id);
  options[active].scrollIntoView({ block: "nearest" });
}

function accept(option) {
  const text = option.dataset.word;
  const end = field.selectionStart;
  const start = end - word().length;
  const rest = field.value.slice(end).trimStart();
  const isWhole = !text.endsWith(":");
  const before = field.value.slice(0, start) + text + (isWhole ? " " : "");
  field.value = before + rest;
  field.setSelectionRange(before.length, before.length);
  if (isWhole) close();
  else ask();
}

function press(event) {
  if (event.key === "Escape" && !list.hidden) {
    event.preventDefault();
    close();
  } else if (list.hidden) {
    if (event.key === "ArrowDown") ask();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    move(event.key === "ArrowDown" ? 1 : -1);
  } else if ((event.key === "Enter" || event.key === "Tab") && active >= 0) {
    event.preventDefault();
    accept(list.children[active]);
  }
}

if (field) begin();
