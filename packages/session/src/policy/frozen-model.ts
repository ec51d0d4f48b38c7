import type { Tuner } from '@agentjet/rollout';
import { openModel, type FrozenModelOptions } from './open-model.js';

/** A model that does not learn, on the embedded engine: the opponent, or the partner, of one that does. */
export type FrozenModel = {
  /**
   * What `asModel` takes instead of the episode's own tuner, to make a model of the framework's type for `debugModel`:
   * `asModel(tuner, { agentName, targetTag, debugModel: asModel(frozen.beside(tuner), { agentName }) })`.
   */
  beside(tuner: Tuner): Tuner;
  /** Calls that are under way reject. A process may end without it. */
  close(): Promise<void>;
};

const silent = (): void => undefined;

/**
 * Opens a model folder, such as a checkpoint of an earlier run. Open it once for all episodes. Rejects with BackboneError
 * (`bad_model_files`, `unsupported_model`) or ConfigError for an option.
 */
export function openFrozenModel(modelDir: string, options: FrozenModelOptions = {}): Promise<FrozenModel> {
  const opening = open(modelDir, options);
  opening.catch(silent); // it may be awaited in the first episode only; until then nobody looks
  return opening;
}

async function open(modelDir: string, options: FrozenModelOptions): Promise<FrozenModel> {
  const { policy, sampling, seed, close } = await openModel(modelDir, options);
  const { createFrozenTuner } = await import('@agentjet/rollout');
  return { beside: (tuner) => createFrozenTuner(tuner, { policy, sampling, seed }), close };
}
