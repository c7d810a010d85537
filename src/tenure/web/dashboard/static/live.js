// Keeps a page current: an event stream says when to look, the page itself is what is looked at.
//
// <main data-live="stream" data-every="seconds"> is fetched anew and merged into what is there, so
// that focus, scrolling, open details and half-filled forms stay as they are. A part with a mark is
// not sent again while it is the same.

const PAUSE = 250; // ms between two looks, at least; up to data-pause when many look
const AGAIN = 2000; // ms before a stream that was refused is tried once more

const page = () => document.querySelector("main");
const cut = document.querySelector(".cut");

let stream = null;
let streamed = null;
let looking = false;
let wanted = false;
let waiting = null;
let timer = null;
let ahead = 0; // ms by which the server's clock is ahead of ours

function say(isCut) {
  if (cut) cut.hidden = !isCut;
  document.documentElement.classList.toggle("is-cut", isCut);
}

// What never changes is not fetched anew either: it may be there to be read once.
function mayMove() {
  const { live, every } = page()?.dataset ?? {};
  return Boolean(live || every);
}

async function look() {
  if (looking) {
    wanted = true;
    return;
  }
  looking = true;
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
    if (answer.status < 500) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (fresh.querySelector("main")) merge(page(), fresh.querySelector("main"));
      say(false);
    } else {
      say(true);
    }
  } catch {
    say(true);
  } finally {
    looking = false;
  }
  begin();
  if (wanted) soon();
}

function marks() {
  return [...document.querySelectorAll("[data-mark]")].map((one) => one.dataset.mark).join(" ");
}

function soon() {
  if (waiting === null) {
    waiting = setTimeout(() => {
      waiting = null;
      look();
    }, PAUSE + Math.random() * Math.max((page()?.dataset.pause ?? 0) - PAUSE, 0));
  }
}

function begin() {
  const { live, every } = page()?.dataset ?? {};
  if (streamed !== (live ?? null) || (live && !stream)) open(live ?? null);
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
    say(false);
    if (!isFirst) soon();
    isFirst = false;
  };
  opened.onerror = () => {
    if (opened !== stream) return;
    if (opened.readyState === EventSource.CLOSED) {
      // Refused, or there is nothing more to come: the page itself says which.
      stream = null;
      setTimeout(() => stream === null && streamed === live && look(), AGAIN);
    } else {
      say(true);
    }
  };
  for (const kind of ["job", "cancellation", "totals"]) opened.addEventListener(kind, soon);
}

function key(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.id || node.dataset.key || "" : "";
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
  if (old.matches("input, textarea, select")) return; // what somebody is filling in is theirs
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
    time.textContent = seconds > 0 ? `in ${seconds} s` : "now";
  }
}

if (page()?.dataset.now) ahead = Date.parse(page().dataset.now) - Date.now();
for (const tail of document.querySelectorAll("[data-tail]")) tail.scrollTop = tail.scrollHeight;
setInterval(tick, 500);
// On a narrow screen the pages stand in a row that one scrolls.
document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    open(null);
    clearInterval(timer);
  } else if (mayMove()) {
    look();
  }
});
addEventListener("pageshow", (event) => event.persisted && mayMove() && look());
begin();
