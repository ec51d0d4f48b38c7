import { expect, it } from 'vitest';
import { testOptimizer } from './testing-worker.js';
import { toTorchLaunch } from './torch-launch.js';

const options = { modelDir: '/models/one', optimizer: testOptimizer, seed: 1, maxPackTokens: 4096 };

it('gives a single process its configuration before it connects, with the names of the worker', () => {
  const { AJET_CONFIG = '' } = toTorchLaunch('python3', options).env ?? {};
  expect(JSON.parse(AJET_CONFIG)).toMatchObject({ model_dir: '/models/one', max_pack_tokens: 4096 });
});

it('gives several processes no configuration before they connect', () => {
  expect(toTorchLaunch('python3', { ...options, numGpus: 2 }).env).not.toHaveProperty('AJET_CONFIG');
});
