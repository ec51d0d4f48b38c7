import { composeConfig } from '@agentjet/core';
import { createFrozenTuner, type Tuner } from '@agentjet/rollout';
import { backbones } from '@agentjet/trainer/registrations';
import { samplingDefaults } from '../rollout/sampling-defaults.js';

export type FrozenModelOptions = {
  /** Where a request does not say; 1 unless given. 0 is greedy. */
  readonly temperature?: number;
  /** In (0, 1]; 1 unless given. */
  readonly topP?: number;
  /** -1, which it is unless given, keeps all. */
  readonly topK?: number;
  /** Most tokens of one answer; 256 unless given. */
  readonly maxTokens?: number;
  /** Most tokens of prompt and answer together; 2048 unless given, and no more than the model allows. */
  readonly maxModelLen?: number;
  /** Of all that it draws; 42 unless given. */
  readonly seed?: number;
  /** CPU threads; all cores, at most 8, unless given. */
  readonly numThreads?: number;
};

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

/** A frozen model needs a backbone alone, the embedded one. */
const [embedded] = backbones;
const composition = composeConfig({ backbones: [embedded], algorithms: [], readers: [], judges: [], templates: [] });

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

async function open(
  modelDir: string,
  {
    temperature = 1,
    topP = 1,
    topK = -1,
    maxTokens = 256,
    maxModelLen = 2048,
    seed = 42,
    numThreads = 0,
  }: FrozenModelOptions,
): Promise<FrozenModel> {
  const config = composition.create({
    model: { path: modelDir },
    rollout: { temperature, topP, topK, maxModelLen, maxResponseLengthInOneTurn: maxTokens },
    onnx: { numThreads },
  });
  const { openUntrainedPolicy } = await import('./open-policy.js'); // loads the trainer
  const { policy, close } = await openUntrainedPolicy(
    config,
    { backbone: embedded, templateFamily: undefined },
    silent,
  );
  const sampling = samplingDefaults(config);
  return { beside: (tuner) => createFrozenTuner(tuner, { policy, sampling, seed }), close };
}
