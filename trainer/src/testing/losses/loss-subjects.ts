import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Backbone } from '@agentjet/core';
import { openLocalOnnxBackbone } from '../../backbones/embedded/local-onnx-backbone.js';
import { createModelFolder } from '../../backbones/embedded/training/create-model-folder.js';
import { initialWeights } from '../../backbones/embedded/training/model/initial-weights.js';
import { parseModelConfig } from '../../backbones/embedded/training/model/model-config.js';
import { parameterLayout } from '../../backbones/embedded/training/model/parameter-layout.js';
import { OnnxModel } from '../../backbones/embedded/training/onnx-model.js';
import { namedTensors } from '../../backbones/embedded/training/trainer-state.js';
import { openClient } from '../../backbones/tinker/testing/open-client.js';
import { TinkerServer } from '../../backbones/tinker/testing/tinker-server.js';
import { hasTorch, startTiny } from '../../backbones/torch/testing-worker.js';
import { readModelFolder, readTensor } from '../../model-files/model-folder.js';
import { adamOptions } from '../adam-options.js';
import { tinyConfig } from '../tiny-config.js';

/** Backbones whose gradients `measureLossOn` compares with the sources of the losses. All have the same small model. */

export type LossSubject = {
  readonly name: 'torch' | 'tinker';
  /** Why it cannot be measured on this machine. */
  readonly missing: string | undefined;
  readonly open: () => Promise<OpenSubject>;
};

export type OpenSubject = {
  readonly backbone: Backbone;
  /** The temperature at which it can train. */
  readonly temperature: number;
  /** Returns to the weights of `openSmallModel`. */
  readonly reset: () => Promise<void>;
  /** Reads the weights after a step. */
  readonly readWeights: () => Promise<Float32Array>;
  readonly close: () => Promise<void>;
};

const json = tinyConfig({ vocab_size: 11, hidden_size: 16, intermediate_size: 24 });
const initial = { seed: 1, standardDeviation: 0.3 } as const;
const config = parseModelConfig(json);
const layout = parameterLayout(config);

/**
 * With this epsilon, which is far above every gradient, a step of Adam changes a weight by its gradient times
 * `stepOverGradient`. The gradient can therefore be read from the weights.
 */
const epsilon = 1e6;
export const stepOverGradient = 100;
const optimizer = adamOptions(stepOverGradient * epsilon, { epsilon });

/** Opens the same model, or with another seed a model of the same size. */
export function openSmallModel(precision: 'float32' | 'float64', seed: number = initial.seed): OnnxModel {
  const weights = initialWeights(config, layout, { ...initial, seed });
  return new OnnxModel({ config, weights, optimizer, threads: 1, precision });
}

export const lossSubjects: readonly LossSubject[] = [
  {
    name: 'torch',
    missing: hasTorch ? undefined : 'the Python environment of the worker is not there: npm run setup:torch',
    open: () => inFolder(openTorch),
  },
  { name: 'tinker', missing: undefined, open: () => inFolder(openTinker) },
];

/** Closes the second also if the first throws. */
async function closeBoth(first: () => Promise<void>, second: () => Promise<void>): Promise<void> {
  try {
    await first();
  } finally {
    await second();
  }
}

async function inFolder(open: (dir: string) => Promise<OpenSubject>): Promise<OpenSubject> {
  const dir = await mkdtemp(path.join(tmpdir(), 'agentjet-loss-'));
  const remove = (): Promise<void> => rm(dir, { recursive: true, force: true });
  try {
    await createModelFolder(path.join(dir, 'model'), { config: json, ...initial });
    const subject = await open(dir);
    return { ...subject, close: () => closeBoth(subject.close, remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function openTorch(dir: string): Promise<OpenSubject> {
  const first = path.join(dir, 'first');
  const backbone = await startTiny(path.join(dir, 'model'), { optimizer, dtype: 'float32' });
  await backbone.save(first);
  return {
    backbone,
    temperature: 0.8,
    reset: () => backbone.load(first),
    readWeights: () => readSaved(backbone, path.join(dir, 'trained')),
    close: () => backbone.close(),
  };
}

/** The client of a Tinker server, over the embedded backbone. Such a server trains at temperature 1. */
async function openTinker(dir: string): Promise<OpenSubject> {
  const first = path.join(dir, 'first');
  const modelDir = path.join(dir, 'model');
  let trained: Backbone | undefined; // the server opens others, which only sample
  const server = await TinkerServer.start({
    open: async () => {
      const served = await openLocalOnnxBackbone({ modelDir, optimizer, threads: 1, engine: {} });
      const trainStep = served.trainStep.bind(served);
      return Object.assign(served, {
        trainStep: (...step: Parameters<typeof trainStep>) => {
          trained = served;
          return trainStep(...step);
        },
      });
    },
  });
  const backbone = await openClient(server, modelDir, { optimizer });
  await backbone.save(first);
  return {
    backbone,
    temperature: 1,
    reset: () => backbone.load(first),
    readWeights: async () => {
      if (trained === undefined) throw new Error('The server has trained nothing.');
      return readSaved(trained, path.join(dir, 'trained'));
    },
    close: () =>
      closeBoth(
        () => backbone.close(),
        () => server.close(),
      ),
  };
}

async function readSaved(backbone: Backbone, dir: string): Promise<Float32Array> {
  await backbone.save(dir);
  const folder = await readModelFolder(dir);
  const weights = new Float32Array(layout.length);
  for (const tensor of namedTensors(layout, weights)) await readTensor(folder, tensor);
  await rm(dir, { recursive: true });
  return weights;
}
