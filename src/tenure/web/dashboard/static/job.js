// The page of a job, made smooth: links that change a part of it do so without loading it again, the
// timeline is zoomed by dragging, and the time axis of a stop in progress moves.
//
// Without this module the same links load the page.

const ZOOM = 180; // ms
const MIN_DRAG = 6; // pixels

const show = (address) => {
  history.pushState(null, "", address);
  document.dispatchEvent(new Event("tenure:refresh"));
};
const isPlain = (event) => !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button);

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-soft]");
  if (!link || !isPlain(event)) return;
  event.preventDefault();
  const from = bounds();
  show(link.href);
  const query = new URL(link.href).searchParams;
  if (link.closest(".zoom")) zoom(from, query.has("from") ? [+query.get("from"), +query.get("to")] : [0, whole()]);
});
addEventListener("popstate", () => document.dispatchEvent(new Event("tenure:refresh")));

const timeline = () => document.querySelector(".timeline");
const bounds = () => [+timeline().dataset.from, +timeline().dataset.to];
const whole = () => +timeline().dataset.whole;
const drawings = () => timeline().querySelectorAll("li svg");

// Move the drawings to another window; the server then draws that window itself.
function zoom([since, until], [begin, end]) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const started = performance.now();
  const step = (now) => {
    const share = Math.min((now - started) / ZOOM, 1);
    const at = (a, b) => a + (b - a) * share * (2 - share);
    const [from, to] = bounds();
    if (from !== since || to !== until) return settle(); // the server has drawn it
    const scale = 1000 / (until - since);
    const x = (at(since, begin) - since) * scale;
    const width = Math.max((at(until, end) - at(since, begin)) * scale, 0.001);
    for (const svg of drawings()) svg.setAttribute("viewBox", `${x} 0 ${width} 24`);
    if (share < 1) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

function settle() {
  for (const svg of drawings()) svg.setAttribute("viewBox", "0 0 1000 24");
}

let drag = null;

document.addEventListener("pointerdown", (event) => {
  const svg = event.target.closest?.(".timeline li svg");
  if (!svg || event.button || event.pointerType === "touch") return;
  drag = { box: svg.getBoundingClientRect(), begin: event.clientX, end: event.clientX };
});
document.addEventListener("pointermove", (event) => {
  if (!drag) return;
  drag.end = Math.min(Math.max(event.clientX, drag.box.left), drag.box.right);
  if (Math.abs(drag.end - drag.begin) < MIN_DRAG) return;
  event.preventDefault();
  timeline().classList.add("is-dragged");
  const [x, until] = picked().map((share) => share * 1000);
  for (const svg of drawings()) {
    const rect = svg.querySelector(".picked") ?? document.createElementNS(svg.namespaceURI, "rect");
    rect.setAttribute("class", "picked");
    rect.setAttribute("x", x);
    rect.setAttribute("width", until - x);
    rect.setAttribute("height", 24);
    svg.append(rect);
  }
});
document.addEventListener("pointerup", () => {
  if (!drag) return;
  const shares = picked();
  const isDrag = timeline().classList.contains("is-dragged");
  drag = null;
  if (!isDrag) return;
  timeline().classList.remove("is-dragged");
  for (const rect of timeline().querySelectorAll(".picked")) rect.remove();
  const [since, until] = bounds();
  const chosen = shares.map((share) => since + (until - since) * share);
  const address = new URL(location.href);
  address.searchParams.set("from", chosen[0].toFixed(3));
  address.searchParams.set("to", Math.max(chosen[1], chosen[0] + 0.001).toFixed(3));
  show(address);
  zoom([since, until], chosen);
});

function picked() {
  const shares = [drag.begin, drag.end].map((x) => (x - drag.box.left) / drag.box.width);
  return shares.sort((a, b) => a - b).map((share) => Math.min(Math.max(share, 0), 1));
}

const main = document.querySelector("main");
const ahead = main?.dataset.now ? Date.parse(main.dataset.now) - Date.now() : 0;

// Text as `elapsed` of the server writes it.
function elapsed(seconds) {
  if (seconds < 60) return `${Math.max(seconds, 0).toFixed(0)} s`;
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  return hours ? `${hours} h ${minutes % 60} m` : `${minutes} m ${Math.floor(seconds % 60)} s`;
}

function tick() {
  const now = Date.now() + ahead;
  for (const time of document.querySelectorAll("time[data-since]")) {
    time.textContent = elapsed((now - Date.parse(time.dataset.since)) / 1000);
  }
  for (const strip of document.querySelectorAll(".strip")) {
    const { begin, end } = strip.querySelector(".stop-axis").dataset;
    const x = Math.min(Math.max((now - Date.parse(begin)) / (Date.parse(end) - Date.parse(begin)), 0), 1) * 1000;
    strip.querySelector(".cursor")?.setAttribute("d", `M${x.toFixed(1)} 0V24`);
    for (const rect of strip.querySelectorAll("rect.open")) {
      rect.setAttribute("width", Math.max(x - rect.getAttribute("x"), 3).toFixed(1));
    }
  }
}
setInterval(tick, 100);
