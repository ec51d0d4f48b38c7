import { type CommonConfig, type MetricValues, addUp, mean, roundTime } from '@agentjet/core';
import { successByKind, successInterval, successRate, toSuccessRecord } from '@agentjet/core/success';
import type { MetricsLine, MetricsRecord } from '@agentjet/run-folder';
import { isAgentsFailure, type Episode } from '@agentjet/rollout';
import type { Evaluation, SampledResult, TaskResult } from './events.js';
import { countAnswers, kindOfGroup } from './count-answers.js';
import { toEpisodeMeans } from './episode-means.js';

const meanOrZero = (values: readonly number[]): number => (values.length === 0 ? 0 : mean(values));

/** Returns the mean of each name over the episodes that logged this name. */
function meansOf<Values extends Readonly<Record<string, number>>>(logged: readonly Values[]): Values {
  const names = new Set(logged.flatMap((metrics) => Object.keys(metrics)));
  const valuesOf = (name: string): number[] => logged.flatMap((metrics) => metrics[name] ?? []);
  return Object.fromEntries([...names].map((name) => [name, meanOrZero(valuesOf(name))])) as Values;
}

type Outcome = Pick<Episode, 'status'> & { readonly error?: Parameters<typeof isAgentsFailure>[0] };

/**
 * Whether an evaluation counts the episode. An episode that was lost to an outage or to the judge says nothing about
 * the model.
 */
export const isScored = ({ status, error }: Outcome): boolean =>
  status === 'completed' || (error !== undefined && isAgentsFailure(error));

/**
 * Whether the episode has one of the first `val_pass_n` places of an evaluation. The places after them are sampled as
 * in training.
 */
export const isAtValTemperature = (
  { repeatIndex }: Pick<Episode, 'repeatIndex'>,
  { trainerCommon }: EvaluationConfig,
): boolean => repeatIndex < trainerCommon.valPassN;

type EvaluationConfig = Pick<CommonConfig, 'rollout' | 'trainerCommon'>;

/**
 * Summarizes an evaluation of an ordinary run or a swarm. `groups` contains the episodes that count, for each task. A
 * failure of the agent has reward 0 and is not a success. Episodes that were lost to an outage or to the judge are
 * counted separately: they are not wrong answers.
 */
export function summarizeEvaluation(
  groups: readonly (readonly Episode[])[],
  config: EvaluationConfig,
): EvaluationSummary {
  const plain = groups.map((group) => group.filter((episode) => isAtValTemperature(episode, config)));
  const episodes = plain.flat();
  const completed = episodes.flatMap((episode) => (episode.status === 'completed' ? [episode] : []));
  const numScored = episodes.filter(isScored).length;
  const means = meansOf(episodes.map(toEpisodeMeans));
  const scores = toScores(plain, config);
  const kinds = successByKind(scores);
  return {
    episodes: episodes.length,
    failedEpisodes: episodes.length - completed.length,
    ...(numScored < episodes.length && { unscoredEpisodes: episodes.length - numScored }),
    successRate: successRate(scores),
    interval: successInterval(scores),
    temperature: config.rollout.valKwargs.temperature,
    scores,
    ...(kinds.length > 0 && { kinds }),
    rewardMean: numScored === 0 ? 0 : addUp(completed, ({ reward }) => reward) / numScored,
    ...toCutAnswers(episodes),
    generatedTokens: addUp(groups.flat(), ({ stats }) => stats.generatedTokens),
    logMetrics: meansOf(episodes.map(({ logMetrics }) => logMetrics)),
    ...(Object.keys(means).length > 0 && { means }),
    ...summarizePasses(plain),
    ...summarizeSampled(groups, config),
  };
}

type EvaluationSummary = Omit<Evaluation, 'step' | 'seconds'>;

/** The scored episodes of each task. A task whose episodes are all lost has no trials. */
function toScores(
  groups: readonly (readonly Episode[])[],
  { trainerCommon: { reportBy } }: EvaluationConfig,
): readonly TaskResult[] {
  return groups.flatMap((episodes) => {
    const [first] = episodes;
    if (first === undefined) return [];
    const scored = episodes.filter(isScored);
    const successes = scored.filter((episode) => episode.status === 'completed' && episode.isSuccess).length;
    const kind = kindOfGroup(episodes, reportBy);
    return [{ taskId: first.task.taskId, successes, trials: scored.length, ...(kind !== undefined && { kind }) }];
  });
}

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

/** The episodes of the places after `val_pass_n`. */
function summarizeSampled(
  groups: readonly (readonly Episode[])[],
  config: EvaluationConfig,
): { readonly sampled?: SampledResult } {
  const sampled = groups.map((group) => group.filter((episode) => !isAtValTemperature(episode, config)));
  const scores = toScores(sampled, config);
  if (scores.length === 0) return {};
  return {
    sampled: {
      temperature: config.rollout.temperature,
      successRate: successRate(scores),
      interval: successInterval(scores),
      episodes: sampled.flat().length,
    },
  };
}

/** Returns the line of an evaluation in evaluations.jsonl. */
export function toEvaluationRecord({ step, logMetrics, means, passes, ...evaluation }: Evaluation): MetricsLine {
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
    seconds: roundTime(evaluation.seconds),
    temperature: evaluation.temperature,
    ...toChangeRecord(evaluation),
    ...toSampledRecord(evaluation),
    ...toSuccessRecord(evaluation.scores),
    ...means,
    ...Object.fromEntries(Object.entries(logMetrics).map(([name, value]) => [`workflow/${name}`, value])),
  };
}

function toChangeRecord({ change }: Pick<Evaluation, 'change'>): MetricValues {
  if (change === undefined) return {};
  const { difference, low, high, sinceStep, tasks } = change;
  return {
    success_change: difference,
    success_change_low: low,
    success_change_high: high,
    success_change_since: sinceStep,
    success_change_tasks: tasks,
  };
}

/** The change that a line of evaluations.jsonl holds. */
export function readChange(record: MetricsRecord): Evaluation['change'] {
  const {
    success_change: difference,
    success_change_low: low,
    success_change_high: high,
    success_change_since: sinceStep,
    success_change_tasks: tasks,
  } = record;
  if (difference === undefined || low === undefined || high === undefined) return undefined;
  return { difference, low, high, sinceStep: sinceStep ?? 0, tasks: tasks ?? 0 };
}

function toSampledRecord({ sampled }: Pick<Evaluation, 'sampled'>): MetricValues {
  if (sampled === undefined) return {};
  const { temperature, successRate: rate, interval, episodes } = sampled;
  return {
    sampled_success_rate: rate,
    sampled_success_low: interval.low,
    sampled_success_high: interval.high,
    sampled_temperature: temperature,
    sampled_episodes: episodes,
  };
}
