import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Backbone, OptimizerOptions } from '@agentjet/core';
import { createTinkerBackbone, type TinkerBackboneOptions } from '../create-tinker-backbone.js';
import type { TinkerServer } from './tinker-server.js';

/** That of the tiny task's backbone. */
const optimizer: OptimizerOptions = {
  learningRate: 0.05,
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  weightDecay: 0,
  maxGradNorm: 1,
  schedule: 'constant',
  warmupSteps: 0,
  totalSteps: 0,
};

/** A folder as `model.path` names it, without a tokenizer. */
export async function writeModelConfig(vocabSize: number): Promise<string> {
  const dir = await mkdtemp(path.join(tmpdir(), 'agentjet-tinker-model-'));
  await writeFile(path.join(dir, 'config.json'), JSON.stringify({ vocab_size: vocabSize }));
  return dir;
}

/** The backbone against that server, without waiting between attempts. */
export async function openClient(
  { url }: Pick<TinkerServer, 'url'>,
  modelDir: string,
  { isTrained = true, ...options }: Partial<TinkerBackboneOptions> & { readonly isTrained?: boolean } = {},
): Promise<Backbone> {
  return await createTinkerBackbone({
    baseUrl: url,
    apiKey: null,
    baseModel: null,
    profile: 'auto',
    rank: 0,
    modelDir,
    seed: 1,
    ...(isTrained && { optimizer }),
    wait: () => new Promise(setImmediate),
    ...options,
  });
}
