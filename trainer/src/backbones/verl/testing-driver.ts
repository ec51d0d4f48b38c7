import { existsSync } from 'node:fs';

import { venvPython, verlHome } from '../python-worker/find-python.js';
import { testOptimizer } from '../torch/testing-worker.js';
import { createVerlBackbone, type VerlBackbone } from './create-verl-backbone.js';
import type { VerlBackboneOptions } from './options.js';

export const testPython = process.env[verlHome.variable] ?? venvPython(verlHome);

/** A start takes a minute, so these tests are part of `.ci/nightly verl`, and not of every `npm test`. */
export const asksVerl = existsSync(testPython) && process.env['AJET_LONG_TESTS'] === '1';

export function startTinyVerl(modelDir: string, options: Partial<VerlBackboneOptions> = {}): Promise<VerlBackbone> {
  const env = { OMP_NUM_THREADS: '1', CUDA_VISIBLE_DEVICES: '', ...options.env };
  return createVerlBackbone({
    modelDir,
    optimizer: testOptimizer,
    seed: 1,
    maxPackTokens: 256,
    inference: { slots: 8, kvTokens: 96 },
    ...options,
    env,
  });
}
