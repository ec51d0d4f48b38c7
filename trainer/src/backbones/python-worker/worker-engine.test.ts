import { expect, it } from 'vitest';
import { createWorkerEngine } from './worker-engine.js';

const request = {
  promptIds: Int32Array.of(3, 1),
  sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 4, stopIds: [2], seed: 5 },
};

it('sends the worker the episode of a call, and nothing if it has none', async () => {
  const sent: unknown[] = [];
  const reply = { ids: new Uint8Array(4), logprobs: new Uint8Array(4), finish_reason: 'stop', policy_version: 0 };
  const line = { call: (message: unknown) => (sent.push(message), Promise.resolve(reply)), settle: () => undefined };
  const engine = createWorkerEngine(line, { contextLength: 8, maxInFlight: 1, policyVersion: () => 0 });
  await engine.generate({ ...request, episodeId: 'e1' });
  await engine.generate(request);
  expect(sent).toEqual([
    expect.objectContaining({ kind: 'generate', episode_id: 'e1' }),
    expect.not.objectContaining({ episode_id: expect.anything() as unknown }),
  ]);
});
