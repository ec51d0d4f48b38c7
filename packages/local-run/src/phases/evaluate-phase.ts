import { evaluationSeed, type Task } from '@agentjet/core';
import { samplingOfPlace, type TaskGroup } from '@agentjet/rollout';
import { summarizeEvaluation, type Evaluation, type FirstEvaluation } from '@agentjet/records';
import { runPhase, type RolloutContext } from './run-phase.js';

export type EvaluationOutcome = { readonly evaluation: Evaluation; readonly groups: readonly TaskGroup[] };

/**
 * Runs `val_pass_n` episodes of each evaluation task, and `val_sampled` that are sampled as in training. Returns undefined if the signal aborts before the end.
 */
export async function evaluatePhase(
  context: RolloutContext,
  options: {
    readonly step: number;
    readonly tasks: readonly Task[];
    readonly subject?: string;
    /** The first evaluation of the run, which this one is compared with. */
    readonly first?: FirstEvaluation;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<EvaluationOutcome | undefined> {
  const { rollout, trainerCommon } = context.config;
  const { step, tasks, subject, first, signal } = options;
  const { groups, seconds } = await runPhase(context, {
    phase: 'evaluate',
    step,
    tasks,
    numRepeat: trainerCommon.valPassN + trainerCommon.valSampled,
    maxParallel: context.workers.now,
    sampling: samplingOfPlace(context.config, 0),
    samplingOf: (place) => samplingOfPlace(context.config, place),
    timeoutMs: rollout.episodeTimeout * 1000,
    seed: evaluationSeed(trainerCommon.seed),
    idPrefix: `eval-${step}-`,
    signal,
  });
  context.keeper.release(groups);
  if (signal?.aborted) return undefined;
  const summary = summarizeEvaluation(
    groups.map(({ episodes }) => episodes),
    context.config,
  );
  const change = await first?.changeTo(step, summary.scores);
  const evaluation = { step, seconds, ...summary, ...(change !== undefined && { change }) };
  context.emit({ type: 'evaluated', evaluation, ...(subject === undefined ? {} : { subject }) });
  return { evaluation, groups };
}
