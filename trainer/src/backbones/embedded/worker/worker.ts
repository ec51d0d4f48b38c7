/** The entry of the backbone's worker thread. */

import { parentPort, workerData } from 'node:worker_threads';
import { openLocalOnnxBackbone } from '../local-onnx-backbone.js';
import type { LocalBackboneOptions } from '../local-onnx-backbone.js';
import { BackboneServer } from './serve-backbone.js';
import { toWorkerError } from './worker-error.js';

const port = parentPort;
if (port === null) throw new Error('This file runs as a worker thread only.');

try {
  const backbone = await openLocalOnnxBackbone(workerData as LocalBackboneOptions);
  new BackboneServer(backbone, port, () => port.close()).start();
} catch (error) {
  port.postMessage({ type: 'failed', error: toWorkerError(error) });
  port.close();
}
