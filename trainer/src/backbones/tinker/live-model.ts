import { BackboneError, type OptimizerOptions } from '@agentjet/core';
import type { CheckpointKind } from './checkpoint.js';
import { explainLostState } from './lost-state.js';
import type { RemoteModel } from './remote-model.js';
import type { Seam } from './seam-check.js';
import type { TinkerClient } from './tinker-client.js';
import type { Sampler } from './tinker-engine.js';
import { TinkerSession, type NewModel } from './tinker-session.js';

/** The parts that stay the same while models come and go. */
export type TinkerParts = {
  readonly client: TinkerClient;
  readonly newModel: NewModel;
  readonly seam: Seam;
  readonly optimizer: OptimizerOptions;
  readonly contextLength: number;
  readonly vocabSize: number;
  readonly modelDir: string;
  /**
   * The folder of the model that the server's adapter belongs to: `modelDir`, or the model that a checkpoint there was
   * trained from.
   */
  readonly baseDir: string;
  /** The limit of the truncated importance weight between trainer and sampler; 0 means no limit. */
  readonly tisCap: number;
  /** Which files a checkpoint downloads. */
  readonly checkpoint: CheckpointKind;
  /** The number of optimizer steps between two states that are kept on the server. */
  readonly keepStateEvery: number;
  /** The name of a checkpoint of this run on the server. */
  nameOf(what: string): string;
  notice(message: string): void;
};

/** The model that trains, its session, and the sampler of its present weights. */
export class LiveModel {
  readonly model: RemoteModel;
  readonly #session: TinkerSession;
  #sampler: Sampler;
  #reference: Promise<RemoteModel> | undefined;

  private constructor(session: TinkerSession, model: RemoteModel, sampler: Sampler) {
    this.#session = session;
    this.model = model;
    this.#sampler = sampler;
  }

  /**
   * Makes a model with the initial weights, or with those of a path on the server. `home` is the local folder of that
   * checkpoint.
   */
  static async open(
    { client, newModel }: Pick<TinkerParts, 'client' | 'newModel'>,
    { path, version, home }: { readonly path: string | null; readonly version: number; readonly home?: string },
  ): Promise<LiveModel> {
    const session = await TinkerSession.open(client);
    try {
      const model = await (path === null ? session.createModel(newModel) : session.createBaseModel(newModel));
      if (path !== null)
        await model.loadState(path, { withOptimizer: true }).catch((error: unknown) => {
          throw explainLostState(error, path, home);
        });
      return new LiveModel(session, model, { id: await model.openSampler(), policyVersion: version });
    } catch (error) {
      session.close();
      throw error;
    }
  }

  get sampler(): Sampler {
    return this.#sampler;
  }

  /** Calls that have begun keep the sampler that they began with. */
  async renewSampler(policyVersion: number): Promise<void> {
    this.#sampler = { id: await this.model.openSampler(), policyVersion };
  }

  /** Makes a model that keeps the initial weights, for the KL estimate. */
  async openReference({ newModel }: Pick<TinkerParts, 'newModel'>): Promise<RemoteModel> {
    this.#reference ??= this.#session.createModel(newModel);
    try {
      return await this.#reference;
    } catch (error) {
      this.#reference = undefined;
      if (!(error instanceof BackboneError) || error.code !== 'refused') throw error;
      const problem = `The server does not make the second model that a KL estimate needs (${error.message}).`;
      throw new BackboneError('bad_request', `${problem} Set trainer_common.use_kl_loss to false.`, { cause: error });
    }
  }

  /** Stops the heartbeat, and gives the models up if the server still knows them. */
  async close(): Promise<void> {
    this.#session.close();
    const reference = await this.#reference?.catch(() => undefined);
    for (const model of [this.model, reference]) await model?.unload();
  }
}
