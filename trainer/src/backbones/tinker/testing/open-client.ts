import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Backbone } from '@agentjet/core';
import { tinyTaskOptimizer } from '../../../testing/tiny-task.js';
import { attemptClock } from '../attempt-clock.js';
import { createTinkerBackbone, type TinkerBackboneOptions } from '../create-tinker-backbone.js';
import type { TinkerServer } from './tinker-server.js';

/** Writes a folder as `model.path` names it, without a tokenizer. */
export async function writeModelConfig(vocabSize: number): Promise<string> {
  const dir = await mkdtemp(path.join(tmpdir(), 'agentjet-tinker-model-'));
  await writeFile(path.join(dir, 'config.json'), JSON.stringify({ vocab_size: vocabSize }));
  return dir;
}

/** Opens the backbone against that server, without waiting between attempts. */
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
    ...(isTrained && { optimizer: tinyTaskOptimizer }),
    clock: { ...attemptClock, wait: () => new Promise(setImmediate) },
    ...options,
  });
}
