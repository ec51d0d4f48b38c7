import { setMaxListeners } from 'node:events';
import { isBundledModel } from '@agentjet/core';
import type { Tuner } from '@agentjet/rollout';
import { openModel, type FrozenModelOptions } from './open-model.js';

export type TunedModelOptions = FrozenModelOptions & {
  /** Agents of other targets get their debugModel, as in training; undefined: every agent gets the trained model. */
  readonly trainableTargets?: readonly string[];
};

/** A trained model on the embedded engine, as a tuner without an episode: nothing is tracked, so it may answer for ever. */
export type TunedModel = Tuner & {
  /** Calls that are under way reject, and so do later ones. A process may end without it. */
  close(): Promise<void>;
};

/**
 * Opens what a run has trained, so that the agent keeps its line: `asModel(await openTunedModel(dir), { agentName })`.
 * @param dir a run folder (its last checkpoint), a checkpoint, any model folder in the Hugging Face layout, an adapter (LoRA), a model of the hub (`org/name`), `nano` or `micro`
 * @throws BackboneError `checkpoint`, `bad_model_files` or `unsupported_model`; ConfigError for an option
 */
export async function openTunedModel(dir: string, options: TunedModelOptions = {}): Promise<TunedModel> {
  const [{ createUntrackedTuner }, { findCheckpoint }] = await Promise.all([
    import('@agentjet/rollout'),
    import('./find-checkpoint.js'),
  ]);
  const modelDir = isBundledModel(dir) ? dir : await findCheckpoint(dir, (message) => process.emitWarning(message));
  const model = await openModel(modelDir, options);
  const controller = new AbortController();
  setMaxListeners(0, controller.signal); // one for each call that runs
  const { policy, sampling, seed } = model;
  const { signal } = controller;
  const tuner = createUntrackedTuner({ policy, sampling, seed, signal, trainableTargets: options.trainableTargets });
  const close = (): Promise<void> => {
    controller.abort(new Error('close() was called'));
    return model.close();
  };
  return { ...tuner, close };
}
