import { type MetricValues, toSnakeCase, type TrainStepMetrics, addUp, mean, roundTime } from '@agentjet/core';
import { toSuccessRecord } from '@agentjet/core/success';
import { logprobRounding } from '../algorithms/score-gap.js';
import type { LimitedSamples } from '../packing/length-policy.js';
import type { PackReport } from '../packing/pack-trees.js';
import { countMasked } from '../packing/length-policy.js';
import type { MetricsLine } from '@agentjet/run-folder';
import type { FreshSamples } from './stale-episodes.js';
import { measureLengthBias } from './length-bias.js';
import type { LeftOutEpisode } from './left-out.js';
import type { TrainingGroup } from './training-group.js';

/** The result of one step of the loop. */
export type TrainedStep = {
  readonly step: number;
  readonly policyVersion: number;
  readonly groups: readonly TrainingGroup[];
  /** Groups without a gradient: they have no episodes, or all their rewards are equal. */
  readonly groupsSkipped: number;
  readonly limited: LimitedSamples;
  readonly fresh: FreshSamples;
  readonly maskedEpisodes?: number;
  /** One update per optimizer step. The list is empty if every group was skipped. */
  readonly updates: readonly { readonly report: PackReport; readonly metrics: TrainStepMetrics }[];
  readonly leftOut: readonly LeftOutEpisode[];
  /** The learning rate of the first optimizer step by the schedule. It is reported if no optimizer step is made. */
  readonly plannedRate?: number;
  /** True if the source samples ahead of training. */
  readonly isAhead: boolean;
  readonly seconds: { readonly sampling: number; readonly packing: number; readonly training: number };
};

/**
 * Returns one line of metrics.jsonl. Sums over no terms are 0: a step whose groups were all skipped has loss 0, gradient
 * norm 0 and the policy version of the step before. `success_rate` is missing if no group has a report. `grad_norm` and
 * `entropy` are missing if the backbone does not report them.
 */
export function toStepMetrics(result: TrainedStep): MetricsLine {
  const { step, policyVersion, groups, groupsSkipped, limited, fresh, leftOut, isAhead, updates, seconds } = result;
  const reports = updates.map(({ report }) => report);
  return {
    step,
    policy_version: policyVersion,
    ...episodeMetrics(groups),
    groups: groups.length,
    groups_skipped: groupsSkipped,
    samples: addUp(reports, ({ rows }) => rows),
    trained_tokens: addUp(reports, ({ trainedTokens }) => trainedTokens),
    ...sharedTokens(reports),
    packs: addUp(reports, ({ packs }) => packs),
    splits: addUp(reports, ({ splits }) => splits),
    duplicated_tokens: addUp(reports, ({ duplicatedTokens }) => duplicatedTokens),
    repeated_tokens: addUp(reports, ({ repeatedTokens }) => repeatedTokens),
    overlong_samples: limited.overlongSamples,
    dropped_episodes: limited.droppedEpisodes,
    truncated_samples: limited.truncatedSamples,
    lost_tokens: limited.lostTokens,
    ...(result.maskedEpisodes !== undefined && { masked_episodes: result.maskedEpisodes }),
    stale_episodes: fresh.staleEpisodes + addUp(groups, ({ report }) => report?.staleEpisodes ?? 0),
    staleness_mean: fresh.stalenessMean,
    staleness_max: fresh.stalenessMax,
    ...updateMetrics(
      updates.map(({ metrics }) => metrics),
      result.plannedRate,
    ),
    seconds_sampling: roundTime(seconds.sampling),
    seconds_packing: roundTime(seconds.packing),
    seconds_training: roundTime(seconds.training),
    ...measureLengthBias(groups, { leftOut, isAlways: isAhead }),
    ...furtherCounts(groups),
    ...successMetrics(groups),
    ...meansOf(groups.flatMap(({ report }) => report?.means ?? [])),
    ...workflowMetrics(groups),
  };
}

/**
 * Returns how many tokens the trees saved. The quotient of row tokens and tree tokens is 1 if nothing is shared or
 * nothing is trained. A backbone that takes rows computes one row for each leaf of a tree. To be as fast as one that
 * takes trees, it must be `leaf_tokens_over_tree_tokens` times as fast per token.
 */
function sharedTokens(reports: readonly PackReport[]): MetricValues {
  const rowTokens = addUp(reports, (report) => report.rowTokens);
  const treeTokens = addUp(reports, (report) => report.treeTokens);
  const leafTokens = addUp(reports, (report) => report.leafTokens ?? 0);
  return {
    row_tokens: rowTokens,
    tree_tokens: treeTokens,
    row_tokens_over_tree_tokens: treeTokens === 0 ? 1 : rowTokens / treeTokens,
    ...(leafTokens > 0 && { leaf_tokens_over_tree_tokens: leafTokens / treeTokens }),
  };
}

function episodeMetrics(groups: readonly TrainingGroup[]): MetricValues {
  const reports = groups.flatMap(({ report }) => report ?? []);
  const episodes = addUp(groups, (group) => group.report?.episodes ?? group.episodes.length);
  return {
    reward_mean: addUp(groups, rewardSumOf) / Math.max(episodes, 1),
    ...(reports.length > 0 && { success_rate: addUp(reports, ({ successes }) => successes) / Math.max(episodes, 1) }),
    episodes,
    failed_episodes: addUp(reports, ({ failedEpisodes }) => failedEpisodes),
    generated_tokens: addUp(
      groups,
      (group) => group.report?.generatedTokens ?? countMasked(group.episodes.flatMap(({ samples }) => samples)),
    ),
  };
}

/** The interval of `success_rate`, and the success of each kind of task. */
function successMetrics(groups: readonly TrainingGroup[]): MetricValues {
  const reports = groups.flatMap(({ report }) => report ?? []);
  if (reports.length === 0) return {};
  return toSuccessRecord(
    reports.map(({ kind, successes, episodes }) => ({
      successes,
      trials: episodes,
      ...(kind !== undefined && { kind }),
    })),
  );
}

function rewardSumOf({ report, episodes }: TrainingGroup): number {
  return report?.rewardSum ?? addUp(episodes, ({ reward }) => reward);
}

/** A gap between sampling and training that is only rounding differs from run to run, so it is reported as 0. */
function visibleGap(gap: number): number {
  return gap < logprobRounding ? 0 : gap;
}

/**
 * Returns the means over the optimizer steps of the batch, except for the logprob gap (the largest) and the learning
 * rate (the last). Metrics that only this backbone reports come last.
 */
function updateMetrics(updates: readonly TrainStepMetrics[], plannedRate = 0): MetricValues {
  const meanOf = (key: 'loss' | 'kl' | 'clipFraction' | 'logprobGapMean') =>
    meanOrZero(updates.map((update) => update[key]));
  const gradNorm = meanIfReported(updates, (update) => update.gradNorm);
  const entropy = meanIfReported(updates, (update) => update.entropy);
  return {
    loss: meanOf('loss'),
    ...(gradNorm !== undefined && { grad_norm: gradNorm }),
    ...(entropy !== undefined && { entropy }),
    kl: meanOf('kl'),
    clip_fraction: meanOf('clipFraction'),
    logprob_gap_max: visibleGap(updates.reduce((highest, { logprobGapMax }) => Math.max(highest, logprobGapMax), 0)),
    logprob_gap_mean: visibleGap(meanOf('logprobGapMean')),
    learning_rate: updates.at(-1)?.learningRate ?? plannedRate,
    ...leftOutTokens(updates),
    ...furtherMetrics(updates),
  };
}

/** The count is reported only for a batch that was sampled with top-p or top-k. */
function leftOutTokens(updates: readonly TrainStepMetrics[]): MetricValues {
  const counts = updates.flatMap(({ tokensOutsideSupport }) => tokensOutsideSupport ?? []);
  return counts.length === 0 ? {} : { tokens_outside_support: addUp(counts, (count) => count) };
}

/**
 * Returns the mean over the updates that report the value. The result is 0 if there are no updates, and undefined if no
 * update reports the value.
 */
function meanIfReported(
  updates: readonly TrainStepMetrics[],
  valueOf: (update: TrainStepMetrics) => number | null,
): number | undefined {
  const values = updates.flatMap((update) => valueOf(update) ?? []);
  return updates.length > 0 && values.length === 0 ? undefined : meanOrZero(values);
}

/** Every backbone reports these. A number under any other name is specific to one backbone. */
const commonMetrics = new Set<string>([
  'loss',
  'gradNorm',
  'entropy',
  'kl',
  'clipFraction',
  'logprobGapMax',
  'logprobGapMean',
  'learningRate',
  'policyVersion',
  'trainedTokens',
  'rowTokens',
  'treeTokens',
  'tokensOutsideSupport',
] satisfies (keyof TrainStepMetrics)[]);

/** Averages the numbers that are specific to a backbone, such as the mismatch between its trainer and its sampler. */
function furtherMetrics(updates: readonly TrainStepMetrics[]): MetricValues {
  const reported = updates.map((update) =>
    Object.entries(update).flatMap(([name, value]): [string, number][] =>
      !commonMetrics.has(name) && typeof value === 'number' && Number.isFinite(value) ? [[name, value]] : [],
    ),
  );
  const names = [...new Set(reported.flatMap((entries) => entries.map(([name]) => name)))].sort();
  const valuesOf = (name: string): number[] =>
    reported.flatMap((entries) => entries.flatMap(([key, value]) => (key === name ? [value] : [])));
  return Object.fromEntries(names.map((name) => [toSnakeCase(name), meanOrZero(valuesOf(name))])) as MetricValues;
}

function furtherCounts(groups: readonly TrainingGroup[]): MetricValues {
  const total = new Map<string, number>();
  for (const [name, count] of groups.flatMap(({ report }) => Object.entries(report?.counts ?? {})))
    total.set(name, (total.get(name) ?? 0) + count);
  return Object.fromEntries([...total].sort(([left], [right]) => (left < right ? -1 : 1))) as MetricValues;
}

function workflowMetrics(groups: readonly TrainingGroup[]): MetricValues {
  const means = meansOf(groups.flatMap(({ report }) => report?.logMetrics ?? []));
  return Object.fromEntries(Object.entries(means).map(([name, value]) => [`workflow/${name}`, value])) as MetricValues;
}

function meansOf<Values extends Readonly<Record<string, number>>>(logged: readonly Values[]): Values {
  const names = [...new Set(logged.flatMap((metrics) => Object.keys(metrics)))].sort();
  return Object.fromEntries(
    names.map((name) => [name, meanOrZero(logged.flatMap((metrics) => metrics[name] ?? []))]),
  ) as Values;
}

const meanOrZero = (values: readonly number[]): number => (values.length === 0 ? 0 : mean(values));
