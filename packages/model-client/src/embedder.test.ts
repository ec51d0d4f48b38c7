import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Outage } from '@agentjet/core';
import { expect, it } from 'vitest';
import { openEmbedder, type EmbedderOptions } from './embedder.js';
import { scriptedHost, type ScriptedAnswer } from './testing/scripted-model.js';

const options: EmbedderOptions = {
  baseUrl: 'https://vectors.example/v1',
  model: 'points',
  keys: ['KEY'],
  backupKeys: [],
  limits: { maxConcurrent: 2, requestsPerMinute: null, tokensPerMinute: null, timeoutSeconds: 60, maxRetries: 1 },
  cacheFile: null,
};
const { signal } = new AbortController();
const rows = (vectors: readonly unknown[]): ScriptedAnswer => ({
  status: 200,
  body: JSON.stringify({ data: vectors.map((embedding, index) => ({ index, embedding })) }),
});
const byLength = scriptedHostOf((texts) => rows(texts.map((text) => [text.length, 0, 0])));

function scriptedHostOf(reply: (texts: readonly string[]) => ScriptedAnswer) {
  return () => scriptedHost(({ body }) => reply(body['input'] as readonly string[]));
}

it('gives a vector of length 1 for each text, in order, ten texts at a time, and asks for each once', async () => {
  const host = byLength();
  const embedder = await openEmbedder(options, host);
  const texts = Array.from({ length: 25 }, (_, at) => `text ${at % 23}`);
  const vectors = await embedder.embed(texts, signal);
  expect(vectors.map((vector) => [...vector])).toEqual(texts.map(() => [1, 0, 0]));
  expect(host.requests.map(({ body }) => (body['input'] as unknown[]).length)).toEqual([10, 10, 3]);
  expect(host.requests[0]?.url).toBe('https://vectors.example/v1/embeddings');
});

it('keeps vectors by their text', async () => {
  const cacheFile = path.join(mkdtempSync(path.join(tmpdir(), 'vectors-')), 'vectors.jsonl');
  const answer = scriptedHostOf((texts) => rows(texts.map(() => [3, 4])));
  const first = await (await openEmbedder({ ...options, cacheFile }, answer())).embed(['a'], signal);
  const host = answer();
  const again = await (await openEmbedder({ ...options, cacheFile }, host)).embed(['a'], signal);
  expect([...(again[0] ?? [])]).toEqual([...(first[0] ?? [])]);
  expect(again[0]?.[0]).toBeCloseTo(0.6);
  expect(host.requests).toHaveLength(0);
});

it.each([
  ['too few', rows([[1, 0]])],
  ['of different sizes', rows([[1, 0], [1]])],
  [
    'without a direction',
    rows([
      [0, 0],
      [1, 0],
    ]),
  ],
  ['that are not numbers', rows([['1'], ['2']])],
  ['none', { status: 200, body: '{}' }],
] as const)('is an outage if the vectors are %s', async (_, answer) => {
  const embedder = await openEmbedder(options, scriptedHostOf(() => answer)());
  await expect(embedder.embed(['a', 'b'], signal)).rejects.toThrow(Outage);
});
