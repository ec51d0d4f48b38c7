import {
  type Algorithm,
  type Backbone,
  type OptimizerOptions,
  type OptimizerOverrides,
  BackboneError,
} from '@agentjet/core';
import {
  learningRateAt,
  prepareBatch,
  type BatchSettings,
  type PreparedBatch,
  type TokenRecording,
  type TrainingGroup,
} from '@agentjet/trainer';

/**
 * All inputs of a step except its groups. A recipe is plain JSON. The manifest keeps it, so that a repeated step can
 * follow it.
 */
export type StepRecipe = BatchSettings & {
  readonly algorithm: string;
  /** Absent if the backbone decides the learning rate itself. */
  readonly optimizer?: OptimizerOptions | undefined;
};

/** Names an optimizer step: `step` counts from 1, and `index` counts from 0 within the step. */
export type OptimizerPlace = { readonly step: number; readonly index: number };

/** The weights, as a step uses them. */
export type StepWeights = {
  /** The number of optimizer steps so far. Samples record it as their version. */
  readonly policyVersion: () => number;
  /** The settings of the next step, including keys that were changed since the start. */
  readonly recipe: (changes?: Readonly<Record<string, unknown>>) => StepRecipe;
  /**
   * Computes the credit of a batch, packs it and divides it into optimizer steps, without training. Throws the errors
   * of the algorithm.
   */
  readonly prepare: (groups: readonly TrainingGroup[], recipe: StepRecipe) => PreparedBatch;
  /** Gives the learning rates of an optimizer step, or undefined if the backbone decides them. */
  readonly ratesOf: (recipe: StepRecipe, at: OptimizerPlace) => OptimizerOverrides | undefined;
};

export type StepWeightsOptions = {
  readonly backbone: Backbone;
  readonly algorithm: Algorithm;
  readonly settings: BatchSettings;
  readonly optimizer?: OptimizerOptions | undefined;
  readonly recordTokens?: TokenRecording | undefined;
};

export function createStepWeights({
  backbone,
  algorithm,
  settings,
  optimizer,
  recordTokens,
}: StepWeightsOptions): StepWeights {
  return {
    policyVersion: () => backbone.policyVersion,
    recipe: (changes = {}) => ({
      ...settings,
      algorithm: algorithm.name,
      ...(optimizer !== undefined && { optimizer: withChanges(optimizer, changes) }),
    }),
    prepare: (groups, { algorithm: name, optimizer: _rates, ...recorded }) => {
      requireAlgorithm(name, algorithm.name);
      return prepareBatch(groups, recorded, { backbone, algorithm, recordTokens });
    },
    ratesOf: (recipe, at) => recipe.optimizer && toRates(recipe.optimizer, rateAt(recipe, at)),
  };
}

/** Returns the learning rate and the other rates of an optimizer step. */
function toRates(optimizer: OptimizerOptions, learningRate: number): OptimizerOverrides {
  const { beta1, beta2, epsilon, weightDecay, maxGradNorm } = optimizer;
  return { beta1, beta2, epsilon, weightDecay, maxGradNorm, learningRate };
}

/** Returns the learning rate at a step. A step counts in the schedule even if it trains nothing. */
export function rateAt(
  { optimizer, numMiniBatches, numEpochs }: Pick<StepRecipe, 'optimizer' | 'numMiniBatches' | 'numEpochs'>,
  { step, index }: OptimizerPlace,
): number {
  return optimizer === undefined ? 0 : learningRateAt(optimizer, (step - 1) * numMiniBatches * numEpochs + index);
}

function requireAlgorithm(recorded: string, configured: string): void {
  if (recorded === configured) return;
  throw new BackboneError(
    'redo_impossible',
    `The run must repeat a step that was decided with the algorithm "${recorded}", but the configuration names "${configured}". Configure "${recorded}" until the step has been repeated.`,
  );
}

/** Applies the configuration keys that were changed since the start. */
function withChanges(optimizer: OptimizerOptions, changes: Readonly<Record<string, unknown>>): OptimizerOptions {
  const { 'trainer_common.optim.lr': learningRate, 'trainer_common.optim.weight_decay': weightDecay } = changes;
  const { 'trainer_common.optim.grad_clip': maxGradNorm } = changes;
  return {
    ...optimizer,
    ...(typeof learningRate === 'number' && { learningRate }),
    ...(typeof weightDecay === 'number' && { weightDecay }),
    ...(typeof maxGradNorm === 'number' && { maxGradNorm }),
  };
}
