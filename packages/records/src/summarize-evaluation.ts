import type { MetricsRecord } from '@agentjet/run-folder';
import { isAgentsFailure, type Episode } from '@agentjet/rollout';
import type { Evaluation } from './events.js';
import { countAnswers } from './count-answers.js';
import { toEpisodeMeans } from './episode-means.js';

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]): number => (values.length === 0 ? 0 : sum(values) / values.length);

/** Returns the mean of each name over the episodes that logged this name. */
function meansOf(logged: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const names = new Set(logged.flatMap((metrics) => Object.keys(metrics)));
  const valuesOf = (name: string): number[] => logged.flatMap((metrics) => metrics[name] ?? []);
  return Object.fromEntries([...names].map((name) => [name, mean(valuesOf(name))]));
}

/**
 * Whether an evaluation counts the episode. An episode that was lost to an outage or to the judge says nothing about
 * the model.
 */
const isScored = (episode: Episode): boolean => episode.status === 'completed' || isAgentsFailure(episode.error);

/**
 * Summarizes an evaluation of an ordinary run or a swarm. `groups` holds the episodes that count, for each task. A
 * failure of the agent has reward 0 and is not a success. Episodes that were lost to an outage or to the judge are
 * counted separately: they are not wrong answers.
 */
export function summarizeEvaluation(groups: readonly (readonly Episode[])[]): EvaluationSummary {
  const episodes = groups.flat();
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
    ...summarizePasses(groups),
  };
}

type EvaluationSummary = Omit<Evaluation, 'step' | 'seconds'>;

function toCutAnswers(episodes: readonly Episode[]): Pick<Evaluation, 'answers' | 'cutAnswers'> {
  const { answers, answers_cut: cutAnswers } = countAnswers(episodes);
  return { answers, cutAnswers };
}

/**
 * Returns the shares of tasks of which at least one episode, or every episode, succeeded. Lost episodes are left out.
 */
function summarizePasses(groups: readonly (readonly Episode[])[]): Pick<Evaluation, 'passes'> {
  const numRepeat = Math.max(0, ...groups.map(({ length }) => length));
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

/** Returns the line of an evaluation in evaluations.jsonl. */
export function toEvaluationRecord({ step, logMetrics, means, passes, ...evaluation }: Evaluation): MetricsRecord {
  return {
    step,
    success_rate: evaluation.successRate,
    reward_mean: evaluation.rewardMean,
    ...(passes && { [`pass_at_${passes.episodesPerTask}`]: passes.any, all_pass: passes.all }),
    episodes: evaluation.episodes,
    failed_episodes: evaluation.failedEpisodes,
    ...(evaluation.unscoredEpisodes !== undefined && { unscored_episodes: evaluation.unscoredEpisodes }),
    ...(evaluation.missingEpisodes !== undefined && { missing_episodes: evaluation.missingEpisodes }),
    answers: evaluation.answers,
    answers_cut: evaluation.cutAnswers,
    generated_tokens: evaluation.generatedTokens,
    seconds: Math.round(evaluation.seconds * 1000) / 1000,
    ...means,
    ...Object.fromEntries(Object.entries(logMetrics).map(([name, value]) => [`workflow/${name}`, value])),
  };
}
