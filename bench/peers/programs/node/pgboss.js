// pg-boss, with batches.
"use strict";
const boss = require("pg-boss");
const { Pool } = require("pg");
const { URL, count, main, note, sleep } = require("./program");

const PgBoss = boss.PgBoss || boss;
const BATCH = 5000;
const FETCHERS = 4;
const LONG = 60;
const QUEUES = ["noop", "enter", "wait", "nap"];
const OPEN = "SELECT EXISTS (SELECT FROM pgboss.job WHERE state < 'completed') AS open";

function connect() {
  const made = new PgBoss({ connectionString: URL, max: 10 });
  made.on("error", (error) => console.error(error));
  return made;
}

const JOBS = {
  noop: async () => count(),
  enter: async (key) => note("entered", key),
  wait: async (key) => {
    note("entered", key);
    await sleep(LONG);
  },
  nap: async () => {
    count();
    await sleep(40);
  },
};

main({
  async open() {
    this.boss = connect();
    await this.boss.start();
    this.pool = new Pool({ connectionString: URL });
  },
  async close() {
    await this.pool.end();
    await this.boss.stop({ graceful: false, wait: false });
  },
  async prepare() {
    await this.open();
    for (const name of QUEUES) await this.boss.createQueue(name);
    await this.close();
  },
  enqueue(job, key) {
    return this.boss.send(job, { key });
  },
  async enqueueMany(job, n) {
    for (let start = 0; start < n; start += BATCH) {
      const size = Math.min(BATCH, n - start);
      const made = Array.from({ length: size }, (_, i) => ({ data: { key: String(start + i) } }));
      if (this.boss.insert.length > 1) await this.boss.insert(job, made);
      else await this.boss.insert(made.map((each) => ({ name: job, ...each })));
    }
  },
  async isDrained() {
    return !(await this.pool.query(OPEN)).rows[0].open;
  },
  async work(batchSize) {
    const worker = connect();
    await worker.start();
    const options = { batchSize, pollingIntervalSeconds: 0.5 };
    for (const name of QUEUES) {
      for (let each = 0; each < (name === "noop" ? FETCHERS : 1); each++) {
        await worker.work(name, options, (taken) =>
          Promise.all(taken.map((job) => JOBS[name](job.data.key))),
        );
      }
    }
  },
});
