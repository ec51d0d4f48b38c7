/** A session holds the models of one run; a server gives them up if no heartbeat comes for some minutes. */

import { protocolError } from './row-data.js';
import { RemoteModel } from './remote-model.js';
import type { TinkerClient } from './tinker-client.js';

export type NewModel = {
  readonly baseModel: string;
  /** Of the adapter; 0: all weights. */
  readonly rank: number;
  readonly seed: number;
};

const heartbeatMs = 10_000;

export class TinkerSession {
  readonly #client: TinkerClient;
  readonly #id: string;
  readonly #heartbeat: NodeJS.Timeout;
  #models = 0;

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

  /** A heartbeat that fails is left to the next request to tell. */
  async beat(): Promise<void> {
    await this.#client.post('session_heartbeat', { session_id: this.#id }, { patienceMs: 0 }).catch(() => undefined);
  }

  async createModel({ baseModel, rank, seed }: NewModel): Promise<RemoteModel> {
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

  /** Stops the heartbeat. */
  close(): void {
    clearInterval(this.#heartbeat);
  }
}
