import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import type { OptimizerOptions, TrainBatch, TreePack } from '@agentjet/core';

import { createTorchBackbone, type TorchBackbone } from './create-torch-backbone.js';
import { venvPython, workerDir } from './find-python.js';
import type { TorchBackboneOptions } from './options.js';

/** Whether the worker's virtual environment is there; tests say that they are skipped where it is not. */
export const hasTorch = existsSync(process.env['AJET_TORCH_PYTHON'] ?? venvPython());

export const testPython = process.env['AJET_TORCH_PYTHON'] ?? venvPython();

/** A folder with a random model of a few thousand weights. */
export function makeTinyModel(family = 'qwen2'): string {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'ajet-tiny-'));
  execFileSync(testPython, [path.join(workerDir, 'tests/make_tiny.py'), dir, family], { stdio: 'pipe' });
  return dir;
}

export const testOptimizer: OptimizerOptions = {
  learningRate: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, maxGradNorm: 1, schedule: 'constant', warmupSteps: 0, totalSteps: 0,
};

export function startTiny(modelDir: string, options: Partial<TorchBackboneOptions> = {}): Promise<TorchBackbone> {
  const env = { OMP_NUM_THREADS: '1', ...options.env };
  return createTorchBackbone({ modelDir, optimizer: testOptimizer, seed: 1, maxPackTokens: 256, inference: { slots: 4, kvTokens: 128 }, ...options, env });
}

/** The worked example of core's TreePack. */
export function smallPack(): TreePack {
  return {
    ids: Int32Array.of(5, 6, 7, 8), positions: Int32Array.of(0, 1, 2, 2), ends: Int32Array.of(4, 4, 3, 4),
    predictors: Int32Array.of(1, 1), targets: Int32Array.of(7, 8), rowTokens: 6,
    terms: {
      pair: Int32Array.of(0, 1), sequence: Int32Array.of(0, 1), weights: Float32Array.of(0.5, 0.5),
      advantages: Float32Array.of(1, -1), logprobs: Float32Array.of(-4, -4),
    },
  };
}

export function sftBatch(): TrainBatch {
  return { packs: [smallPack()], loss: { kind: 'sft' } };
}
