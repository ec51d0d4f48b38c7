import { randomBytes } from 'node:crypto';
import path from 'node:path';

import {
  BackboneError,
  snakeKeys,
  type Backbone,
  type Engine,
  type TrainBatch,
  type TrainStepMetrics,
  type TreePack,
} from '@agentjet/core';

import { readModelFolder } from '../../model-files/model-folder.js';
import { openDoor, type ListeningDoor } from '../python-worker/accept-worker.js';
import { findPython, setupCommand } from './find-python.js';
import { schemaVersion, toFloat32 } from '../python-worker/messages.js';
import { toWorkerConfig, type TorchBackboneOptions } from './options.js';
import { createTorchEngine } from '../python-worker/worker-engine.js';
import { WorkerConnection } from '../python-worker/worker-connection.js';
import { startWorkerProcess, type WorkerProcess } from '../python-worker/worker-process.js';

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

/** In flight per GPU at most, in fours, where the worker chooses how many it samples at once. */
const mostSlots = 256;

const loopback = new Set(['127.0.0.1', '::1', 'localhost']);

/**
 * Starts the GPU worker and waits until its model is loaded. Rejects with BackboneError: `no_python`, `bad_model_files`,
 * `unsupported_model`, `bad_request` (an option), `out_of_memory`, `worker_died`, `worker_hung`, `version_mismatch`.
 */
export async function createTorchBackbone(options: TorchBackboneOptions): Promise<TorchBackbone> {
  const token = chooseToken(options);
  const python = findPython(options.python);
  await readModelFolder(options.modelDir); // for its errors, which would otherwise come only after the worker has loaded PyTorch
  const door = await openDoor(token, options.listenHost ?? '127.0.0.1');
  let worker: WorkerProcess | undefined;
  try {
    worker = await startWorkerProcess({
      python,
      numGpus: options.numGpus ?? 1,
      address: door.address,
      token,
      fsdp: options.cpuOffload === true,
      ...(options.env === undefined ? {} : { env: options.env }),
      ...(options.onLogLine === undefined ? {} : { onLine: options.onLogLine }),
    });
    const connection = await meetWorker(door, worker, options);
    const ready = await connection.ready;
    return new RunningBackbone(connection, options, {
      pid: worker.pid,
      contextLength: ready.context_length,
      device: ready.device,
      dtype: ready.dtype,
      numRanks: ready.num_ranks,
      torch: ready.torch,
      numParameters: ready.num_parameters,
    });
  } catch (error) {
    worker?.kill('SIGKILL');
    await worker?.ended;
    throw error;
  } finally {
    door.close();
  }
}

function chooseToken(options: TorchBackboneOptions): string {
  const host = options.listenHost ?? '127.0.0.1';
  if (!loopback.has(host) && options.token === undefined) {
    throw new BackboneError(
      'bad_request',
      `listenHost "${host}" is not the loopback, so a token must be given. Set token, or leave listenHost at 127.0.0.1.`,
    );
  }
  return options.token ?? randomBytes(32).toString('hex');
}

/** Waits for hello, or for the process to end, or for too long; then sends the configuration. */
async function meetWorker(
  door: ListeningDoor,
  worker: WorkerProcess,
  options: TorchBackboneOptions,
): Promise<WorkerConnection> {
  const timeoutMs = options.startTimeoutMs ?? 300_000;
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(startError(worker, 'worker_hung', `did not connect within ${Math.round(timeoutMs / 1000)} s`)),
      timeoutMs,
    );
  });
  const died = worker.ended.then((how) => Promise.reject(startError(worker, 'worker_died', how)));
  const met = door.connection.catch((error: unknown) =>
    Promise.reject(new BackboneError('version_mismatch', error instanceof Error ? error.message : String(error))),
  );
  try {
    const { socket, reader, early } = await Promise.race([met, died, tooLate]);
    const watch = {
      heartbeatTimeoutMs: options.heartbeatTimeoutMs ?? 30_000,
      stallTimeoutMs: options.stallTimeoutMs ?? 1_800_000,
    };
    const connection = new WorkerConnection(socket, worker, watch);
    connection.listen(reader, early);
    const heartbeatS = Math.min(2, watch.heartbeatTimeoutMs / 5000);
    await connection.send({
      kind: 'configure',
      schema: schemaVersion,
      heartbeat_s: heartbeatS,
      config: snakeKeys(toWorkerConfig(options)),
    });
    return connection;
  } finally {
    clearTimeout(timer);
    died.catch(() => undefined);
    tooLate.catch(() => undefined);
  }
}

function startError(worker: WorkerProcess, code: string, how: string): BackboneError {
  const lines = worker.lastLines();
  const repair = lines.includes('ModuleNotFoundError')
    ? `\nThis Python lacks a package. An environment that has them all is made by ${setupCommand}.`
    : '';
  return new BackboneError(code, `The torch worker ${how} before it was ready. Its last lines:\n${lines}${repair}`);
}

type WorkerFacts = TorchBackbone['workerInfo'] & { readonly pid: number; readonly contextLength: number };

class RunningBackbone implements TorchBackbone {
  readonly engine: Engine;
  readonly modelDir: string;
  readonly workerInfo: TorchBackbone['workerInfo'];
  readonly workerPid: number;
  readonly proximalLogprobs?: NonNullable<Backbone['proximalLogprobs']>;
  readonly #connection: WorkerConnection;
  #policyVersion = 0;

  constructor(connection: WorkerConnection, options: TorchBackboneOptions, facts: WorkerFacts) {
    const { pid, contextLength, ...info } = facts;
    this.#connection = connection;
    this.modelDir = options.modelDir;
    this.workerInfo = info;
    this.workerPid = pid;
    if ((options.loss?.tisCap ?? 0) > 0)
      this.proximalLogprobs = (packs, temperature) => this.#termLogprobs(packs, temperature);
    const maxInFlight = (options.inference?.slots ?? mostSlots) * (options.numGpus ?? 1) * 4;
    this.engine = createTorchEngine(connection, {
      contextLength,
      maxInFlight,
      policyVersion: () => this.#policyVersion,
    });
  }

  get policyVersion(): number {
    return this.#policyVersion;
  }

  async trainStep(batch: TrainBatch, options: { readonly signal?: AbortSignal } = {}): Promise<TorchTrainStepMetrics> {
    const message = { kind: 'train_step', packs: batch.packs.map(toPackMessage), loss: snakeKeys(batch.loss) };
    const metrics = toMetrics(await this.#connection.call(message, { signal: options.signal }));
    this.#policyVersion = metrics.policyVersion;
    return metrics;
  }

  async logprobs(rows: readonly { readonly ids: Int32Array }[]): Promise<readonly Float32Array[]> {
    const value = await this.#connection.call({ kind: 'logprobs', rows: rows.map((row) => row.ids) });
    return (value as readonly Uint8Array[]).map(toFloat32);
  }

  async #termLogprobs(packs: readonly TreePack[], temperature: number): Promise<readonly Float32Array[]> {
    const value = await this.#connection.call({ kind: 'term_logprobs', packs: packs.map(toPackMessage), temperature });
    return (value as readonly Uint8Array[]).map(toFloat32);
  }

  async save(dir: string): Promise<void> {
    await this.#connection.call({ kind: 'save', dir: path.resolve(dir) });
  }

  async load(dir: string): Promise<void> {
    const value = (await this.#connection.call({ kind: 'load', dir: path.resolve(dir) })) as {
      readonly policy_version: number;
    };
    this.#policyVersion = value.policy_version;
  }

  close(): Promise<void> {
    return this.#connection.close(10_000);
  }
}

function toPackMessage(pack: TreePack): unknown {
  const { ids, positions, ends, predictors, targets, terms, rowTokens } = pack;
  return { ids, positions, ends, predictors, targets, terms, row_tokens: rowTokens };
}

function toMetrics(value: unknown): TorchTrainStepMetrics {
  const found = value as Readonly<Record<string, number>>;
  const at = (key: string): number => {
    const number = found[key];
    if (number === undefined) throw new BackboneError('protocol', `The torch worker's step metrics lack ${key}.`);
    return number;
  };
  return {
    loss: at('loss'),
    gradNorm: at('grad_norm'),
    entropy: at('entropy'),
    kl: at('kl'),
    clipFraction: at('clip_fraction'),
    logprobGapMax: at('logprob_gap_max'),
    logprobGapMean: at('logprob_gap_mean'),
    learningRate: at('learning_rate'),
    policyVersion: at('policy_version'),
    trainedTokens: at('trained_tokens'),
    rowTokens: at('row_tokens'),
    treeTokens: at('tree_tokens'),
    mismatchKl: at('mismatch_kl'),
    importanceMean: at('importance_mean'),
    truncatedFraction: at('truncated_fraction'),
    secondsStep: at('step_seconds'),
    secondsSync: at('sync_seconds'),
  };
}
