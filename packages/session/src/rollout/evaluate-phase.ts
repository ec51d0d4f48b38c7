import { evaluationSeed, type Task } from '@agentjet/core';
import { isAgentsFailure, type Episode } from '@agentjet/rollout';
import type { Evaluation } from '../events.js';
import { countAnswers } from '../schedule/count-answers.js';
import { toEpisodeMeans } from '../schedule/episode-means.js';
import { evaluationSampling } from './sampling-defaults.js';
import { runPhase, type RolloutContext } from './run-phase.js';

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]): number => (values.length === 0 ? 0 : sum(values) / values.length);

/** Means over the episodes that have the name. */
function meansOf(logged: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const names = new Set(logged.flatMap((metrics) => Object.keys(metrics)));
  const valuesOf = (name: string): number[] => logged.flatMap((metrics) => metrics[name] ?? []);
  return Object.fromEntries([...names].map((name) => [name, mean(valuesOf(name))]));
}

const isScored = (episode: Episode): boolean => episode.status === 'completed' || isAgentsFailure(episode.error);

/** An agent's failure has reward 0 and is not a success. What the world or the judge lost is counted apart: it is not a wrong answer. */
export function summarizeEpisodes(episodes: readonly Episode[]): Omit<Evaluation, 'step' | 'seconds'> {
  const completed = episodes.flatMap((episode) => (episode.status === 'completed' ? [episode] : []));
  const numScored = episodes.filter(isScored).length;
  const means = meansOf(episodes.map(toEpisodeMeans));
  return {
    episodes: episodes.length,
    failedEpisodes: episodes.length - completed.length,
    ...(numScored < episodes.length && { unscoredEpisodes: episodes.length - numScored }),
    successRate: numScored === 0 ? 0 : completed.filter(({ isSuccess }) => isSuccess).length / numScored,
    rewardMean: numScored === 0 ? 0 : sum(completed.map(({ reward }) => reward)) / numScored,
    ...toCutAnswers(episodes),
    generatedTokens: sum(episodes.map(({ stats }) => stats.generatedTokens)),
    logMetrics: meansOf(episodes.map(({ logMetrics }) => logMetrics)),
    ...(Object.keys(means).length > 0 && { means }),
  };
}

function toCutAnswers(episodes: readonly Episode[]): Pick<Evaluation, 'answers' | 'cutAnswers'> {
  const { answers, answers_cut: cutAnswers } = countAnswers(episodes);
  return { answers, cutAnswers };
}

/** Over tasks with several episodes each: how often at least one of them succeeded, and how often all did. What the world lost is left out. */
export function summarizePasses(groups: readonly (readonly Episode[])[]): Pick<Evaluation, 'passes'> {
  const numRepeat = groups[0]?.length ?? 0;
  if (numRepeat < 2) return {};
  const successes = groups
    .map((episodes) => episodes.filter(isScored))
    .filter((episodes) => episodes.length > 0)
    .map((episodes) => episodes.map((episode) => episode.status === 'completed' && episode.isSuccess));
  const shareOf = (counts: (episodes: readonly boolean[]) => boolean): number =>
    successes.filter(counts).length / Math.max(1, successes.length);
  return {
    passes: {
      episodesPerTask: numRepeat,
      any: shareOf((episodes) => episodes.includes(true)),
      all: shareOf((episodes) => !episodes.includes(false)),
    },
  };
}

export type EvaluationOutcome = { readonly evaluation: Evaluation; readonly episodes: readonly Episode[] };

/** Runs `val_pass_n` episodes of each evaluation task. Undefined when the signal aborted before the end. */
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
  const episodes = groups.flatMap((group) => group.episodes);
  const passes = summarizePasses(groups.map((group) => group.episodes));
  const evaluation = { step, seconds, ...summarizeEpisodes(episodes), ...passes };
  context.emit({ type: 'evaluated', evaluation, ...(subject === undefined ? {} : { subject }) });
  return { evaluation, episodes };
}
