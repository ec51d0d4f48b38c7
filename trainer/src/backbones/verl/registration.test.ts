import { composeConfig } from '@agentjet/core';
import { expect, it } from 'vitest';
import { toWorkerNotice } from '../python-worker/worker-notice.js';
import { adamOptions } from '../../testing/adam-options.js';
import { toDriverConfig } from './options.js';
import { toVerlOptions } from './options.js';
import { verl } from './registration.js';

const optimizer = adamOptions(1, { maxGradNorm: 1 });
const modelDir = import.meta.dirname;
const { create } = composeConfig({
  backbones: [verl] as const,
});

it('the driver gets every option that it has from the names of the YAML', () => {
  const config = create({
    rollout: { maxModelLen: 4096, maxNumSeqs: 7 },
    trainerCommon: { seed: 5, nGpusPerNode: 4, maxPackTokens: 9000, lossMode: 'cispo', tisCap: 2 },
    verl: {
      python: '/opt/python',
      rayAddress: 'auto',
      numNodes: 3,
      shardOver: 'node',
      dtype: 'bfloat16',
      attnImplementation: 'flash_attention_2',
      activationCheckpointing: true,
      cpuOffload: true,
      cudaGraphs: false,
    },
  });
  const options = toVerlOptions(config.verl, { config, modelDir, optimizer });
  expect(options.python).toBe('/opt/python');
  expect(toDriverConfig(options)).toEqual({
    modelDir,
    optimizer,
    seed: 5,
    rayAddress: 'auto',
    numNodes: 3,
    gpusPerNode: 4,
    dtype: 'bfloat16',
    maxPackTokens: 9000,
    attnImplementation: 'flash_attention_2',
    activationCheckpointing: true,
    cpuOffload: true,
    shardOver: 'node',
    inference: { kvTokens: 4096, slots: 7, cudaGraphs: false },
  });
});

it('Ray is started on this machine, and nothing learned, unless the YAML says otherwise', () => {
  const options = toVerlOptions(create().verl, { config: create(), modelDir });
  expect(options.optimizer.learningRate).toBe(0);
  for (const key of ['rayAddress', 'python']) expect(options).not.toHaveProperty(key);
});

it.each([
  [{ rollout: { name: 'vllm' } }, 'rollout.name'],
  [{ lora: { rank: 8 } }, 'lora.rank'],
] as const)('what verl does not do here is refused: %j', (keys, key) => {
  expect(() => create({ backbone: 'verl', ...keys })).toThrow(key);
});

it('what the driver itself says is passed on', () => {
  expect(
    toWorkerNotice('2026-11-22 18:00:00,123 ajet_verl WARNING Ray has 2 free GPUs of the 4 that are wanted.'),
  ).toBe('verl worker: Ray has 2 free GPUs of the 4 that are wanted.');
});
