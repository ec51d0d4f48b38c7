import { describe, expect, it } from 'vitest';
import { createRandom } from '@agentjet/core';
import type { TokenSampling } from '@agentjet/core';
import type { LoraOptions } from '../../lora-options.js';
import { WeightFiles } from '../training/frozen/weight-files.js';
import { tinyConfigJson, tinyModel } from '../training/testing-model.js';
import { createTestEngine } from './testing-engine.js';
import { isGrouped } from './decode-graph.js';
import { StepSessionFactory } from './step-session.js';

const plain: TokenSampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 12, stopIds: [], seed: 1 };

function randomIds(length: number, seed: number, vocabSize: number): Int32Array {
  const random = createRandom(seed);
  return Int32Array.from({ length }, () => random.int(vocabSize));
}

describe.each([
  ['qwen2', {}],
  ['qwen2 with an adapter', {}, { rank: 3, targetModules: ['q_proj', 'v_proj', 'o_proj', 'down_proj'] }],
  ['an untied head', { tie_word_embeddings: false }],
  ['qwen3, whose heads are normalized and wider than the model', { model_type: 'qwen3', head_dim: 6 }],
  ['llama without biases, one key head', { model_type: 'llama', num_key_value_heads: 1 }],
  [
    'llama with biases and scaled positions',
    {
      model_type: 'llama',
      attention_bias: true,
      num_key_value_heads: 4,
      rope_scaling: {
        rope_type: 'llama3',
        factor: 8,
        low_freq_factor: 1,
        high_freq_factor: 4,
        original_max_position_embeddings: 16,
      },
    },
  ],
])('sampling from %s', (_, configJson, lora?: LoraOptions) => {
  it.each([true, false])('gives the logprobs that training computes (fused %s)', async (isFused) => {
    const model = tinyModel({ configJson, ...(lora && { lora }) });
    const { base, layout, parameters } = model;
    const options = { threads: 1, contextLength: 64, isFused, adapter: base?.adapter };
    const factory = new StepSessionFactory(model.config, base?.layout ?? layout, options);
    const session = await factory.open(base?.weights ?? { format: 'float32', values: parameters });
    if (base !== undefined) session.useAdapters(parameters);
    const engine = createTestEngine(session, {
      maxBatchSize: 8,
      prefillTokens: 20,
      maxKvBytes: 1 << 24,
      maxPrefixCacheBytes: 1 << 20,
    });
    const prompts = [1, 9, 33, 60, 17].map((length, seed) => randomIds(length, seed, model.config.vocabSize));
    const again = prompts.map((promptIds) => Int32Array.from([...promptIds.slice(0, 12), 3]));
    for (const round of [prompts, again]) {
      const completions = await Promise.all(
        round.map((promptIds, seed) =>
          engine.generate({ promptIds, sampling: { ...plain, temperature: seed % 2, seed } }),
        ),
      );
      const rows = completions.map(({ ids }, index) => ({ ids: Int32Array.from([...(round[index] ?? []), ...ids]) }));
      const logprobs = await model.logprobs(rows);
      for (const [index, completion] of completions.entries()) {
        const expected = logprobs[index]?.slice(round[index]?.length) ?? [];
        expect(completion.logprobs).toHaveLength(expected.length);
        for (const [token, logprob] of expected.entries())
          expect(Math.abs(logprob - (completion.logprobs[token] ?? NaN))).toBeLessThan(2e-5);
      }
    }
    expect(engine.stats.reusedTokens).toBeGreaterThan(0);
    await Promise.all([session.close(), model.close()]);
  });
});

const stored = { hidden_size: 32, intermediate_size: 64, num_attention_heads: 4, head_dim: 8 };
/** Models whose attention is one operator in the decode graph. */
const grouped = { ...stored, head_dim: 16 };

it.each([
  // In int8, the products of the sampler round activations to 8 bits, which changes rare tokens most.
  ['float16', 2e-4, 2e-5],
  ['int8', 1, 0.06],
] as const)('samples from weights in %s, and trains on the same numbers', async (format, largest, mean) => {
  for (const configJson of [
    stored,
    { ...stored, model_type: 'llama', tie_word_embeddings: false },
    grouped,
    { ...grouped, model_type: 'qwen3', num_key_value_heads: 1 },
  ]) {
    const model = tinyModel({ configJson, lora: { rank: 2 }, format });
    const { base, parameters } = model;
    if (base === undefined) throw new Error('The model has no adapter.');
    const options = { threads: 1, contextLength: 64, adapter: base.adapter, format };
    const session = await new StepSessionFactory(model.config, base.layout, options).open(base.weights);
    session.useAdapters(parameters);
    const engine = createTestEngine(session, {
      maxBatchSize: 8,
      prefillTokens: 20,
      maxKvBytes: 1 << 24,
      maxPrefixCacheBytes: 1 << 20,
    });
    expect(isGrouped(model.config, { format })).toBe(model.config.headDim === 16);
    const lengths = [1, 9, 33, 17];
    const first = await Promise.all(
      lengths.map((length, seed) => {
        const promptIds = randomIds(length, seed, model.config.vocabSize);
        return engine.generate({ promptIds, sampling: { ...plain, maxTokens: 1 + 4 * seed, seed } });
      }),
    );
    // The second prompts continue the first ones, whose keys and values are in the cache.
    const prompts = lengths.map((length, seed) =>
      Int32Array.from([...randomIds(length, seed, model.config.vocabSize), ...(first[seed]?.ids ?? []), 3, 5]),
    );
    const completions = await Promise.all(
      prompts.map((promptIds, seed) => engine.generate({ promptIds, sampling: { ...plain, seed } })),
    );
    expect(engine.stats.reusedTokens).toBeGreaterThan(0);
    const rows = completions.map(({ ids }, index) => ({ ids: Int32Array.from([...(prompts[index] ?? []), ...ids]) }));
    const logprobs = await model.logprobs(rows);
    const gaps = completions.flatMap((completion, index) =>
      [...completion.logprobs].map((logprob, token) =>
        Math.abs(logprob - (logprobs[index]?.[(prompts[index]?.length ?? 0) + token] ?? NaN)),
      ),
    );
    expect(Math.max(...gaps)).toBeLessThan(largest);
    expect(gaps.reduce((total, gap) => total + gap, 0) / gaps.length).toBeLessThan(mean);
    await Promise.all([session.close(), model.close()]);
  }
});

it('a session keeps the weights it was opened with', async () => {
  const model = tinyModel({ configJson: tinyConfigJson });
  const weights = Float32Array.from(model.parameters);
  const session = await new StepSessionFactory(model.config, model.layout, { threads: 1, contextLength: 64 }).open({
    format: 'float32',
    values: weights,
  });
  const engine = createTestEngine(session, {
    maxBatchSize: 8,
    prefillTokens: 20,
    maxKvBytes: 1 << 24,
    maxPrefixCacheBytes: 0,
  });
  const promptIds = randomIds(9, 1, model.config.vocabSize);
  const before = await engine.generate({ promptIds, sampling: plain });
  weights.fill(NaN);
  const after = await engine.generate({ promptIds, sampling: plain });
  expect([after.ids, after.logprobs]).toEqual([before.ids, before.logprobs]);
  await session.close();
});

it('reads adapters from a file as it reads them from arrays, after every change', async () => {
  const model = tinyModel({ configJson: grouped, lora: { rank: 2 }, format: 'int8' });
  const { base, parameters } = model;
  if (base?.weights instanceof WeightFiles || base?.weights.format !== 'int8') throw new Error('Expected arrays.');
  const options = { threads: 1, contextLength: 64, adapter: base.adapter, format: 'int8' } as const;
  const files = await WeightFiles.copyOf(base.layout, base.weights);
  const factory = new StepSessionFactory(model.config, base.layout, options);
  const sessions = [await factory.open(base.weights), await factory.open(files)];
  await files.unlink();
  const promptIds = randomIds(9, 1, model.config.vocabSize);
  const seen: unknown[] = [];
  for (const factor of [1, -2]) {
    const changed = parameters.map((value) => factor * value);
    const completions = await Promise.all(
      sessions.map(async (session) => {
        session.useAdapters(changed);
        const limits = { maxBatchSize: 8, prefillTokens: 20, maxKvBytes: 1 << 24, maxPrefixCacheBytes: 0 };
        const { ids, logprobs } = await createTestEngine(session, limits).generate({ promptIds, sampling: plain });
        return { ids, logprobs };
      }),
    );
    expect(completions[1]).toEqual(completions[0]);
    seen.push(completions[1]);
  }
  expect(seen[1]).not.toEqual(seen[0]);
  await Promise.all([...sessions.map((session) => session.close()), files.close(), model.close()]);
});
