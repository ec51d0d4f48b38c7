/** Implements the Backbone contract over a Python worker that exchanges the messages of messages.ts. */

import path from 'node:path';
import {
  BackboneError,
  snakeKeys,
  type Backbone,
  type BackboneCapabilities,
  type Engine,
  type KeptTokens,
  type TermReport,
  type TokenRow,
  type TrainBatch,
  type TrainStepMetrics,
  type TreePack,
  type TruncatedSampling,
} from '@agentjet/core';
import { StepQueue } from '../../slope/step-queue.js';
import { trainInPasses, type BuiltInBatch } from '../../slope/train-in-passes.js';
import { toFloat32, toInt32 } from './messages.js';
import type { WorkerConnection } from './worker-connection.js';
import { createWorkerEngine } from './worker-engine.js';

export type PythonBackboneOptions<Metrics extends TrainStepMetrics> = {
  /** The name for messages. */
  readonly name: string;
  readonly capabilities: BackboneCapabilities;
  readonly modelDir: string;
  readonly contextLength: number;
  /** The maximum number of completions that the worker has at a time. Other completions wait here. */
  readonly maxInFlight: number;
  /** Reads the numbers that this worker reports in addition to the common ones. */
  readonly readFurther: (read: ReadMetric) => Omit<Metrics, keyof TrainStepMetrics>;
};

/** Reads one number of the worker's step metrics. Throws BackboneError `protocol` if it is missing. */
export type ReadMetric = (key: string) => number;

const closeGraceMs = 10_000;

export class PythonBackbone<Metrics extends TrainStepMetrics> implements Backbone {
  readonly engine: Engine;
  readonly capabilities: BackboneCapabilities;
  readonly modelDir: string;
  readonly keptTokens?: NonNullable<Backbone['keptTokens']>;
  readonly #connection: WorkerConnection;
  readonly #name: string;
  readonly #readFurther: PythonBackboneOptions<Metrics>['readFurther'];
  readonly #steps = new StepQueue();
  #policyVersion = 0;

  constructor(connection: WorkerConnection, options: PythonBackboneOptions<Metrics>) {
    const { name, capabilities, modelDir, contextLength, maxInFlight } = options;
    this.#connection = connection;
    this.#name = name;
    this.#readFurther = options.readFurther;
    this.capabilities = capabilities;
    this.modelDir = modelDir;
    if (capabilities.trainsTruncation === true)
      this.keptTokens = (packs, sampling) => this.#keptTokens(packs, sampling);
    this.engine = createWorkerEngine(connection, {
      contextLength,
      maxInFlight,
      policyVersion: () => this.#policyVersion,
    });
  }

  get policyVersion(): number {
    return this.#policyVersion;
  }

  get gone(): AbortSignal {
    return this.#connection.gone;
  }

  async trainStep(batch: TrainBatch, options: { readonly signal?: AbortSignal } = {}): Promise<Metrics> {
    return await this.#steps.run(batch.loss.kind === 'slope', () =>
      trainInPasses(batch, {
        ...(this.keptTokens && { keptTokens: this.keptTokens }),
        termLogprobs: (packs, temperature) => this.termLogprobs(packs, temperature),
        trainStep: (builtIn) => this.#trainStep(builtIn, options.signal),
      }),
    );
  }

  async #trainStep(batch: BuiltInBatch, signal: AbortSignal | undefined): Promise<Metrics> {
    const found = (await this.#connection.call(toStepMessage(batch), { signal })) as StepReply;
    const read = (key: string): number => {
      const value = found[key];
      if (typeof value !== 'number')
        throw new BackboneError(
          'protocol',
          `The ${this.#name} worker's step metrics have no ${key}. Install the worker's Python package from the same release.`,
        );
      return value;
    };
    this.#policyVersion = read('policy_version');
    const terms = found.terms?.map(toTermReport);
    const common: TrainStepMetrics = {
      ...toStepMetrics(read),
      ...(isTruncated(batch) && { tokensOutsideSupport: read('tokens_outside_support') }),
      ...(terms && { terms }),
    };
    return { ...common, ...this.#readFurther(read) } as TrainStepMetrics as Metrics;
  }

  async logprobs(rows: readonly TokenRow[]): Promise<readonly Float32Array[]> {
    const value = await this.#connection.call({ kind: 'logprobs', rows: rows.map((row) => row.ids) });
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
    return this.#connection.close(closeGraceMs);
  }

  async #keptTokens(packs: readonly TreePack[], sampling: TruncatedSampling): Promise<readonly KeptTokens[]> {
    const value = await this.#connection.call({
      kind: 'kept_tokens',
      packs: packs.map(toPackMessage),
      ...snakeKeys(sampling),
    });
    return (value as readonly KeptReply[]).map(({ set, starts, ids }) => ({
      set: toInt32(set),
      starts: toInt32(starts),
      ids: toInt32(ids),
    }));
  }

  async termLogprobs(packs: readonly TreePack[], temperature: number): Promise<readonly Float32Array[]> {
    const value = await this.#connection.call({ kind: 'term_logprobs', packs: packs.map(toPackMessage), temperature });
    return (value as readonly Uint8Array[]).map(toFloat32);
  }
}

type KeptReply = Readonly<Record<keyof KeptTokens, Uint8Array>>;

function isTruncated({ packs, loss }: BuiltInBatch): boolean {
  const isCut = loss.kind === 'policy' && loss.truncation !== undefined;
  return isCut || packs.some(({ terms }) => terms.kept !== undefined);
}

type StepReply = Readonly<Record<string, unknown>> & {
  readonly terms?: readonly Readonly<Record<'logprobs' | 'entropies' | 'ratios' | 'clipped', Uint8Array>>[];
};

function toStepMessage({ packs, loss, optimizer, reportTerms }: BuiltInBatch): Readonly<Record<string, unknown>> {
  return {
    kind: 'train_step',
    packs: packs.map(toPackMessage),
    loss: toLossMessage(loss),
    ...(optimizer && { optimizer: snakeKeys(optimizer) }),
    ...(reportTerms && { report_terms: true }),
  };
}

/**
 * Leaves out the fields of truncation if the loss has none, so a worker that does not support these fields accepts the
 * loss. A correction that arrives here truncates the weights of tokens; `toTrainedLoss` turns all others into slopes.
 */
function toLossMessage(loss: BuiltInBatch['loss']): unknown {
  if (loss.kind === 'sft') return snakeKeys(loss);
  const { truncation, correction, ...plain } = loss;
  return snakeKeys({ ...plain, ...truncation, ...(correction && { tisCap: correction.upper }) });
}

function toTermReport({ logprobs, entropies, ratios, clipped }: NonNullable<StepReply['terms']>[number]): TermReport {
  return {
    logprobs: toFloat32(logprobs),
    entropies: toFloat32(entropies),
    ratios: toFloat32(ratios),
    clipped: new Uint8Array(clipped),
  };
}

function toPackMessage(pack: TreePack): unknown {
  const { ids, positions, ends, predictors, targets, terms, rowTokens } = pack;
  return { ids, positions, ends, predictors, targets, terms, row_tokens: rowTokens };
}

function toStepMetrics(read: ReadMetric): TrainStepMetrics {
  return {
    loss: read('loss'),
    gradNorm: read('grad_norm'),
    entropy: read('entropy'),
    kl: read('kl'),
    clipFraction: read('clip_fraction'),
    logprobGapMax: read('logprob_gap_max'),
    logprobGapMean: read('logprob_gap_mean'),
    learningRate: read('learning_rate'),
    policyVersion: read('policy_version'),
    trainedTokens: read('trained_tokens'),
    rowTokens: read('row_tokens'),
    treeTokens: read('tree_tokens'),
  };
}
