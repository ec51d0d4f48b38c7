import type { CommonConfig } from '@agentjet/core';
import type { MetricsRecord } from '@agentjet/run-folder';

/**
 * The number of passes with `sft.epochs: auto`: at most `mostEpochs`, or exactly `plainEpochs` if no example is held
 * out.
 */
const [mostEpochs, plainEpochs] = [20, 5];

/** The number of passes in a row that may fail to lower the held-out loss before the run ends. */
const patience = 2;

export function countEpochs({ epochs }: CommonConfig['sft'], numHeldOut: number): number {
  if (epochs !== 'auto') return epochs;
  return numHeldOut > 0 ? mostEpochs : plainEpochs;
}

export type EpochChoice = {
  /** The step with the lowest held-out loss. */
  readonly bestStep: number;
  /** Whether more passes would not help. */
  readonly isOver: boolean;
};

/** Reads the held-out losses of a run, which has one before the training and one after each pass. */
export function chooseEpochs(evaluations: readonly MetricsRecord[]): EpochChoice {
  const losses = evaluations
    .flatMap(({ step, held_out_loss: loss }) => (loss === undefined ? [] : [{ step, loss }]))
    .toSorted((one, other) => one.step - other.step);
  let best = 0;
  losses.forEach(({ loss }, at) => {
    if (loss < (losses[best]?.loss ?? Infinity)) best = at;
  });
  return { bestStep: losses[best]?.step ?? 0, isOver: losses.length > 0 && losses.length - 1 - best >= patience };
}
