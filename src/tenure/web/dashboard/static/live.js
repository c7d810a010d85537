// Keeps a page current: an event stream reports when to refresh; the page itself is fetched again.
//
// <main data-live="stream" data-every="seconds"> is fetched and merged into the page, so that focus,
// scrolling, open details and half-filled forms are kept. A part with a mark is not sent again while
// it is unchanged. A page's own script may change what arrives, the detail of the event "tenure:fresh".
//
// The stream also brings the numbers of the sidebar. A page that never changes opens one for them alone.

const PAUSE = 250; // ms between two refreshes, at least; up to data-pause with many viewers
const RETRY = 2000; // ms before a refused stream is opened again
const RARELY = 30000; // the same for a page that never changes

const page = () => document.querySelector("main");
const side = document.querySelector(".side");
const cut = document.querySelector(".cut");

let stream = null;
let streamed = null;
let refreshing = false;
let wanted = false;
let waiting = null;
let timer = null;
let ahead = 0; // ms by which the server's clock is ahead of ours

function showCut(isCut) {
  if (cut) cut.hidden = !isCut;
  document.documentElement.classList.toggle("is-cut", isCut);
}

// A page that never changes is not fetched again: it may show a secret only once.
function mayChange() {
  const { live, every } = page()?.dataset ?? {};
  return Boolean(live || every);
}

async function refresh() {
  if (refreshing) {
    wanted = true;
    return;
  }
  refreshing = true;
  wanted = false;
  try {
    const answer = await fetch(location.href, {
      headers: { "X-Fragment": "main", "X-Have": marks() },
      credentials: "same-origin",
      cache: "no-store",
    });
    if (answer.status === 401) {
      location.reload();
      return;
    }
    if (answer.status < 500 && answer.status !== 429) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const main = fresh.querySelector("main");
      if (main && main.dataset.tenant !== page().dataset.tenant) {
        location.reload(); // another tenant was opened beside this page
        return;
      }
      if (main) {
        document.dispatchEvent(new CustomEvent("tenure:fresh", { detail: main }));
        merge(page(), main);
      }
      showCut(false);
    } else {
      showCut(true);
    }
  } catch {
    showCut(true);
  } finally {
    refreshing = false;
  }
  begin();
  if (wanted) soon();
}

function marks() {
  return [...document.querySelectorAll("[data-mark]")].map((part) => part.dataset.mark).join(" ");
}

function soon() {
  if (waiting === null) {
    waiting = setTimeout(() => {
      waiting = null;
      refresh();
    }, PAUSE + Math.random() * Math.max((page()?.dataset.pause ?? 0) - PAUSE, 0));
  }
}

function begin() {
  const { every } = page()?.dataset ?? {};
  const live = page()?.dataset.live ?? side?.dataset.counts ?? null;
  if (streamed !== live || (live && !stream)) open(live);
  clearInterval(timer);
  timer = every && !document.hidden ? setInterval(soon, every * 1000) : null;
}

function open(live) {
  stream?.close();
  stream = null;
  streamed = live;
  if (!live || document.hidden) return;
  const opened = (stream = new EventSource(live));
  let isFirst = true;
  opened.onopen = () => {
    showCut(false);
    if (!isFirst && mayChange()) soon();
    isFirst = false;
  };
  opened.onerror = () => {
    if (opened !== stream) return;
    if (opened.readyState === EventSource.CLOSED) {
      // Refused, or nothing more to come: a refresh of the page shows which.
      stream = null;
      const again = mayChange() ? refresh : begin;
      setTimeout(() => stream === null && streamed === live && again(), mayChange() ? RETRY : RARELY);
    } else {
      showCut(true);
    }
  };
  for (const kind of ["job", "cancellation", "totals"]) {
    opened.addEventListener(kind, () => page().dataset.live && soon());
  }
  opened.addEventListener("counts", (event) => showCounts(JSON.parse(event.data)));
}

function showCounts(counts) {
  for (const link of side?.querySelectorAll("[data-counted]") ?? []) {
    const count = counts[link.dataset.counted];
    let shown = link.querySelector(".count");
    if (!count) {
      shown?.remove();
      continue;
    }
    if (!shown) link.append(" ", (shown = document.createElement("span")));
    shown.className = `count ${count.tone}`;
    shown.title = count.text;
    shown.textContent = count.n;
  }
}

// Not node.id: in a form that is its field with the name "id".
function key(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.getAttribute("id") || node.dataset.key || "" : "";
}

function alike(a, b) {
  return a && a.nodeType === b.nodeType && a.nodeName === b.nodeName && key(a) === key(b);
}

function merge(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.isEqualNode(fresh) || "same" in fresh.dataset) return;
  attributes(old, fresh);
  if (old.matches("input, textarea, select")) return; // the user may be filling it in
  const atEnd = old.scrollTop + old.clientHeight >= old.scrollHeight - 4;
  const keyed = new Map();
  for (const child of old.childNodes) if (key(child)) keyed.set(key(child), child);
  let place = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const known = keyed.get(key(child));
    if (known && alike(known, child)) {
      keyed.delete(key(child));
      if (known === place) place = place.nextSibling;
      else old.insertBefore(known, place);
      merge(known, child);
    } else if (alike(place, child) && !key(child)) {
      merge(place, child);
      place = place.nextSibling;
    } else {
      old.insertBefore(child, place);
    }
  }
  while (place) {
    const gone = place;
    place = place.nextSibling;
    gone.remove();
  }
  if ("tail" in old.dataset && atEnd) old.scrollTop = old.scrollHeight;
}

function attributes(old, fresh) {
  const mine = old.nodeName === "DETAILS" ? ["open"] : ["value", "checked", "selected"];
  const kept = old.nodeName === "PROGRESS" ? [] : mine;
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !kept.includes(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !kept.includes(name)) old.setAttribute(name, value);
  }
}

function tick() {
  const now = Date.now() + ahead;
  for (const time of document.querySelectorAll("time[data-until]")) {
    const seconds = Math.ceil((Date.parse(time.dataset.until) - now) / 1000);
    const minutes = Math.round(seconds / 60);
    time.textContent = seconds > 300 ? `in ${minutes} m` : seconds > 0 ? `in ${seconds} s` : "now";
  }
}

if (page()?.dataset.now) ahead = Date.parse(page().dataset.now) - Date.now();
for (const tail of document.querySelectorAll("[data-tail]")) tail.scrollTop = tail.scrollHeight;
setInterval(tick, 500);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    open(null);
    clearInterval(timer);
  } else if (mayChange()) {
    refresh();
  } else {
    begin();
  }
});
document.addEventListener("tenure:refresh", refresh); // the address has changed
addEventListener("pageshow", (event) => event.persisted && mayChange() && refresh());
begin();
