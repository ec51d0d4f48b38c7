import { BackboneError, EngineError, type Engine, type GenerateRequest } from '@agentjet/core';
import { expect, it } from 'vitest';
import { watchEngine } from './engine-health.js';

const request: GenerateRequest = {
  promptIds: Int32Array.of(1),
  sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 1, stopIds: [], seed: 1 },
};

/** Creates an engine. For each call, the test decides whether it answers or fails. */
function createEngine(codes: readonly string[]): Engine {
  const left = [...codes];
  return {
    contextLength: 8,
    generate: async () => {
      const code = left.shift() ?? 'ok';
      if (code !== 'ok') throw new EngineError(code, `no luck: ${code}`);
      return { ids: Int32Array.of(2), logprobs: Float32Array.of(-1), finishReason: 'length', policyVersion: 0 };
    },
  };
}

async function callAll(codes: readonly string[]) {
  const watched = watchEngine(createEngine(codes));
  for (const _ of codes) await watched.engine.generate(request).catch(() => undefined);
  return watched;
}

it.each([[['ok']], [['failed', 'ok']], [['aborted', 'context_overflow', 'closed']], [[]]])(
  '%j is not a reason to end a run',
  async (codes) => {
    const { check } = await callAll(codes);
    expect(check).not.toThrow();
  },
);

it.each(['worker_died', 'worker_hung'])(
  'a worker that is gone (%s) ends it, even after answers, at each check',
  async (code) => {
    const answers = createEngine(['ok']);
    let isGone = false;
    const engine: Engine = {
      ...answers,
      generate: (asked) =>
        isGone ? Promise.reject(new BackboneError(code, 'The worker ended.')) : answers.generate(asked),
    };
    const { engine: watched, check } = watchEngine(engine);
    await watched.generate(request);
    isGone = true;
    await expect(watched.generate(request)).rejects.toMatchObject({ code });
    for (const _ of [1, 2]) expect(check).toThrow(expect.objectContaining({ code: 'engine_failed' }));
  },
);

it('an engine that only fails ends it, with its own reason, reported once', async () => {
  const { check } = await callAll(['aborted', 'failed', 'failed']);
  expect(check).toThrow(
    expect.objectContaining({ code: 'engine_failed', message: 'The engine no longer answers calls: no luck: failed' }),
  );
  expect(check).not.toThrow();
});
