/**
 * A process that judges candidates 0 to n - 1, and prints each verdict as a line of JSON. The benchmark kills it and
 * starts it again.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { createLlmJudge } from '@agentjet/judges';
import { openModelClient, systemModelHost } from '@agentjet/model-client';
import { candidateAt } from './candidates.js';

const [url = '', cacheFile = '', amount = '0'] = process.argv.slice(2);
/**
 * Shortens all delays, because the benchmark measures what becomes of the answers, not how long a run waits for a
 * judge.
 */
const host = {
  ...systemModelHost,
  sleep: (ms: number, signal: AbortSignal) => wait(Math.min(ms, 5), undefined, { signal }),
};
const client = await openModelClient(
  {
    baseUrl: url,
    model: 'judge',
    keys: ['BENCH_KEYS'],
    backupKeys: [],
    limits: { maxConcurrent: 32, requestsPerMinute: null, tokensPerMinute: null, timeoutSeconds: 0.5, maxRetries: 3 },
    cacheFile,
  },
  host,
);
const judge = createLlmJudge(client, {
  rubric: 'Is it right?',
  scale: 10,
  referenceField: null,
  votes: 1,
  temperature: 0,
  maxTokens: 50,
  successFrom: 0.7,
  outputField: 'answer',
  agent: null,
  onOutage: 'pause',
});

async function judgeOne(at: number): Promise<void> {
  const task = { taskId: `${at}`, mainQuery: 'What is 2 + 3?', initMessages: [], metadata: {} };
  const context = {
    episodeId: `${at}`,
    signal: new AbortController().signal,
    seed: at,
    transcripts: [],
    environment: null,
  };
  try {
    const verdict = await judge.judge(task, { metadata: { answer: candidateAt(at) } }, context);
    console.log(JSON.stringify({ at, reward: verdict.reward }));
  } catch {
    console.log(JSON.stringify({ at, reward: null }));
  }
}

let next = 0;
await Promise.all(
  Array.from({ length: 32 }, async () => {
    while (next < Number(amount)) await judgeOne(next++);
  }),
);
