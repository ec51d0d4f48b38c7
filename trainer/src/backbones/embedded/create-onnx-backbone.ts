/** Opens the embedded backbone: sampling and training with onnxruntime-node on the CPU. */

import { availableParallelism } from 'node:os';
import path from 'node:path';
import { BackboneError } from '@agentjet/core';
import type { Backbone, OptimizerOptions } from '@agentjet/core';
import type { SchedulerOptions } from './sampling/scheduler.js';
import type { LocalBackboneOptions } from './local-onnx-backbone.js';
import { connectBackbone } from './worker/worker-backbone.js';
import { startWorker } from './worker/start-worker.js';

export type OnnxBackboneOptions = {
  /** A Hugging Face model folder of the Qwen2, Qwen3 or Llama shape. */
  readonly modelDir: string;
  /** Needed unless `train` is false. */
  readonly optimizer?: OptimizerOptions;
  /** False: sampling and scoring only; trainStep is refused, and no memory goes to gradients and moments. True unless given. */
  readonly train?: boolean;
  /** Taken so that all backbones open alike. Nothing here is random: each draw is seeded by its request. */
  readonly seed?: number;
  /** Threads inside one operator; 0 or absent: as many as there are cores, at most 8. */
  readonly threads?: number;
  /** Limit of prompt plus completion, in tokens; at most the model's own, which it is where this is absent. */
  readonly contextLength?: number;
  /** Limits of the engine, where others than the default ones are wanted. */
  readonly engine?: Partial<SchedulerOptions>;
  /** Do the work in the calling thread, which it then blocks for whole steps: for tests and scripts. */
  readonly isInThread?: boolean;
};

/**
 * Rejects with BackboneError `bad_model_files` or `unsupported_model`. The work runs in a worker thread; should it die,
 * all that is under way rejects with EngineError or BackboneError `failed`. A training step waits for the completions
 * asked for before it, and completions asked for after it wait for it.
 */
export async function createOnnxBackbone(options: OnnxBackboneOptions): Promise<Backbone> {
  const resolved = resolveOptions(options);
  if (options.isInThread === true) {
    // Only here is the native library loaded into this thread.
    const { openLocalOnnxBackbone } = await import('./local-onnx-backbone.js');
    return await openLocalOnnxBackbone(resolved);
  }
  return await connectBackbone(startWorker(resolved), resolved);
}

function resolveOptions({
  modelDir,
  optimizer,
  train = true,
  threads = 0,
  contextLength,
  engine = {},
}: OnnxBackboneOptions): LocalBackboneOptions {
  if (train && optimizer === undefined)
    throw new BackboneError(
      'bad_options',
      'createOnnxBackbone needs optimizer options to train. Give them, or set train: false.',
    );
  return {
    engine,
    modelDir: path.resolve(modelDir),
    threads: threads > 0 ? threads : Math.min(8, availableParallelism()),
    ...(train && optimizer !== undefined && { optimizer }),
    ...(contextLength !== undefined && { contextLength }),
  };
}
