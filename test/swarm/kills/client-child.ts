/** A client as a process that may be killed: `client-child.ts <url> <name> <file of receipts>`. It ends when all tasks are done. */
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHttpTransport, systemClientHost, Worker } from '@agentjet/swarm-client';
import type { ClaimedEpisode } from '@agentjet/swarm-wire';

const [url = '', client = '', receipts = ''] = process.argv.slice(2);
const worker = new Worker({
  host: systemClientHost,
  transport: createHttpTransport({ url, fetch, timeoutMs: 10_000 }),
  client,
  revision: 'r1',
  purpose: 'any',
  parallel: 3,
  leaseSeconds: 60,
  waitSeconds: 0,
  heartbeatMs: 500,
  idleMs: 20,
  firstGapMs: 20,
  maxGapMs: 200,
  execute: async (episode, signal) => {
    const first = await ask(episode, [{ role: 'user', content: `task ${episode.task_id}` }], signal);
    await ask(
      episode,
      [{ role: 'user', content: `task ${episode.task_id}` }, first, { role: 'user', content: 'and?' }],
      signal,
    );
    return { client, status: 'completed', reward: episode.place, is_success: null, metadata: {}, log_metrics: {} };
  },
  isDone: ({ reason }) => reason === 'no_task',
  onEnd: ({ episode_id }) => appendFileSync(receipts, `${episode_id}\n`),
  signal: new AbortController().signal,
});
await worker.run();

/** One call, with one idempotency key for all its tries, until the server is back and answers. */
async function ask(episode: ClaimedEpisode, messages: readonly unknown[], signal: AbortSignal): Promise<unknown> {
  const key = crypto.randomUUID();
  for (;;) {
    signal.throwIfAborted();
    const response = await fetch(`${episode.base_url}/main/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${episode.key}`, 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify({ model: 'm', messages }),
      signal,
    }).catch(() => undefined);
    const body = await response?.json().catch(() => undefined);
    if (response?.ok === true && body !== undefined) return (body as Completion).choices[0]?.message;
    if (response !== undefined && response.status < 500 && response.status !== 499 && response.status !== 200)
      throw new Error(`A model call was refused: ${response.status} ${JSON.stringify(body)}`);
    await sleep(50);
  }
}

type Completion = { readonly choices: readonly { readonly message: unknown }[] };
