// The frame around every page: the search by keyboard, groups of pages that stay folded, and lists
// that need no button. Without scripts the buttons are there, and all groups are open.

// "/" and Ctrl-K lead to the search, unless somebody is typing.
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, textarea, select");
  const isSearch = (event.key === "/" && !isTyping) || (event.key === "k" && (event.ctrlKey || event.metaKey));
  const search = document.querySelector("[data-jump]");
  if (!isSearch || !search) return;
  event.preventDefault();
  search.focus();
  search.select();
});

const FOLDED = "tenure.folded";
const folded = new Set(JSON.parse(localStorage.getItem(FOLDED) ?? "[]"));
for (const group of document.querySelectorAll("[data-fold]")) {
  const name = group.dataset.fold;
  if (folded.has(name)) group.open = false;
  group.addEventListener("toggle", () => {
    if (group.open) folded.delete(name);
    else folded.add(name);
    localStorage.setItem(FOLDED, JSON.stringify([...folded]));
  });
}

for (const form of document.querySelectorAll("form[data-submit]")) {
  form.querySelector("button").hidden = true;
  form.querySelector("select").addEventListener("change", () => form.requestSubmit());
}

// Completion of the search: what is known under the words so far.
const search = document.querySelector("[data-jump]");
let asked = null;
search?.addEventListener("input", () => {
  clearTimeout(asked);
  asked = setTimeout(async () => {
    const address = new URL(search.form.action);
    address.pathname += "/names";
    address.searchParams.set("q", search.value);
    const answer = await fetch(address, { credentials: "same-origin" });
    if (!answer.ok) return;
    const names = await answer.json();
    const options = names.map((name) => Object.assign(document.createElement("option"), { value: name }));
    search.list.replaceChildren(...options);
  }, 150);
});
