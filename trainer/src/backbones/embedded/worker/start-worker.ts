/**
 * Starts the worker thread in the form in which this file runs: the built JavaScript, or the TypeScript of the
 * repository.
 */

import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { LocalBackboneOptions } from '../local-onnx-backbone.js';

export function startWorker(options: LocalBackboneOptions): Worker {
  const isSource = import.meta.url.endsWith('.ts');
  return isSource
    ? startFromSource(options)
    : new Worker(new URL('./worker.js', import.meta.url), { workerData: options });
}

/**
 * Tests and tools that run the sources have tsx, which finds the sources of the other packages through the path
 * mapping.
 */
function startFromSource(options: LocalBackboneOptions): Worker {
  const pathMapping = fileURLToPath(new URL('../../../../../tsconfig.check.json', import.meta.url));
  return new Worker(new URL('../../../testing/worker-from-source.mjs', import.meta.url), {
    workerData: options,
    env: { ...process.env, TSX_TSCONFIG_PATH: pathMapping },
  });
}
