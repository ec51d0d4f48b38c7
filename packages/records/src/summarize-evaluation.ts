import type { MetricsRecord } from '@agentjet/run-folder';
import { isAgentsFailure, type Episode } from '@agentjet/rollout';
import type { Evaluation } from './events.js';
import { countAnswers } from './count-answers.js';
import { toEpisodeMeans } from './episode-means.js';

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]): number => (values.length === 0 ? 0 : sum(values) / values.length);

/** Means over the episodes that have the name. */
function meansOf(logged: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const names = new Set(logged.flatMap((metrics) => Object.keys(metrics)));
  const valuesOf = (name: string): number[] => logged.flatMap((metrics) => metrics[name] ?? []);
  return Object.fromEntries([...names].map((name) => [name, mean(valuesOf(name))]));
}

/** Whether an evaluation counts the episode: what the world or the judge lost says nothing of the model. */
const isScored = (episode: Episode): boolean => episode.status === 'completed' || isAgentsFailure(episode.error);

/**
 * How good the model is on the tasks of an evaluation, of an ordinary run and of a swarm. `groups`: for each task the last episode of
 * each of its places. An agent's failure has reward 0 and is not a success. What the world or the judge lost is counted apart: it is
 * not a wrong answer.
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

/** Over tasks with several episodes each: how often at least one of them succeeded, and how often all did. What the world lost is left out. */
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

/** The line of an evaluation in evaluations.jsonl. */
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
