import path from 'node:path';

import type { Backbone, TrainBatch, TrainStepMetrics } from '@agentjet/core';

import { readModelFolder } from '../../model-files/model-folder.js';
import { findPython, torchHome, verlHome } from '../python-worker/find-python.js';
import type { ReadyMessage } from '../python-worker/messages.js';
import { PythonBackbone } from '../python-worker/python-backbone.js';
import { chooseDoor, startPythonWorker, type PythonWorker } from '../python-worker/start-python-worker.js';
import type { WorkerLaunch } from '../python-worker/worker-process.js';
import { verlCapabilities } from '../capabilities.js';
import { toDriverConfig, type VerlBackboneOptions } from './options.js';

export type VerlTrainStepMetrics = TrainStepMetrics & {
  readonly secondsStep: number;
  /** Time to put the new weights into the samplers and check them. */
  readonly secondsSync: number;
};

export type VerlBackbone = Backbone & {
  trainStep(batch: TrainBatch, options?: { readonly signal?: AbortSignal }): Promise<VerlTrainStepMetrics>;
  readonly workerInfo: {
    readonly device: string;
    readonly dtype: string;
    readonly numWorkers: number;
    readonly numParameters: number;
    /** The versions of verl, ray, torch and transformers. */
    readonly versions: Readonly<Record<string, string>>;
  };
  readonly driverPid: number;
};

type VerlReady = ReadyMessage & {
  readonly device: string;
  readonly dtype: string;
  readonly num_ranks: number;
  readonly num_parameters: number;
  readonly versions: Readonly<Record<string, string>>;
};

/** The maximum number of calls that each worker has at a time. Other calls wait. */
const mostSlots = 256;

/**
 * The time limit of a start. It is long, because on a busy machine the import of verl alone can take a minute, and each
 * worker imports it again.
 */
const startTimeoutMs = 900_000;

/**
 * Starts the driver of verl's workers, and waits until they have loaded the model. Rejects with BackboneError:
 * `no_python`, `version_mismatch` (of verl, Ray, PyTorch, transformers, or our own package), `no_ray`, `too_few_gpus`,
 * `bad_model_files`, `unsupported_model`, `bad_request` (an option), `out_of_memory`, `worker_died`, `worker_hung`.
 */
export async function createVerlBackbone(options: VerlBackboneOptions): Promise<VerlBackbone> {
  const launch = toVerlLaunch(findPython(verlHome, options.python), options.env);
  const modelDir = path.resolve(options.modelDir);
  await readModelFolder(modelDir); // checks the options here, because the driver would report errors only after minutes
  const worker = await startPythonWorker({
    name: 'verl',
    setupCommand: verlHome.setupCommand,
    startTimeoutMs: options.startTimeoutMs ?? startTimeoutMs,
    heartbeatTimeoutMs: options.heartbeatTimeoutMs,
    stallTimeoutMs: options.stallTimeoutMs,
    onLogLine: options.onLogLine,
    launch,
    config: toDriverConfig({ ...options, modelDir }),
    door: chooseDoor({}),
  });
  return new RunningBackbone(worker, options);
}

function toVerlLaunch(python: string, env: VerlBackboneOptions['env']): WorkerLaunch {
  return {
    command: python,
    cwd: verlHome.dir,
    env: {
      PYTHONPATH: [verlHome.dir, torchHome.dir, process.env['PYTHONPATH']].filter(Boolean).join(path.delimiter),
      PYTHONUNBUFFERED: '1',
      HF_HUB_OFFLINE: '1',
      TOKENIZERS_PARALLELISM: 'false',
      RAY_USAGE_STATS_ENABLED: '0',
      ...env,
    },
    inScratchDir: (dir) => ({ args: ['-u', '-m', 'ajet_verl.driver'], env: { AJET_SCRATCH: dir } }),
  };
}

class RunningBackbone extends PythonBackbone<VerlTrainStepMetrics> implements VerlBackbone {
  readonly workerInfo: VerlBackbone['workerInfo'];
  readonly driverPid: number;

  constructor({ connection, ready, pid }: PythonWorker, options: VerlBackboneOptions) {
    const { device, dtype, num_ranks: numWorkers, num_parameters: numParameters, versions } = ready as VerlReady;
    super(connection, {
      name: 'verl',
      capabilities: verlCapabilities,
      modelDir: options.modelDir,
      contextLength: ready.context_length,
      maxInFlight: (options.inference?.slots ?? mostSlots) * numWorkers * 4,
      readFurther: (read) => ({ secondsStep: read('step_seconds'), secondsSync: read('sync_seconds') }),
    });
    this.workerInfo = { device, dtype, numWorkers, numParameters, versions };
    this.driverPid = pid;
  }
}
