import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createRandom, EngineError } from '@agentjet/core';
import type { EmbeddedEngine } from './embedded-engine.js';
import { HashStepModel } from '../../../testing/hash-step-model.js';
import { createTestEngine } from './testing-engine.js';
import { referenceCompletion } from '../../../testing/reference-completion.js';

const contextLength = 300;

const limits = fc.record({
  maxBatchSize: fc.integer({ min: 1, max: 9 }),
  prefillTokens: fc.integer({ min: 1, max: 90 }),
  maxKvBytes: fc.constantFrom(1, 100_000, 1 << 24),
  maxPrefixCacheBytes: fc.constantFrom(0, 3000, 30_000, 1 << 22),
});

/**
 * A call that extends one of a few conversations. It starts after some turns of the event loop, and may be cancelled.
 */
const call = fc.record({
  conversation: fc.integer({ min: 0, max: 3 }),
  length: fc.integer({ min: 1, max: 280 }),
  maxTokens: fc.integer({ min: 1, max: 60 }),
  delay: fc.integer({ min: 0, max: 30 }),
  seed: fc.nat(),
  leave: fc.oneof(
    fc.constant(null),
    fc.record({ how: fc.constantFrom('abort', 'stop', 'throw'), after: fc.integer({ min: 1, max: 20 }) }),
  ),
});

function conversationIds(conversation: number, length: number): Int32Array {
  // All conversations have the same beginning.
  const [shared, own] = [createRandom(99), createRandom(conversation)];
  return Int32Array.from({ length }, (_, index) => (index < 20 ? shared : own).int(40));
}

async function perform(
  engine: EmbeddedEngine,
  model: HashStepModel,
  { conversation, length, maxTokens, delay, seed, leave }: typeof call extends fc.Arbitrary<infer Call> ? Call : never,
): Promise<void> {
  for (let turn = 0; turn < delay; turn += 1) await new Promise(setImmediate);
  const promptIds = conversationIds(conversation, length);
  const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens, stopIds: [], seed };
  const controller = new AbortController();
  let count = 0;
  const onToken = (): 'stop' | undefined => {
    count += 1;
    if (leave === null || count < leave.after) return undefined;
    if (leave.how === 'throw') throw new Error('on purpose');
    if (leave.how === 'abort') controller.abort();
    return leave.how === 'stop' ? 'stop' : undefined;
  };
  const expected = referenceCompletion(model, promptIds, sampling).ids;
  const result = await engine
    .generate({ promptIds, sampling, signal: controller.signal, onToken })
    .catch((error: unknown) => error);
  if (leave !== null && leave.how !== 'stop' && leave.after <= expected.length) {
    expect(result).toBeInstanceOf(EngineError);
    return;
  }
  const wanted = leave === null ? expected : expected.slice(0, leave.after);
  expect(result).toMatchObject({ ids: Int32Array.from(wanted) });
}

it('gives every call its own tokens under any limits, while other calls come and go', async () => {
  await fc.assert(
    fc.asyncProperty(
      limits,
      fc.array(call, { minLength: 1, maxLength: 14 }),
      fc.constantFrom(0, 200, 1e9),
      async (options, calls, passCost) => {
        const model = new HashStepModel({ contextLength, passCost });
        const engine = createTestEngine(model, options);
        await Promise.all(calls.map((one) => perform(engine, model, one)));
        await engine.whenIdle();
        expect(engine.stats).toMatchObject({ running: 0, waiting: 0 });
        expect(engine.stats.prefixCacheBytes).toBeLessThanOrEqual(options.maxPrefixCacheBytes);
      },
    ),
    { numRuns: Number(process.env['NUM_RUNS'] ?? 25) },
  );
});
