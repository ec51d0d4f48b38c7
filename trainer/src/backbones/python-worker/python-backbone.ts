/** The Backbone contract over a Python worker that speaks the schema of messages.ts. */

import path from 'node:path';
import {
  BackboneError,
  snakeKeys,
  type Backbone,
  type Engine,
  type TokenRow,
  type TrainBatch,
  type TrainStepMetrics,
  type TreePack,
} from '@agentjet/core';
import { toFloat32 } from './messages.js';
import type { WorkerConnection } from './worker-connection.js';
import { createWorkerEngine } from './worker-engine.js';

export type PythonBackboneOptions = {
  /** For messages. */
  readonly name: string;
  readonly modelDir: string;
  readonly contextLength: number;
  /** Completions that may be with the worker at once; more wait here. */
  readonly maxInFlight: number;
  /** Whether the worker can score the terms of a batch before its first optimizer step. */
  readonly hasProximalLogprobs: boolean;
};

/** Reads one number of the worker's step metrics; throws BackboneError `protocol` if it is missing. */
export type ReadMetric = (key: string) => number;

const closeGraceMs = 10_000;

export class PythonBackbone implements Backbone {
  readonly engine: Engine;
  readonly modelDir: string;
  readonly proximalLogprobs?: NonNullable<Backbone['proximalLogprobs']>;
  readonly #connection: WorkerConnection;
  readonly #name: string;
  #policyVersion = 0;

  constructor(connection: WorkerConnection, options: PythonBackboneOptions) {
    const { name, modelDir, contextLength, maxInFlight, hasProximalLogprobs } = options;
    this.#connection = connection;
    this.#name = name;
    this.modelDir = modelDir;
    if (hasProximalLogprobs) this.proximalLogprobs = (packs, temperature) => this.#termLogprobs(packs, temperature);
    this.engine = createWorkerEngine(connection, {
      contextLength,
      maxInFlight,
      policyVersion: () => this.#policyVersion,
    });
  }

  get policyVersion(): number {
    return this.#policyVersion;
  }

  async trainStep(batch: TrainBatch, options: { readonly signal?: AbortSignal } = {}): Promise<TrainStepMetrics> {
    return toStepMetrics(await this.trainOn(batch, options));
  }

  /** One optimizer step; gives every number that the worker reports. */
  protected async trainOn(batch: TrainBatch, { signal }: { readonly signal?: AbortSignal }): Promise<ReadMetric> {
    const message = { kind: 'train_step', packs: batch.packs.map(toPackMessage), loss: snakeKeys(batch.loss) };
    const found = (await this.#connection.call(message, { signal })) as Readonly<Record<string, number>>;
    const read = (key: string): number => {
      const number = found[key];
      if (number === undefined)
        throw new BackboneError('protocol', `The ${this.#name} worker's step metrics lack ${key}.`);
      return number;
    };
    this.#policyVersion = read('policy_version');
    return read;
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

  async #termLogprobs(packs: readonly TreePack[], temperature: number): Promise<readonly Float32Array[]> {
    const value = await this.#connection.call({ kind: 'term_logprobs', packs: packs.map(toPackMessage), temperature });
    return (value as readonly Uint8Array[]).map(toFloat32);
  }
}

function toPackMessage(pack: TreePack): unknown {
  const { ids, positions, ends, predictors, targets, terms, rowTokens } = pack;
  return { ids, positions, ends, predictors, targets, terms, row_tokens: rowTokens };
}

export function toStepMetrics(read: ReadMetric): TrainStepMetrics {
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
