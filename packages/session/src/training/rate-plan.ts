import type { CommonConfig, OptimizerOptions } from '@agentjet/core';
import type { RunRules } from '@agentjet/run-folder';
import { learningRateAt, type OptimizerStep } from '@agentjet/trainer';
import { toOptimizerOptions } from './train-settings.js';

/** Which learning rate each optimizer step of a run has. Plain JSON. */
export type RatePlan = {
  readonly optimizer: OptimizerOptions;
  /**
   * `loop_steps`: a step of the loop takes its place in the schedule whether it trains anything or not. `optimizer_steps`: only
   * updates of the weights do, which is the rule of runs that began with older versions.
   */
  readonly schedule: RunRules['schedule'];
  /** Optimizer steps of one step of the loop. */
  readonly updatesPerStep: number;
};

export function toRatePlan(config: CommonConfig, totalSteps: number, { schedule }: RunRules): RatePlan {
  const { miniBatchNum, ppoEpochs } = config.trainerCommon;
  return { optimizer: toOptimizerOptions(config, totalSteps), schedule, updatesPerStep: miniBatchNum * ppoEpochs };
}

/** `step` counts from 1. */
export function rateAt(
  { optimizer, schedule, updatesPerStep }: RatePlan,
  { step, index, policyVersion }: OptimizerStep & { readonly step: number },
): number {
  const made = schedule === 'loop_steps' ? (step - 1) * updatesPerStep + index : policyVersion;
  return learningRateAt(optimizer, made);
}

/** The notice for a run that keeps the old rule; undefined if the rule makes no difference. */
export function describeOldRule({ optimizer, schedule }: Pick<RatePlan, 'optimizer' | 'schedule'>): string | undefined {
  const isSteady = optimizer.schedule === 'constant' && optimizer.warmupSteps === 0;
  if (schedule === 'loop_steps' || isSteady) return undefined;
  return 'This run began with a version of AgentJet whose learning-rate schedule counts updates of the weights, not steps, and keeps it: steps that train nothing do not count. A new run counts them.';
}
