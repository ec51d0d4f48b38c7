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
  const watched = watchEngine({ engine: createEngine(codes) });
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

it.each(['model', 'teacher'])(
  'the process of the %s that has ended ends it, even after answers, at each check',
  async (whose) => {
    const [own, teachers] = [new AbortController(), new AbortController()];
    const watched = watchEngine({ engine: createEngine(['ok']), gone: own.signal }, { gone: teachers.signal });
    await watched.engine.generate(request);
    watched.check();
    const reason = new BackboneError('worker_died', 'The worker ended.');
    (whose === 'model' ? own : teachers).abort(reason);
    expect(watched.gone?.reason).toBe(reason);
    for (const _ of [1, 2]) expect(watched.check).toThrow(reason);
  },
);

it('an engine that only fails ends it, with its own reason, reported once', async () => {
  const { check } = await callAll(['aborted', 'failed', 'failed']);
  expect(check).toThrow(
    expect.objectContaining({ code: 'engine_failed', message: 'The engine no longer answers calls: no luck: failed' }),
  );
  expect(check).not.toThrow();
});
