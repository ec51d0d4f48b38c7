/** A backbone whose work is done in a worker: this thread's event loop stays free. */

import type { Engine, TokenRow, TrainBatch, TrainStepMetrics } from '@agentjet/core';
import type { SchedulerStats } from '../sampling/scheduler.js';
import type { FrozenEngine, OnnxBackbone } from '../onnx-backbone.js';
import { alone, WorkerClient } from './worker-client.js';
import type { WorkerThread } from './worker-client.js';

export class RemoteBackbone implements OnnxBackbone {
  readonly modelDir: string;
  readonly engine: Engine;
  readonly #client: WorkerClient;

  constructor(client: WorkerClient, modelDir: string, contextLength: number) {
    this.modelDir = modelDir;
    this.#client = client;
    this.engine = { contextLength, generate: (request) => client.generate(0, request) };
  }

  get policyVersion(): number {
    return this.#client.policyVersion;
  }

  async trainStep(batch: TrainBatch, options: { readonly signal?: AbortSignal } = {}): Promise<TrainStepMetrics> {
    return await this.#client.request('trainStep', batch, options.signal);
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

  async freeze(): Promise<FrozenEngine> {
    const id = await this.#client.request('freeze', null);
    const client = this.#client;
    return {
      contextLength: this.engine.contextLength,
      generate: (request) => client.generate(id, request),
      close: async () => void (await client.request('closeEngine', id)),
    };
  }

  async engineStats(): Promise<SchedulerStats | null> {
    return await this.#client.request('stats', 0);
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

/** Waits until the worker has opened its backbone. */
export async function connectBackbone(worker: WorkerThread, modelDir: string): Promise<RemoteBackbone> {
  const client = new WorkerClient(worker);
  const { contextLength } = await client.started();
  return new RemoteBackbone(client, modelDir, contextLength);
}
