import type { Backbone, TrainBatch, TrainStepMetrics } from '@agentjet/core';

import { readModelFolder } from '../../model-files/model-folder.js';
import type { ReadyMessage } from '../python-worker/messages.js';
import { PythonBackbone } from '../python-worker/python-backbone.js';
import { chooseDoor, startPythonWorker, type PythonWorker } from '../python-worker/start-python-worker.js';
import { torchCapabilities } from './capabilities.js';
import { findPython, setupCommand } from './find-python.js';
import { toWorkerConfig, type TorchBackboneOptions } from './options.js';
import { toTorchLaunch } from './torch-launch.js';

/** TrainStepMetrics and how far sampler and trainer disagree before the update. */
export type TorchTrainStepMetrics = TrainStepMetrics & {
  /** Mean of exp(d) - 1 - d with d = trainer logprob - sampler logprob: an estimate of KL(sampler || trainer), nats. */
  readonly mismatchKl: number;
  /** Mean importance weight before truncation. */
  readonly importanceMean: number;
  /** Share of terms whose importance weight was cut by `tisCap`. */
  readonly truncatedFraction: number;
  readonly secondsStep: number;
  /** Time to put the new weights into the sampler and check them. */
  readonly secondsSync: number;
};

export type TorchBackbone = Backbone & {
  trainStep(batch: TrainBatch, options?: { readonly signal?: AbortSignal }): Promise<TorchTrainStepMetrics>;
  /** Of the worker: device, dtype, number of processes, PyTorch version. */
  readonly workerInfo: {
    readonly device: string;
    readonly dtype: string;
    readonly numRanks: number;
    readonly torch: string;
    readonly numParameters: number;
  };
  readonly workerPid: number;
};

type TorchReady = ReadyMessage & {
  readonly device: string;
  readonly dtype: string;
  readonly num_ranks: number;
  readonly torch: string;
  readonly num_parameters: number;
};

/** In flight per GPU at most, in fours, where the worker chooses how many it samples at once. */
const mostSlots = 256;

/**
 * Starts the GPU worker and waits until its model is loaded. Rejects with BackboneError: `no_python`, `bad_model_files`,
 * `unsupported_model`, `bad_request` (an option), `out_of_memory`, `worker_died`, `worker_hung`, `version_mismatch`.
 */
export async function createTorchBackbone(options: TorchBackboneOptions): Promise<TorchBackbone> {
  const { listenHost, token, startTimeoutMs, heartbeatTimeoutMs, stallTimeoutMs, onLogLine } = options;
  const door = chooseDoor({ ...(listenHost && { host: listenHost }), ...(token && { token }) });
  const launch = toTorchLaunch(findPython(options.python), options);
  await readModelFolder(options.modelDir); // for its errors, which would otherwise come only after the worker has loaded PyTorch
  const worker = await startPythonWorker({
    name: 'torch',
    launch,
    config: toWorkerConfig(options),
    setupCommand,
    door,
    startTimeoutMs,
    heartbeatTimeoutMs,
    stallTimeoutMs,
    onLogLine,
  });
  return new RunningBackbone(worker, options);
}

class RunningBackbone extends PythonBackbone<TorchTrainStepMetrics> implements TorchBackbone {
  readonly workerInfo: TorchBackbone['workerInfo'];
  readonly workerPid: number;

  constructor({ connection, ready, pid }: PythonWorker, options: TorchBackboneOptions) {
    super(connection, {
      name: 'torch',
      capabilities: torchCapabilities,
      modelDir: options.modelDir,
      contextLength: ready.context_length,
      maxInFlight: (options.inference?.slots ?? mostSlots) * (options.numGpus ?? 1) * 4,
      hasProximalLogprobs: (options.loss?.tisCap ?? 0) > 0,
      readFurther: (read) => ({
        mismatchKl: read('mismatch_kl'),
        importanceMean: read('importance_mean'),
        truncatedFraction: read('truncated_fraction'),
        secondsStep: read('step_seconds'),
        secondsSync: read('sync_seconds'),
      }),
    });
    const { device, dtype, num_ranks: numRanks, torch, num_parameters: numParameters } = ready as TorchReady;
    this.workerInfo = { device, dtype, numRanks, torch, numParameters };
    this.workerPid = pid;
  }
}
