import type { Task } from '@agentjet/core';
import type { RunFolder } from '@agentjet/run-folder';
import { evaluatePhase } from './evaluate-phase.js';
import {
  FirstEvaluation,
  readChange,
  toEvaluationRecord,
  toGroupLines,
  type EvaluationChange,
} from '@agentjet/records';
import type { RolloutContext } from './run-phase.js';

/**
 * The evaluations of one run. An evaluation is made once for a step and written to the run folder, where a resumed run
 * finds it.
 */
export type RunEvaluations = {
  /**
   * Returns the success rate after `step` steps. Null if there is nothing to evaluate or the signal ended the
   * evaluation.
   */
  successAt(step: number): Promise<number | null>;
  /** Returns the change from the first evaluation of the run to the newest one. Undefined if there is only one. */
  change(): EvaluationChange | undefined;
  /** Returns the total time of all evaluations in seconds. */
  seconds(): number;
};

/** The evaluations of a run that makes none itself. */
export const noEvaluations: RunEvaluations = { successAt: async () => null, change: () => undefined, seconds: () => 0 };

type EvaluationOptions = {
  readonly context: RolloutContext;
  readonly run: RunFolder;
  readonly tasks: readonly Task[];
  readonly signal: AbortSignal | undefined;
  /** Called and awaited after an evaluation was written to the run folder. */
  readonly onRecorded?: ((step: number) => Promise<void>) | undefined;
};

export function createRunEvaluations({ context, run, tasks, signal, onRecorded }: EvaluationOptions): RunEvaluations {
  let seconds = 0;
  let change: EvaluationChange | undefined;
  const first = new FirstEvaluation(run, context.config);
  const evaluate = async (step: number): Promise<number | null> => {
    const outcome = await evaluatePhase(context, { step, tasks, first, signal });
    if (outcome === undefined) return null;
    seconds += outcome.evaluation.seconds;
    await run.recordEvaluation(toEvaluationRecord(outcome.evaluation), outcome.groups.flatMap(toGroupLines));
    change = outcome.evaluation.change;
    await onRecorded?.(step);
    return outcome.evaluation.successRate;
  };
  return {
    seconds: () => seconds,
    change: () => change,
    successAt: async (step) => {
      if (tasks.length === 0) return null;
      const earlier = (await run.readEvaluations()).find((record) => record.step === step);
      if (earlier?.['success_rate'] === undefined) return evaluate(step);
      change = readChange(earlier);
      return earlier['success_rate'];
    },
  };
}
