import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { openOnnxModel } from './model-checkpoint.js';
import { createModelFolder } from './create-model-folder.js';
import { plainOptimizer, tinyConfigJson } from './testing-model.js';

it('makes a folder that opens as a model, with the same weights for the same seed', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'new-model-'));
  try {
    const open = async (name: string, seed: number) => {
      const { numParameters } = await createModelFolder(path.join(dir, name), { config: tinyConfigJson, seed });
      const model = await openOnnxModel({ modelDir: path.join(dir, name), optimizer: plainOptimizer, threads: 1 });
      expect(model.layout.parameters.reduce((total, { size }) => total + size, 0)).toBe(numParameters);
      return [...model.parameters];
    };
    const first = await open('a', 1);
    expect(await open('b', 1)).toEqual(first);
    expect(await open('c', 2)).not.toEqual(first);
  } finally {
    await rm(dir, { recursive: true });
  }
});
