import { setMaxListeners } from 'node:events';
import { isBundledModel } from '@agentjet/core';
import type { Tuner } from '@agentjet/rollout';
import type { FrozenModelOptions } from './open-model.js';

export type { FrozenModelOptions } from './open-model.js';

/** A model on the embedded engine that does not learn, such as the opponent or partner of the trained model. */
export type FrozenModel = {
  /**
   * A tuner for `asModel` that replaces the episode's own tuner. It makes a model of the framework's type for
   * `debugModel`: `asModel(tuner, { agentName, targetTag, debugModel: asModel(frozen.tunerFor(tuner), { agentName }) })`.
   */
  tunerFor(tuner: Tuner): Tuner;
  /** Closes the model, and running calls reject. You need not call it before the process ends. */
  close(): Promise<void>;
};

const silent = (): void => undefined;

/**
 * Opens a model folder, such as a checkpoint of an earlier run. Open it once for all episodes. Rejects with BackboneError
 * (`bad_model_files`, `unsupported_model`) or ConfigError for an option.
 */
export function openFrozenModel(modelDir: string, options: FrozenModelOptions = {}): Promise<FrozenModel> {
  const opening = open(modelDir, options);
  opening.catch(silent); // the promise may first be awaited in an episode, so until then a rejection would be unhandled
  return opening;
}

async function open(modelDir: string, options: FrozenModelOptions): Promise<FrozenModel> {
  const [{ openModel }, { createFrozenTuner }] = await Promise.all([
    import('./open-model.js'),
    import('@agentjet/rollout'),
  ]);
  const { policy, sampling, seed, close } = await openModel(modelDir, options);
  return { tunerFor: (tuner) => createFrozenTuner(tuner, { policy, sampling, seed }), close };
}

/** Sampling settings of a trained model, and the agents that get it. */
export type TunedModelOptions = FrozenModelOptions & {
  /** As in training, agents of other targets get their debugModel. Default: every agent gets the trained model. */
  readonly trainableTargets?: readonly string[];
};

/**
 * A trained model on the embedded engine, in the form of a tuner without an episode. It does not record calls, so it
 * can answer any number of them.
 */
export type TunedModel = Tuner & {
  /** Aborts if the thread that computes has ended without `close`. All calls reject from then on. */
  readonly gone?: AbortSignal | undefined;
  /** Closes the model. Running and later calls reject. You need not call it before the process ends. */
  close(): Promise<void>;
};

/**
 * Opens a trained model. The agent's code stays the same: `asModel(await openTunedModel(dir), { agentName })`.
 * @param dir a run folder (its last checkpoint), a checkpoint, any model folder in the Hugging Face layout, an adapter
 * (LoRA), a model of the hub (`org/name`), `nano` or `micro`
 * @throws BackboneError `checkpoint`, `bad_model_files` or `unsupported_model`; ConfigError for an option
 */
export async function openTunedModel(dir: string, options: TunedModelOptions = {}): Promise<TunedModel> {
  const [{ createUntrackedTuner }, { findCheckpoint }, { openModel }] = await Promise.all([
    import('@agentjet/rollout'),
    import('./find-checkpoint.js'),
    import('./open-model.js'),
  ]);
  const modelDir = isBundledModel(dir) ? dir : await findCheckpoint(dir, (message) => process.emitWarning(message));
  const model = await openModel(modelDir, options);
  const controller = new AbortController();
  setMaxListeners(0, controller.signal); // each running call adds a listener
  const { policy, sampling, seed } = model;
  const { signal } = controller;
  const tuner = createUntrackedTuner({ policy, sampling, seed, signal, trainableTargets: options.trainableTargets });
  const close = (): Promise<void> => {
    controller.abort(new Error('close() was called'));
    return model.close();
  };
  return { ...tuner, gone: model.gone, close };
}
