/** Every backbone that can train on a CPU has an entry here, which opens it or says why it cannot be opened. */

import { existsSync } from 'node:fs';
import type { Backbone, OptimizerOptions } from '@agentjet/core';
import { createOnnxBackbone, createTinkerBackbone, createTorchBackbone, createVerlBackbone } from '@agentjet/trainer';
import { TinkerServer } from '@agentjet/trainer/testing';
import { python, verlPython } from '../parity/question.js';

export type OpenOptions = {
  readonly modelDir: string;
  readonly optimizer: OptimizerOptions;
  /** Tokens of a prompt and its answer. */
  readonly contextLength: number;
};

export type Subject =
  | { readonly name: string; readonly open: (options: OpenOptions) => Promise<Backbone> }
  | { readonly name: string; readonly skipped: string };

const openOnnx = ({ modelDir, optimizer }: OpenOptions): Promise<Backbone> =>
  createOnnxBackbone({ modelDir, optimizer, seed: 1, threads: 1 });

const openTorch = ({ modelDir, optimizer, contextLength }: OpenOptions): Promise<Backbone> =>
  createTorchBackbone({
    modelDir,
    optimizer,
    seed: 1,
    device: 'cpu',
    dtype: 'float32',
    python,
    inference: { slots: 64, kvTokens: contextLength },
    env: { OMP_NUM_THREADS: '1' },
  });

/** Opens one worker on the CPU, in a Ray cluster that nothing else uses. */
const openVerl = ({ modelDir, optimizer, contextLength }: OpenOptions): Promise<Backbone> =>
  createVerlBackbone({
    modelDir,
    optimizer,
    seed: 1,
    dtype: 'float32',
    python: verlPython,
    inference: { slots: 64, kvTokens: contextLength },
    env: { OMP_NUM_THREADS: '1', CUDA_VISIBLE_DEVICES: '' },
  });

/**
 * Opens the backbone tinker on the test server, which trains with the embedded backbone. Server and backbone are closed
 * together.
 */
async function openTinker(options: OpenOptions): Promise<Backbone> {
  const { modelDir, optimizer, contextLength } = options;
  const server = await TinkerServer.start({ open: () => openOnnx(options), contextLength, models: [modelDir] });
  try {
    const backbone = await createTinkerBackbone({
      baseUrl: server.url,
      apiKey: null,
      baseModel: null,
      profile: 'strict',
      rank: 0,
      modelDir,
      seed: 1,
      optimizer,
    });
    const closeBackbone = backbone.close.bind(backbone);
    backbone.close = async () => {
      await closeBackbone();
      await server.close();
    };
    return backbone;
  } catch (error) {
    await server.close();
    throw error;
  }
}

export function subjects(): readonly Subject[] {
  return [
    { name: 'onnx', open: openOnnx },
    existsSync(python)
      ? { name: 'torch', open: openTorch }
      : { name: 'torch', skipped: `no Python with PyTorch at ${python}: npm run setup:torch makes it` },
    { name: 'tinker', open: openTinker },
    existsSync(verlPython)
      ? { name: 'verl', open: openVerl }
      : { name: 'verl', skipped: `no Python with verl at ${verlPython}: npm run setup:verl makes it` },
  ];
}
