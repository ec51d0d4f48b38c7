/**
 * Runs a client in a process that may be killed: `client-child.ts <url> <name> <file of receipts>`. It ends when all
 * tasks are done.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHttpTransport, systemClientHost, Worker } from '@agentjet/swarm-client';
import type { ClaimedEpisode } from '@agentjet/swarm-wire';
import { agents } from './served-config.js';

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
    const question = { role: 'user', content: `task ${episode.task_id}` };
    for (const agent of episode.policies === undefined ? agents.slice(0, 1) : agents) {
      const first = await ask(episode, { agent, messages: [question], signal });
      await ask(episode, { agent, messages: [question, first, { role: 'user', content: 'and?' }], signal });
    }
    const shared = { client, status: 'completed' as const, is_success: null, metadata: {}, log_metrics: {} };
    return { ...shared, reward: episode.place, ...rewardsOf(episode) };
  },
  isDone: ({ reason }) => reason === 'no_task',
  onEnd: ({ episode_id }) => appendFileSync(receipts, `${episode_id}\n`),
  signal: new AbortController().signal,
});
await worker.run();

/**
 * Makes one call. If the server does not answer, it repeats the call with the same idempotency key until the server is
 * back.
 */
async function ask(episode: ClaimedEpisode, { agent, messages, signal }: Call): Promise<unknown> {
  const key = crypto.randomUUID();
  for (;;) {
    signal.throwIfAborted();
    const response = await fetch(`${episode.base_url}/${agent}/v1/chat/completions`, {
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

type Call = {
  readonly agent: string;
  readonly messages: readonly unknown[];
  readonly signal: AbortSignal;
};

/** Gives policies opposite rewards, so that no policy has the same weights as another. */
function rewardsOf({ policies = {}, place }: ClaimedEpisode): { readonly rewards?: Record<string, number> } {
  const names = Object.keys(policies);
  if (names.length === 0) return {};
  return { rewards: Object.fromEntries(names.map((name, index) => [name, index === 0 ? place : -place])) };
}

type Completion = { readonly choices: readonly { readonly message: unknown }[] };
