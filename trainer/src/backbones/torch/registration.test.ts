import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { composeConfig } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { toWorkerNotice } from '../python-worker/worker-notice.js';
import { createTorchBackbone } from './create-torch-backbone.js';
import { toTorchOptions } from './options.js';
import { torch } from './registration.js';
import { adamOptions } from '../../testing/adam-options.js';

const optimizer = adamOptions(1, { maxGradNorm: 1 });
const modelDir = import.meta.dirname;
const backbones = [torch] as const;
const { create } = composeConfig({
  backbones,
});

describe('what the GPU worker gets from the names of the YAML', () => {
  it('every option that it has', () => {
    const config = create({
      rollout: {
        maxModelLen: 4096,
        name: 'vllm',
        maxNumSeqs: 7,
        gpuMemoryUtilization: 0.3,
        numReplicas: 3,
        tensorModelParallelSize: 2,
        colocated: false,
      },
      trainerCommon: { seed: 5, nGpusPerNode: 4, maxPackTokens: 9000, lossMode: 'cispo', tisCap: 2 },
      lora: { rank: 8, alpha: 4, targetModules: ['q_proj'] },
      torch: {
        python: '/opt/python',
        dtype: 'bfloat16',
        masterWeights: 'bfloat16',
        masterStart: 'file',
        matmul: 'fp8',
        attention: 'flash4',
        compile: 'off',
        activationCheckpointing: true,
        activationBudget: 0.5,
        cpuOffload: true,
        reshard: 'always',
        cudaGraphs: false,
        launch: 'attach',
        numNodes: 3,
        shardOver: 'all',
        listenHost: '10.0.0.1',
        listenPort: 7000,
        token: 'secret',
      },
      experimentDir: '/shared/runs',
    });
    expect(toTorchOptions(config.torch, { config, modelDir, optimizer })).toEqual({
      modelDir,
      optimizer,
      seed: 5,
      numGpus: 4,
      dtype: 'bfloat16',
      masterWeights: 'bfloat16',
      masterStart: 'file',
      matmul: 'fp8',
      maxPackTokens: 9000,
      attention: 'flash4',
      compile: 'off',
      activationCheckpointing: true,
      activationBudget: 0.5,
      cpuOffload: true,
      reshard: 'always',
      shardOver: 'all',
      attach: { numNodes: 3, port: 7000, sharedDir: '/shared/runs', onCommand: expect.any(Function) as unknown },
      listenHost: '10.0.0.1',
      token: 'secret',
      python: '/opt/python',
      lora: { rank: 8, alpha: 4, targetModules: ['q_proj'] },
      inference: {
        server: 'vllm',
        kvTokens: 4096,
        gpuMemoryUtilization: 0.3,
        numReplicas: 3,
        tensorParallelSize: 2,
        colocated: false,
        cudaGraphs: false,
        slots: 7,
      },
    });
  });

  it('nothing for what was left open, and no learning rate if nothing is trained', () => {
    const options = toTorchOptions(create().torch, { config: create(), modelDir });
    expect(options.optimizer.learningRate).toBe(0);
    for (const key of ['lora', 'python', 'token', 'attach']) expect(options).not.toHaveProperty(key);
  });
});

it.each(['file', 'dithered'] as const)('refuses to begin the masters of adapters as %s', async (masterStart) => {
  const config = create({ lora: { rank: 8 }, torch: { masterStart } });
  const opening = createTorchBackbone({ ...toTorchOptions(config.torch, { config, modelDir }), python: '/none' });
  await expect(opening).rejects.toThrow(`torch.master_start is ${masterStart}, which sets the masters`);
  await expect(opening).rejects.toThrow('Set torch.master_start to auto, or lora.rank to 0.');
});

it('the line for every node reaches the user', () => {
  const said: string[] = [];
  const config = create({ torch: { launch: 'attach' } });
  const notice = (message: string): void => void said.push(message);
  toTorchOptions(config.torch, { config, modelDir, notice }).attach?.onCommand('torchrun ...');
  expect(said).toEqual(['Waiting for the torch worker. Run on every node: torchrun ...']);
});

it('passes on what the worker says itself, not what its libraries say', () => {
  expect(toWorkerNotice('2026-11-21 18:00:00,123 ajet_torch INFO The model has 0.5 M parameters.')).toBe(
    'torch worker: The model has 0.5 M parameters.',
  );
  expect(toWorkerNotice('2026-11-21 18:00:00,123 httpx INFO HTTP Request')).toBeUndefined();
  expect(toWorkerNotice('2026-11-21 18:00:00,123 ajet_torch ERROR request 3 failed:')).toBeUndefined();
  expect(toWorkerNotice('Traceback (most recent call last):')).toBeUndefined();
});

it("takes all-linear as PEFT's own configuration does", () => {
  const config = create({ lora: { rank: 8, targetModules: 'all-linear' } });
  expect(toTorchOptions(config.torch, { config, modelDir }).lora?.targetModules).toEqual(['all-linear']);
});

it('the folder of a resumed run keeps the token of an attached worker, unless the configuration names one', () => {
  const runDir = mkdtempSync(path.join(os.tmpdir(), 'ajet-token-'));
  const tokenOf = (torch: { readonly token?: string }): string | undefined => {
    const config = create({ torch: { launch: 'attach', ...torch } });
    return toTorchOptions(config.torch, { config, modelDir, runDir }).attach?.token;
  };
  const first = tokenOf({});
  expect(first).toMatch(/^[0-9a-f]{64}$/);
  expect(tokenOf({})).toBe(first);
  expect(tokenOf({ token: 'secret' })).toBeUndefined();
  if (process.platform !== 'win32') expect(statSync(path.join(runDir, 'torch-worker.secret')).mode & 0o777).toBe(0o600);
  writeFileSync(path.join(runDir, 'torch-worker.secret'), 'no secret');
  expect(() => tokenOf({})).toThrow(/torch-worker\.secret does not contain 64 hex digits\. Remove it/);
  rmSync(runDir, { recursive: true });
});
