// Graphile Worker, with a local queue and completions in batches.
"use strict";
const { Logger, makeWorkerUtils, run } = require("graphile-worker");
const { Pool } = require("pg");
const { URL, count, main, note, sleep } = require("./program");

const BATCH = 5000;
const LONG = 60;
const OPEN = "SELECT EXISTS (SELECT FROM graphile_worker._private_jobs) AS open";
const quiet = new Logger(() => () => {});

main({
  async open() {
    this.pool = new Pool({ connectionString: URL, max: 10 });
    this.utils = await makeWorkerUtils({ pgPool: this.pool, logger: quiet });
  },
  async close() {
    await this.utils.release();
    await this.pool.end();
  },
  async prepare() {
    await this.open();
    await this.utils.migrate();
    await this.close();
  },
  enqueue(job, key) {
    return this.utils.addJob(job, { key });
  },
  async enqueueMany(job, n) {
    for (let start = 0; start < n; start += BATCH) {
      const size = Math.min(BATCH, n - start);
      const made = Array.from({ length: size }, (_, i) => ({
        identifier: job,
        payload: { key: String(start + i) },
      }));
      await this.utils.addJobs(made);
    }
  },
  async isDrained() {
    return !(await this.pool.query(OPEN)).rows[0].open;
  },
  async work(concurrentJobs) {
    const pgPool = new Pool({ connectionString: URL, max: 12 });
    pgPool.on("error", () => {});
    await run({
      pgPool,
      logger: quiet,
      noHandleSignals: true,
      preset: {
        worker: {
          concurrentJobs,
          pollInterval: 2000,
          localQueue: { size: 500 },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
      taskList: {
        noop: async () => count(),
        enter: async ({ key }) => note("entered", key),
        wait: async ({ key }) => {
          note("entered", key);
          await sleep(LONG);
        },
        nap: async () => {
          count();
          await sleep(40);
        },
      },
    });
  },
});
