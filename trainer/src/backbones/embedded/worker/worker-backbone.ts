/** A backbone whose work is done in a worker, so this thread's event loop stays free. */

import type {
  Backbone,
  BackboneCapabilities,
  Engine,
  KeptTokens,
  TokenRow,
  TrainBatch,
  TrainStepMetrics,
  TreePack,
  TruncatedSampling,
} from '@agentjet/core';
import { StepQueue } from '../../../slope/step-queue.js';
import { trainInPasses } from '../../../slope/train-in-passes.js';
import { capabilitiesOf, embeddedArithmetic } from '../../capabilities.js';
import type { LocalBackboneOptions } from '../local-onnx-backbone.js';
import { alone, WorkerClient } from './worker-client.js';
import type { WorkerThread } from './worker-client.js';

type OpenedModel = Pick<LocalBackboneOptions, 'modelDir' | 'threads' | 'frozenWeights'>;

export class WorkerBackbone implements Backbone {
  readonly modelDir: string;
  readonly engine: Engine;
  readonly capabilities: BackboneCapabilities;
  readonly arithmetic: string;
  readonly #client: WorkerClient;
  readonly #steps = new StepQueue();

  constructor(client: WorkerClient, options: OpenedModel, contextLength: number) {
    this.modelDir = options.modelDir;
    this.capabilities = capabilitiesOf(options);
    this.arithmetic = embeddedArithmetic(options.threads);
    this.#client = client;
    this.engine = { contextLength, generate: (request) => client.generate(request) };
  }

  get policyVersion(): number {
    return this.#client.policyVersion;
  }

  get gone(): AbortSignal {
    return this.#client.gone;
  }

  async trainStep(batch: TrainBatch, options: { readonly signal?: AbortSignal } = {}): Promise<TrainStepMetrics> {
    return await this.#steps.run(batch.loss.kind === 'slope', () =>
      trainInPasses(batch, {
        keptTokens: (packs, sampling) => this.keptTokens(packs, sampling),
        termLogprobs: (packs, temperature) => this.termLogprobs(packs, temperature),
        trainStep: (builtIn) => this.#client.request('trainStep', builtIn, options.signal),
      }),
    );
  }

  async termLogprobs(packs: readonly TreePack[], temperature: number): Promise<readonly Float32Array[]> {
    return await this.#client.request('termLogprobs', { packs, temperature });
  }

  async keptTokens(packs: readonly TreePack[], sampling: TruncatedSampling): Promise<readonly KeptTokens[]> {
    return await this.#client.request('keptTokens', { packs, sampling });
  }

  async logprobs(rows: readonly TokenRow[]): Promise<readonly Float32Array[]> {
    return await this.#client.request(
      'logprobs',
      rows.map(({ ids }) => ({ ids: alone(ids) })),
    );
  }

  async save(dir: string): Promise<void> {
    await this.#client.request('save', dir);
  }

  async load(dir: string): Promise<void> {
    await this.#client.request('load', dir);
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

/** Waits until the worker has opened its backbone. */
export async function connectBackbone(worker: WorkerThread, model: OpenedModel): Promise<WorkerBackbone> {
  const client = new WorkerClient(worker);
  const { contextLength } = await client.started();
  return new WorkerBackbone(client, model, contextLength);
}
