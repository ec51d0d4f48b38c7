import { BackboneError, type OptimizerOptions } from '@agentjet/core';
import type { CheckpointKind } from './checkpoint.js';
import { explainLostState } from './lost-state.js';
import type { RemoteModel } from './remote-model.js';
import type { Seam } from './seam-check.js';
import type { TinkerClient } from './tinker-client.js';
import type { Sampler } from './tinker-engine.js';
import { TinkerSession, type NewModel } from './tinker-session.js';

/** The settings that all models of a run share. */
export type TinkerParts = {
  readonly client: TinkerClient;
  readonly newModel: NewModel;
  readonly seam: Seam;
  readonly optimizer: OptimizerOptions;
  readonly contextLength: number;
  readonly vocabSize: number;
  readonly modelDir: string;
  /**
   * The folder of the model that the server's adapter belongs to. It is `modelDir` or, if `modelDir` is a checkpoint,
   * the model from which the checkpoint was trained.
   */
  readonly baseDir: string;
  /** The files that a checkpoint downloads. */
  readonly checkpoint: CheckpointKind;
  /** The number of optimizer steps between two states that are kept on the server. */
  readonly keepStateEvery: number;
  /** The name of a checkpoint of this run on the server. */
  nameOf(what: string): string;
  notice(message: string): void;
};

/** The model in training, its session, and a sampler with its present weights. */
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
   * Creates a model with the initial weights, or with the weights at a path on the server. `home` is the local folder
   * of the checkpoint with that path.
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

  /** Replaces the sampler. Calls in progress keep the old one. */
  async renewSampler(policyVersion: number): Promise<void> {
    this.#sampler = { id: await this.model.openSampler(), policyVersion };
  }

  /** Creates a model that keeps the initial weights, for the KL estimate. */
  async openReference({ newModel }: Pick<TinkerParts, 'newModel'>): Promise<RemoteModel> {
    this.#reference ??= this.#session.createModel(newModel);
    try {
      return await this.#reference;
    } catch (error) {
      this.#reference = undefined;
      if (!(error instanceof BackboneError) || error.code !== 'refused') throw error;
      const problem = `The server did not create the second model that a KL estimate needs (${error.message}).`;
      throw new BackboneError('bad_request', `${problem} Set trainer_common.use_kl_loss to false.`, { cause: error });
    }
  }

  /** Stops the heartbeat and asks the server to delete the models. */
  async close(): Promise<void> {
    this.#session.close();
    const reference = await this.#reference?.catch(() => undefined);
    for (const model of [this.model, reference]) await model?.unload();
  }
}
