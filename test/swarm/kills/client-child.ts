/** A client as a process that may be killed: `client-child.ts <url> <name> <file of receipts>`. It ends when all tasks are done. */
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHttpTransport, systemClientHost, Worker } from '@agentjet/swarm-client';

const [url = '', client = '', receipts = ''] = process.argv.slice(2);
const worker = new Worker({
  host: systemClientHost,
  transport: createHttpTransport({ url, fetch, timeoutMs: 1000 }),
  client,
  revision: 'r1',
  purpose: 'any',
  parallel: 3,
  leaseSeconds: 30,
  waitSeconds: 0,
  heartbeatMs: 100,
  idleMs: 20,
  firstGapMs: 20,
  maxGapMs: 200,
  execute: async ({ place }) => {
    await sleep(60);
    return { client, status: 'completed', reward: place, is_success: null, metadata: {}, log_metrics: {} };
  },
  isDone: ({ reason }) => reason === 'no_task',
  onEnd: ({ episode_id }) => appendFileSync(receipts, `${episode_id}\n`),
  signal: new AbortController().signal,
});
await worker.run();
