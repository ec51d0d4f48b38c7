/** A session holds the models of one run. A server deletes them if it gets no heartbeat for some minutes. */

import { BackboneError } from '@agentjet/core';
import { protocolError } from './row-data.js';
import { RemoteModel } from './remote-model.js';
import type { TinkerClient } from './tinker-client.js';
import { LostError } from './tinker-errors.js';

export type NewModel = {
  readonly baseModel: string;
  /** The rank of the adapter; 0 means all weights. */
  readonly rank: number;
  readonly seed: number;
  /** The path on the server of the initial weights. Null means the base model. */
  readonly beginsFrom: string | null;
};

const heartbeatMs = 10_000;

const isRefused = (error: unknown): error is BackboneError =>
  error instanceof BackboneError && error.code === 'refused';

export class TinkerSession {
  readonly #client: TinkerClient;
  readonly #id: string;
  readonly #heartbeat: NodeJS.Timeout;
  #models = 0;
  #samplers = 0;

  private constructor(client: TinkerClient, id: string) {
    this.#client = client;
    this.#id = id;
    this.#heartbeat = setInterval(() => void this.beat(), heartbeatMs).unref();
  }

  static async open(client: TinkerClient): Promise<TinkerSession> {
    const { session_id: id } = await client.post('create_session', { tags: ['agentjet'], sdk_version: '0.19.0' });
    if (typeof id !== 'string') throw protocolError('create_session gave no "session_id"');
    return new TinkerSession(client, id);
  }

  /** If a heartbeat fails, the next request reports it. */
  async beat(): Promise<void> {
    const options = { patienceMs: 0, limitMs: heartbeatMs };
    await this.#client.post('session_heartbeat', { session_id: this.#id }, options).catch(() => undefined);
  }

  /** Creates a model with its initial weights. */
  async createModel({ beginsFrom, ...newModel }: NewModel): Promise<RemoteModel> {
    const model = await this.createBaseModel(newModel);
    if (beginsFrom === null) return model;
    try {
      await model.loadState(beginsFrom, { withOptimizer: false });
    } catch (error) {
      if (!(error instanceof LostError) && !isRefused(error)) throw error;
      throw new BackboneError(
        'bad_model_files',
        `model.path is a checkpoint whose weights are at ${beginsFrom} on the server that trained it, and this server cannot load them (${error.message}). Set tinker.base_url to the other server, and use the same tinker.base_model and tinker.rank as then.`,
        { cause: error },
      );
    }
    return model;
  }

  /** Creates a model with the weights of the base model. */
  async createBaseModel({ baseModel, rank, seed }: Omit<NewModel, 'beginsFrom'>): Promise<RemoteModel> {
    this.#models += 1;
    const answer = await this.#client.call('create_model', {
      session_id: this.#id,
      model_seq_id: this.#models,
      base_model: baseModel,
      lora_config: { rank, seed },
    });
    const id = answer['model_id'];
    if (typeof id !== 'string') throw protocolError('create_model gave no "model_id"');
    return new RemoteModel(this.#client, id);
  }

  /** Opens a sampler of a base model, or of weights at a path on the server. Returns its id. */
  async openSampler(model: string): Promise<string> {
    this.#samplers += 1;
    const answer = await this.#client.post('create_sampling_session', {
      session_id: this.#id,
      sampling_session_seq_id: this.#samplers,
      ...(model.startsWith('tinker://') ? { model_path: model } : { base_model: model }),
    });
    const id = answer['sampling_session_id'];
    if (typeof id !== 'string') throw protocolError('create_sampling_session gave no "sampling_session_id"');
    return id;
  }

  /** Stops the heartbeat. */
  close(): void {
    clearInterval(this.#heartbeat);
  }
}
