import { EngineError, type Engine, type GenerateRequest } from '@agentjet/core';
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

it('an engine that only fails ends it, with its own reason, reported once', async () => {
  const { check } = await callAll(['aborted', 'failed', 'failed']);
  expect(check).toThrow(
    expect.objectContaining({ code: 'engine_failed', message: 'The engine no longer answers calls: no luck: failed' }),
  );
  expect(check).not.toThrow();
});
