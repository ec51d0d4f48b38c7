import type { Task } from '@agentjet/core';
import type { MetricsRecord, RunFolder } from '@agentjet/run-folder';
import { toEpisodeRecord } from './episode-record.js';
import { evaluatePhase } from './evaluate-phase.js';
import type { Evaluation } from '../events.js';
import type { RolloutContext } from './run-phase.js';

/** The evaluations of one run: made once per step, written to the run folder, found there again after a resume. */
export type RunEvaluations = {
  /** Success rate after `step` steps; null where there is nothing to evaluate, or the signal ended it. */
  successAt(step: number): Promise<number | null>;
  /** Spent on episodes, all evaluations together. */
  seconds(): number;
};

/** Of a run whose evaluation is somebody else's, or that has none. */
export const noEvaluations: RunEvaluations = { successAt: async () => null, seconds: () => 0 };

type EvaluationOptions = {
  readonly context: RolloutContext;
  readonly run: RunFolder;
  readonly tasks: readonly Task[];
  readonly signal: AbortSignal | undefined;
  /** Awaited when an evaluation is in the run folder. */
  readonly onRecorded?: ((step: number) => Promise<void>) | undefined;
};

function toRecord({ step, logMetrics, means, passes, ...evaluation }: Evaluation): MetricsRecord {
  return {
    step,
    success_rate: evaluation.successRate,
    reward_mean: evaluation.rewardMean,
    ...(passes && { [`pass_at_${passes.episodesPerTask}`]: passes.any, all_pass: passes.all }),
    episodes: evaluation.episodes,
    failed_episodes: evaluation.failedEpisodes,
    ...(evaluation.unscoredEpisodes !== undefined && { unscored_episodes: evaluation.unscoredEpisodes }),
    answers: evaluation.answers,
    answers_cut: evaluation.cutAnswers,
    generated_tokens: evaluation.generatedTokens,
    seconds: Math.round(evaluation.seconds * 1000) / 1000,
    ...means,
    ...Object.fromEntries(Object.entries(logMetrics).map(([name, value]) => [`workflow/${name}`, value])),
  };
}

export function createRunEvaluations({ context, run, tasks, signal, onRecorded }: EvaluationOptions): RunEvaluations {
  let seconds = 0;
  const evaluate = async (step: number): Promise<number | null> => {
    const outcome = await evaluatePhase(context, { step, tasks, signal });
    if (outcome === undefined) return null;
    seconds += outcome.evaluation.seconds;
    await run.recordEvaluation(toRecord(outcome.evaluation), outcome.episodes.map(toEpisodeRecord));
    await onRecorded?.(step);
    return outcome.evaluation.successRate;
  };
  return {
    seconds: () => seconds,
    successAt: async (step) => {
      if (tasks.length === 0) return null;
      const earlier = (await run.readEvaluations()).find((record) => record.step === step);
      return earlier?.['success_rate'] ?? evaluate(step);
    },
  };
}
