/** Opens the embedded backbone, which samples and trains with onnxruntime-node on the CPU. */

import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { BackboneError } from '@agentjet/core';
import type { Backbone } from '@agentjet/core';
import type { LocalBackboneOptions } from './local-onnx-backbone.js';
import { connectBackbone } from './worker/worker-backbone.js';
import { startWorker } from './worker/start-worker.js';

/**
 * `optimizer` is required unless `train` is false. `threads` 0 or absent means as many as there are cores, at most 8. `engine` overrides
 * the engine's default limits.
 */
export type OnnxBackboneOptions = Pick<
  LocalBackboneOptions,
  'modelDir' | 'optimizer' | 'contextLength' | 'lora' | 'frozenWeights'
> &
  Partial<Pick<LocalBackboneOptions, 'threads' | 'engine'>> & {
    /**
     * If false, the backbone only samples and scores. It refuses trainStep and allocates no memory for gradients and
     * moments. Defaults to true.
     */
    readonly train?: boolean;
    /** The seed of new adapters. Defaults to 1. Sampling does not use it: each request has its own seed. */
    readonly seed?: number;
    /** Does the work in the calling thread and blocks it for whole steps. Use it in tests and scripts. */
    readonly isInThread?: boolean;
  };

/**
 * Rejects with BackboneError `bad_model_files`, `unsupported_model`, `bad_options`, or `missing_package` without
 * `@agentjet/onnx`. The work runs in a worker thread. If the thread
 * ends unexpectedly, every call in progress rejects with EngineError or BackboneError `failed`. A training step waits
 * for earlier completions, and later completions wait for the step.
 */
export async function createOnnxBackbone(options: OnnxBackboneOptions): Promise<Backbone> {
  const resolved = resolveOptions(options);
  requireRuntime();
  if (options.isInThread === true) {
    // Only this branch loads the native library into this thread.
    const { openLocalOnnxBackbone } = await import('./local-onnx-backbone.js');
    return await openLocalOnnxBackbone(resolved);
  }
  return await connectBackbone(startWorker(resolved), resolved);
}

const require = createRequire(import.meta.url);

/** The worker thread imports the package. Without this check, its failure would look like a defect. */
function requireRuntime(): void {
  try {
    require.resolve('@agentjet/onnx/package.json');
  } catch (cause) {
    const { version } = require('../../../package.json') as { readonly version: string };
    throw new BackboneError(
      'missing_package',
      `The backbone "onnx" needs the package @agentjet/onnx, which is not installed. Run \`npm install --ignore-scripts @agentjet/onnx@${version}\` in your project, or choose another backbone: torch, verl or tinker.`,
      { cause },
    );
  }
}

function resolveOptions({
  modelDir,
  optimizer,
  train = true,
  threads = 0,
  contextLength,
  lora,
  seed,
  frozenWeights,
  engine = {},
}: OnnxBackboneOptions): LocalBackboneOptions {
  if (train && optimizer === undefined)
    throw new BackboneError(
      'bad_options',
      'createOnnxBackbone needs optimizer options to train. Pass optimizer, or set train: false.',
    );
  if (train && lora === undefined && frozenWeights !== undefined && frozenWeights !== 'float32')
    throw new BackboneError(
      'bad_options',
      `onnx.frozen_weights is ${frozenWeights}, but all weights are trained here (lora.rank is 0), and they are float32. Set lora.rank, for example to 16, or leave out onnx.frozen_weights.`,
    );
  return {
    engine,
    modelDir: path.resolve(modelDir),
    threads: threads > 0 ? threads : Math.min(8, availableParallelism()),
    ...(train && optimizer !== undefined && { optimizer }),
    ...(contextLength !== undefined && { contextLength }),
    ...(train && lora !== undefined && { lora }),
    ...(seed !== undefined && { seed }),
    ...(frozenWeights !== undefined && { frozenWeights }),
  };
}
