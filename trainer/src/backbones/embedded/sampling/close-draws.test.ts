import { expect, it } from 'vitest';
import { createRandom } from '@agentjet/core';
import { HashStepModel } from '../../../testing/hash-step-model.js';
import { createTestEngine } from './testing-engine.js';
import type { SchedulerOptions } from './scheduler.js';
import type { StepInput, StepModel, StepOutput } from './step-model.js';

/**
 * Changes the probabilities by almost a ten-thousandth, differently for each shape of a pass. Real kernels do the same,
 * but their differences are far smaller.
 */
class NoisyModel extends HashStepModel {
  override async run(input: StepInput): Promise<StepOutput> {
    const { probabilities, fresh } = await super.run(input);
    const { numRows, width, pastLength } = input;
    const scaleOf = (row: number): number => 0.9e-4 * Math.max(1, input.inverseTemperatures[row] ?? 1);
    const noiseAt = (at: number): number =>
      scaleOf(Math.floor(at / this.vocabSize)) * Math.sin(at * 7.1 + numRows * 3.3 + width * 1.7 + pastLength);
    return { probabilities: probabilities.map((value, at) => value * (1 + noiseAt(at))), fresh };
  }
}

const calls = Array.from({ length: 40 }, (_, seed) => {
  const random = createRandom(seed % 9);
  const temperature = [1, 0.4, 0.1][seed % 3] ?? 1;
  return {
    promptIds: Int32Array.from({ length: 1 + random.int(60) }, () => random.int(40)),
    sampling: { temperature, topP: [1, 0.9][seed % 2] ?? 1, topK: 0, maxTokens: 100, stopIds: [], seed },
  };
});

async function sampleAll(model: StepModel, options: Partial<SchedulerOptions>) {
  const engine = createTestEngine(model, {
    maxBatchSize: 40,
    prefillTokens: 64,
    maxKvBytes: 1 << 24,
    maxPrefixCacheBytes: 1 << 22,
    ...options,
  });
  const completions = await Promise.all(calls.map((call) => engine.generate(call)));
  return { ids: completions.map(({ ids }) => ids.join()), stats: engine.stats };
}

it('samples the same tokens in any batches, with or without a cache, though probabilities differ between them', async () => {
  const create = (): NoisyModel => new NoisyModel({ contextLength: 256 });
  const { ids, stats } = await sampleAll(create(), {});
  expect(stats.closeDraws).toBeGreaterThan(3);
  expect(stats.closeDraws).toBeLessThan(stats.decodedTokens / 50);
  for (const options of [{ maxBatchSize: 5 }, { maxPrefixCacheBytes: 0, prefillTokens: 7 }, { maxKvBytes: 150_000 }]) {
    expect((await sampleAll(create(), options)).ids).toEqual(ids);
  }
});

it('a call that leaves while its draw is decided ends as aborted, the others continue', async () => {
  const model = new NoisyModel({ contextLength: 256 });
  const engine = createTestEngine(model, {
    maxBatchSize: 40,
    prefillTokens: 64,
    maxKvBytes: 1 << 24,
    maxPrefixCacheBytes: 0,
  });
  const controllers = calls.map(() => new AbortController());
  const results = calls.map((call, index) =>
    engine.generate({ ...call, signal: controllers[index]?.signal ?? expect.fail() }).catch((error: unknown) => error),
  );
  // Reads a row alone from its first token on, while many run.
  model.onRun = () => {
    if (engine.stats.closeDraws > 0) for (const controller of controllers) controller.abort();
  };
  const other = engine.generate({
    promptIds: Int32Array.of(1, 2),
    sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 20, stopIds: [], seed: 5 },
  });
  for (const result of await Promise.all(results)) expect(result).toMatchObject({ code: 'aborted' });
  expect((await other).ids).toHaveLength(20);
});
