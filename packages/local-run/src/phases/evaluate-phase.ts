import { evaluationSeed, type Task } from '@agentjet/core';
import { type TaskGroup, evaluationSampling } from '@agentjet/rollout';
import { type Evaluation, summarizeEvaluation } from '@agentjet/records';
import { runPhase, type RolloutContext } from './run-phase.js';

export type EvaluationOutcome = { readonly evaluation: Evaluation; readonly groups: readonly TaskGroup[] };

/** Runs `val_pass_n` episodes of each evaluation task. Returns undefined if the signal aborts before the end. */
export async function evaluatePhase(
  context: RolloutContext,
  options: {
    readonly step: number;
    readonly tasks: readonly Task[];
    readonly subject?: string;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<EvaluationOutcome | undefined> {
  const { rollout, trainerCommon } = context.config;
  const { step, tasks, subject, signal } = options;
  const { groups, seconds } = await runPhase(context, {
    phase: 'evaluate',
    step,
    tasks,
    numRepeat: trainerCommon.valPassN,
    maxParallel: rollout.maxEnvWorker,
    sampling: evaluationSampling(context.config),
    timeoutMs: rollout.episodeTimeout * 1000,
    seed: evaluationSeed(trainerCommon.seed),
    idPrefix: `eval-${step}-`,
    signal,
  });
  context.keeper.release(groups);
  if (signal?.aborted) return undefined;
  const evaluation = { step, seconds, ...summarizeEvaluation(groups.map(({ episodes }) => episodes)) };
  context.emit({ type: 'evaluated', evaluation, ...(subject === undefined ? {} : { subject }) });
  return { evaluation, groups };
}
