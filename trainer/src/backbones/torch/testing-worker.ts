import { existsSync, mkdtempSync } from 'node:fs';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';

import type { TrainBatch } from '@agentjet/core';

import { createModelFolder } from '../embedded/training/create-model-folder.js';
import { createTorchBackbone, type TorchBackbone } from './create-torch-backbone.js';
import { venvPython, torchHome } from '../python-worker/find-python.js';
import type { TorchBackboneOptions } from './options.js';
import { adamOptions } from '../../testing/adam-options.js';
import { tinyConfig } from '../../testing/tiny-config.js';
import { smallPack } from '../../testing/small-pack.js';

/** True if the worker's virtual environment exists. Tests say that they are skipped if it does not. */
export const hasTorch = existsSync(process.env['AJET_TORCH_PYTHON'] ?? venvPython(torchHome));

export const testPython = process.env['AJET_TORCH_PYTHON'] ?? venvPython(torchHome);

const configJson = tinyConfig({ max_position_embeddings: 256 });

/** Makes a folder with a random model of a few thousand weights. */
export async function makeTinyModel(): Promise<string> {
  const dir = path.join(mkdtempSync(path.join(os.tmpdir(), 'ajet-tiny-')), 'model');
  await createModelFolder(dir, { config: configJson, seed: 1, standardDeviation: 0.2 });
  return dir;
}

export const testOptimizer = adamOptions(0.01, { maxGradNorm: 1 });

export function startTiny(modelDir: string, options: Partial<TorchBackboneOptions> = {}): Promise<TorchBackbone> {
  const env = { OMP_NUM_THREADS: '1', ...options.env };
  return createTorchBackbone({
    modelDir,
    optimizer: testOptimizer,
    seed: 1,
    maxPackTokens: 256,
    inference: { slots: 4, kvTokens: 128 },
    ...options,
    env,
  });
}

/** Returns a port that is free at the time of the call. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen({ host: '127.0.0.1', port: 0 }, () => {
      const bound = server.address();
      server.close(() => resolve(typeof bound === 'object' && bound !== null ? bound.port : 0));
    });
  });
}

export function sftBatch(): TrainBatch {
  return { packs: [smallPack()], loss: { kind: 'sft' } };
}
