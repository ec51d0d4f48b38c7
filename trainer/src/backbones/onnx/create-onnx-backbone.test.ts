import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TokenSampling } from '@agentjet/core';
import { writeModelFolder } from '../../model-files/model-folder.js';
import { plainOptimizer, tinyConfigJson, tinyModel } from '../../onnx/testing-model.js';
import { createOnnxBackbone } from './create-onnx-backbone.js';

const plain: TokenSampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 12, stopIds: [], seed: 1 };
let modelDir = '';

beforeAll(async () => {
  modelDir = path.join(await mkdtemp(path.join(tmpdir(), 'agentjet-onnx-')), 'model');
  const { layout, parameters } = tinyModel();
  const tensors = layout.parameters.map(({ name, shape, offset, size }) => ({ name, shape, data: Float32Array.from(parameters.subarray(offset, offset + size)) }));
  await writeModelFolder(modelDir, { config: tinyConfigJson, tensors });
});

afterAll(async () => {
  await rm(path.dirname(modelDir), { recursive: true, force: true });
});

describe.each([true, false])('the embedded backbone (in the calling thread: %s)', (isInThread) => {
  it('samples', async () => {
    const backbone = await createOnnxBackbone({ modelDir, optimizer: plainOptimizer, threads: 1, isInThread });
    const completion = await backbone.engine.generate({ promptIds: Int32Array.of(1, 2, 3), sampling: plain });
    expect(completion.ids).toHaveLength(12);
    await backbone.close();
  });
});
