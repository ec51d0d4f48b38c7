import type { CommonConfig, OptimizerOptions } from '@agentjet/core';
import { learningRateAt, type OptimizerStep } from '@agentjet/trainer';
import { toOptimizerOptions } from './train-settings.js';

/** Which learning rate each optimizer step of a run has. Plain JSON. */
export type RatePlan = {
  readonly optimizer: OptimizerOptions;
  /** Optimizer steps of one step of the loop. */
  readonly updatesPerStep: number;
};

export function toRatePlan(config: CommonConfig, totalSteps: number): RatePlan {
  const { miniBatchNum, ppoEpochs } = config.trainerCommon;
  return { optimizer: toOptimizerOptions(config, totalSteps), updatesPerStep: miniBatchNum * ppoEpochs };
}

/** `step` counts from 1. A step takes its place in the schedule whether it trains anything or not. */
export function rateAt(
  { optimizer, updatesPerStep }: RatePlan,
  { step, index }: Pick<OptimizerStep, 'index'> & { readonly step: number },
): number {
  return learningRateAt(optimizer, (step - 1) * updatesPerStep + index);
}
