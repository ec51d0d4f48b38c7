import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, test, vi } from 'vitest';
import type { TokenSampling } from '@agentjet/core';
import { StepSessionFactory } from '../../sampling/step-session.js';
import { createTestEngine } from '../../sampling/testing-engine.js';
import { initialWeights } from '../model/initial-weights.js';
import { parseModelConfig } from '../model/model-config.js';
import { parameterLayout, parameterOf } from '../model/parameter-layout.js';
import { embeddingName } from '../model/sequence-inputs.js';
import { tinyConfigJson } from '../testing-model.js';
import { readMatrixRows, toFrozenWeights, type FrozenWeights, type ReadPieces } from './frozen-weights.js';
import { WeightFiles } from './weight-files.js';

const wide = { ...tinyConfigJson, hidden_size: 32, intermediate_size: 64, head_dim: 8 };
const configs = [wide, { ...wide, model_type: 'llama', tie_word_embeddings: false }].map((config) =>
  parseModelConfig(config),
);
const cases = (['float16', 'int8'] as const).flatMap((format) => configs.map((config) => [format, config] as const));

function weightsOf(format: 'float16' | 'int8', config: (typeof configs)[number]) {
  const layout = parameterLayout(config);
  const floats = initialWeights(config, layout, { seed: 5, standardDeviation: 0.4 });
  const weights = toFrozenWeights(layout, format, floats);
  if (weights.format === 'float32') throw new Error('The weights are stored.');
  /** Yields pieces of 64 elements, as a model folder does. */
  const read: ReadPieces = async function* read({ name }) {
    const { offset, size } = parameterOf(layout, name);
    for (let start = offset; start < offset + size; start += 64)
      yield floats.subarray(start, Math.min(start + 64, offset + size));
  };
  return { layout, weights, read };
}

test.each(cases)('files in %s have the numbers that arrays have', async (format, config) => {
  const { layout, weights, read } = weightsOf(format, config);
  const ids = Int32Array.of(3, 0, 10, 3);
  for (const files of [await WeightFiles.store(layout, format, read), await WeightFiles.copyOf(layout, weights)]) {
    expect(await files.read()).toEqual(weights);
    const rows = readMatrixRows(weights, parameterOf(layout, embeddingName), ids);
    expect(files.embeddingRows(ids)).toEqual(rows);
    await files.close();
    expect(existsSync(files.folder)).toBe(false);
    await files.close();
  }
});

const sampling: TokenSampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 12, stopIds: [], seed: 1 };

test.each(cases)('a session over files in %s samples as one over arrays does', async (format, config) => {
  const { layout, weights, read } = weightsOf(format, config);
  const factory = new StepSessionFactory(config, layout, { threads: 1, contextLength: 64, format });
  const sample = async (stored: FrozenWeights | WeightFiles) => {
    const session = await factory.open(stored);
    if (stored instanceof WeightFiles) await stored.close();
    const limits = { maxBatchSize: 8, prefillTokens: 20, maxKvBytes: 1 << 24, maxPrefixCacheBytes: 0 };
    const engine = createTestEngine(session, limits);
    const { ids, logprobs } = await engine.generate({ promptIds: Int32Array.of(1, 7, 4, 2, 9), sampling });
    await session.close();
    return { ids, logprobs };
  };
  const ofFiles = await sample(await WeightFiles.store(layout, format, read));
  expect(ofFiles).toEqual(await sample(weights));
  expect(ofFiles.ids.length).toBeGreaterThan(0);
});

it('leaves no file behind if the model cannot be read', async () => {
  const { layout } = weightsOf('int8', configs[0] as (typeof configs)[number]);
  const read: ReadPieces = async function* read() {
    yield new Float32Array(32);
    throw new Error('the disk is gone');
  };
  const scratch = mkdtempSync(path.join(tmpdir(), 'weight-files-'));
  for (const name of ['TMPDIR', 'TEMP']) vi.stubEnv(name, scratch);
  try {
    await expect(WeightFiles.store(layout, 'int8', read)).rejects.toThrow('the disk is gone');
    expect(readdirSync(scratch)).toEqual([]);
  } finally {
    vi.unstubAllEnvs();
    rmSync(scratch, { recursive: true });
  }
});
