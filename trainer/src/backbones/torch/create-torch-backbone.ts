import path from 'node:path';

import { BackboneError, type Backbone, type TrainBatch, type TrainStepMetrics } from '@agentjet/core';

import { readModelFolder } from '../../model-files/model-folder.js';
import type { ReadyMessage } from '../python-worker/messages.js';
import { PythonBackbone } from '../python-worker/python-backbone.js';
import {
  chooseDoor,
  startPythonWorker,
  type AttachedLaunch,
  type PythonWorker,
} from '../python-worker/start-python-worker.js';
import { attachCommand } from './attach-command.js';
import { torchCapabilities } from '../capabilities.js';
import { findPython, torchHome } from '../python-worker/find-python.js';
import { toWorkerConfig, type AttachOptions, type TorchBackboneOptions } from './options.js';
import { writeSharedProbe } from './shared-storage.js';
import { toTorchLaunch } from './torch-launch.js';

/** TrainStepMetrics, and the mismatch between sampler and trainer before the update. */
export type TorchTrainStepMetrics = TrainStepMetrics & {
  /**
   * The mean of exp(d) - 1 - d with d = trainer logprob - sampler logprob: an estimate of KL(sampler || trainer), in
   * nats.
   */
  readonly mismatchKl: number;
  /** The mean importance weight before truncation. */
  readonly importanceMean: number;
  /** The share of terms whose importance weight the correction cut. */
  readonly truncatedFraction: number;
  readonly secondsStep: number;
  /** Time to put the new weights into the sampler and check them. */
  readonly secondsSync: number;
  /** Time in torch.compile and Triton's compiler since the step before, or since the model was loaded, on the first GPU. */
  readonly secondsCompiling: number;
};

export type TorchBackbone = Backbone & {
  trainStep(batch: TrainBatch, options?: { readonly signal?: AbortSignal }): Promise<TorchTrainStepMetrics>;
  /** The worker's device, dtype, number of processes and PyTorch version. */
  readonly workerInfo: {
    readonly device: string;
    readonly dtype: string;
    readonly numRanks: number;
    readonly numNodes: number;
    readonly torch: string;
    readonly numParameters: number;
  };
  /** -1 if it was started elsewhere. */
  readonly workerPid: number;
};

type TorchReady = ReadyMessage & {
  readonly device: string;
  readonly dtype: string;
  readonly num_ranks: number;
  readonly num_nodes: number;
  readonly torch: string;
  readonly num_parameters: number;
};

/**
 * If the worker chooses how many calls it samples at a time, the number of calls in progress is at most four times this
 * number per GPU.
 */
const mostSlots = 256;

/** Waits for a long time, because the job may wait in the queue of a launcher. */
const attachTimeoutMs = 3_600_000;

/**
 * Starts the GPU worker, or waits for a worker that launchers start. Resolves when its model is loaded. Rejects with
 * BackboneError: `no_python`, `bad_model_files`, `unsupported_model`, `bad_request` (an option), `out_of_memory`,
 * `worker_died`, `worker_hung`, `version_mismatch`.
 */
export async function createTorchBackbone(options: TorchBackboneOptions): Promise<TorchBackbone> {
  checkMasterStart(options);
  return options.attach === undefined ? await startLocally(options) : await attach(options, options.attach);
}

/** Throws BackboneError `bad_request` if the setting would have no effect. */
function checkMasterStart({ masterStart = 'auto', lora }: TorchBackboneOptions): void {
  if (lora === undefined || masterStart === 'auto' || masterStart === 'zero') return;
  throw new BackboneError(
    'bad_request',
    `torch.master_start is ${masterStart}, which sets the masters of the model's own weights, but lora.rank ${lora.rank} trains an adapter (LoRA) in place of them. Set torch.master_start to auto, or lora.rank to 0.`,
  );
}

async function startLocally(options: TorchBackboneOptions): Promise<TorchBackbone> {
  const door = chooseDoor(doorOf(options));
  const launch = toTorchLaunch(findPython(torchHome, options.python), options);
  await readModelFolder(options.modelDir); // checks the options here, because the worker could check them only after it has loaded PyTorch
  const worker = await startPythonWorker({ ...common(options), launch, config: toWorkerConfig(options), door });
  return new RunningBackbone(worker, options);
}

async function attach(options: TorchBackboneOptions, attached: AttachOptions): Promise<TorchBackbone> {
  const door = chooseDoor({ ...doorOf({ token: attached.token, ...options }), port: attached.port }, true);
  await readModelFolder(options.modelDir);
  const probe = await writeSharedProbe(attached.sharedDir);
  const gpusPerNode = options.numGpus ?? 1;
  const launch: AttachedLaunch = {
    kind: 'attached',
    onWaiting(address) {
      const token = options.token === undefined ? door.token : '<torch.token>';
      attached.onCommand(attachCommand({ address, token, numNodes: attached.numNodes, gpusPerNode }));
    },
  };
  const config = { ...toWorkerConfig(options), modelDir: path.resolve(options.modelDir), ...probe.config };
  try {
    const worker = await startPythonWorker({
      ...common(options),
      launch,
      config,
      door,
      startTimeoutMs: options.startTimeoutMs ?? attachTimeoutMs,
    });
    await checkCount(worker, attached.numNodes, gpusPerNode);
    return new RunningBackbone(worker, options);
  } finally {
    await probe.remove();
  }
}

function doorOf({ listenHost, token }: DoorOptions): { readonly host?: string; readonly token?: string } {
  return { ...(listenHost && { host: listenHost }), ...(token && { token }) };
}

type DoorOptions = { readonly listenHost?: string | undefined; readonly token?: string | undefined };

function common({ startTimeoutMs, heartbeatTimeoutMs, stallTimeoutMs, onLogLine }: TorchBackboneOptions) {
  return {
    name: 'torch',
    setupCommand: torchHome.setupCommand,
    startTimeoutMs,
    heartbeatTimeoutMs,
    stallTimeoutMs,
    onLogLine,
  };
}

/**
 * Checks that the number of started processes matches the configuration, because the packs of a step are divided among
 * that many.
 */
async function checkCount({ connection, ready }: PythonWorker, numNodes: number, gpusPerNode: number): Promise<void> {
  const { num_ranks: numRanks, num_nodes: found } = ready as TorchReady;
  if (found === numNodes && numRanks === numNodes * gpusPerNode) return;
  await connection.close(0);
  throw new BackboneError(
    'bad_request',
    `The launchers started ${numRanks} processes on ${found} nodes, but torch.num_nodes is ${numNodes} and trainer_common.n_gpus_per_node ${gpusPerNode}. Start as many processes as these settings require, or change the settings.`,
  );
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
      maxInFlight:
        (options.inference?.slots ?? mostSlots) *
        Math.max((ready as TorchReady).num_ranks, options.inference?.numReplicas ?? 1) *
        4,
      readFurther: (read) => ({
        mismatchKl: read('mismatch_kl'),
        importanceMean: read('importance_mean'),
        truncatedFraction: read('truncated_fraction'),
        secondsStep: read('step_seconds'),
        secondsSync: read('sync_seconds'),
        secondsCompiling: read('compiling_seconds'),
      }),
    });
    const { device, dtype, num_ranks, num_nodes, torch, num_parameters: numParameters } = ready as TorchReady;
    this.workerInfo = { device, dtype, numRanks: num_ranks, numNodes: num_nodes, torch, numParameters };
    this.workerPid = pid;
  }
}
