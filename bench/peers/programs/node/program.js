// The command line of the programs for Node.js: the same words and notes as programs/program.py.
"use strict";
const fs = require("fs");
const path = require("path");

const FOLDER = process.env.BENCH_NOTES || ".";
const WORKER = process.env.BENCH_WORKER || "0";
const EVENTS = path.join(FOLDER, "events");
const FIRST = 5; // that are not counted

const now = () => Number(process.hrtime.bigint()) / 1e9;
const sleep = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

let counter = null;
let jobs = 0;
const cell = Buffer.alloc(8);

function count() {
  if (counter === null) {
    counter = fs.openSync(path.join(FOLDER, `count-${WORKER}-${process.pid}`), "w+");
  }
  jobs += 1;
  cell.writeBigInt64LE(BigInt(jobs));
  fs.writeSync(counter, cell, 0, 8, 0);
}

function counted() {
  let total = 0;
  for (const name of fs.readdirSync(FOLDER)) {
    if (!name.startsWith("count-")) continue;
    const raw = fs.readFileSync(path.join(FOLDER, name));
    if (raw.length === 8) total += Number(raw.readBigInt64LE());
  }
  return total;
}

function note(what, key) {
  fs.appendFileSync(EVENTS, `${what} ${key} ${now().toFixed(7)} ${process.pid}\n`);
}

function noted(what) {
  if (!fs.existsSync(EVENTS)) return new Map();
  const lines = fs.readFileSync(EVENTS, "utf8").trim().split("\n");
  const parts = lines.map((line) => line.split(" ")).filter((part) => part[0] === what);
  return new Map(parts.map((part) => [part[1], parseFloat(part[2])]));
}

async function rate(n, work) {
  const began = now();
  await work();
  return n / (now() - began);
}

async function singly(peer, n) {
  for (let i = 0; i < FIRST; i++) await peer.enqueue("noop", `first-${i}`);
  return rate(n, async () => {
    for (let i = 0; i < n; i++) await peer.enqueue("noop", String(i));
  });
}

async function pickUp(peer, n) {
  const called = new Map();
  for (let i = 0; i < FIRST + n; i++) {
    await sleep(0.03 * (1 + Math.random()));
    called.set(String(i), now());
    await peer.enqueue("enter", String(i));
  }
  const end = now() + 30;
  while (!noted("entered").has(String(FIRST + n - 1)) && now() < end) await sleep(0.005);
  const entered = noted("entered");
  return [...called]
    .filter(([key]) => Number(key) >= FIRST && entered.has(key))
    .map(([key, at]) => entered.get(key) - at);
}

async function drained(peer, n, patience) {
  note("watching", n);
  const end = now() + patience;
  while (now() < end) {
    if (counted() >= n && (await peer.isDrained())) return now();
    await sleep(0.005);
  }
  return null;
}

async function main(peer) {
  const [command, ...args] = process.argv.slice(2);
  if (command === "worker") return peer.work(Number(args[0]));
  let told;
  if (command === "prepare") {
    await peer.prepare();
  } else {
    await peer.open();
    if (command === "enqueue") await peer.enqueue(args[0], args[1]);
    else if (command === "enqueue-singly") told = await singly(peer, Number(args[0]));
    else if (command === "enqueue-many")
      told = await rate(Number(args[1]), () => peer.enqueueMany(args[0], Number(args[1])));
    else if (command === "pick-up") told = await pickUp(peer, Number(args[0]));
    else if (command === "drained") told = await drained(peer, Number(args[0]), Number(args[1]));
    else throw new Error(`there is no command ${command}`);
    await peer.close();
  }
  if (told !== undefined) console.log(JSON.stringify(told));
  process.exit(0);
}

module.exports = { URL: process.env.BENCH_URL, count, main, note, sleep };
