import type { MetricName, MetricValues } from '@agentjet/core';
import { centerRewards, isTrained, type GroupReport, type TrainingGroup } from '@agentjet/trainer';

/**
 * If every episode of a group got the same reward, the group has nothing to train. With `rollout.refill_groups`, groups
 * of other tasks replace such groups. The episodes of a replaced group stay in the step's report, so its figures still
 * describe all episodes. `refilled_groups` counts the replaced groups.
 */

/**
 * Returns false if all trained episodes of the group got the same reward. A difference in the rewards of targets or
 * turns also counts.
 */
function hasSpread(group: TrainingGroup): boolean {
  const trained = group.episodes.filter(isTrained);
  const episodes = trained.length === 0 ? group.episodes : trained;
  const isSplit = episodes.some(({ rewards, turnRewards }) => rewards !== undefined || turnRewards !== undefined);
  return isSplit || centerRewards(episodes.map(({ reward }) => reward)).some((difference) => difference !== 0);
}

function addCounts(a: MetricValues = {}, b: MetricValues = {}): MetricValues {
  const names = new Set([...Object.keys(a), ...Object.keys(b)] as MetricName[]);
  return Object.fromEntries([...names].map((name) => [name, (a[name] ?? 0) + (b[name] ?? 0)])) as MetricValues;
}

const emptyReport: GroupReport = { episodes: 0, failedEpisodes: 0, successes: 0, rewardSum: 0, generatedTokens: 0 };

function addReports(a: GroupReport, b: GroupReport): GroupReport {
  return {
    episodes: a.episodes + b.episodes,
    failedEpisodes: a.failedEpisodes + b.failedEpisodes,
    successes: a.successes + b.successes,
    rewardSum: a.rewardSum + b.rewardSum,
    generatedTokens: a.generatedTokens + b.generatedTokens,
    counts: addCounts(a.counts, b.counts),
    logMetrics: [...(a.logMetrics ?? []), ...(b.logMetrics ?? [])],
    means: [...(a.means ?? []), ...(b.means ?? [])],
    records: [...(a.records ?? []), ...(b.records ?? [])],
  };
}

/** Returns `replacement`, with the draws and the reports of both groups. */
function replace(group: TrainingGroup, replacement: TrainingGroup): TrainingGroup {
  const report = addReports(group.report ?? emptyReport, replacement.report ?? emptyReport);
  return {
    ...replacement,
    alsoDrawn: [...(group.draw === undefined ? [] : [group.draw]), ...(group.alsoDrawn ?? [])],
    report: { ...report, counts: addCounts(report.counts, { refilled_groups: 1 }) },
  };
}

/**
 * Replaces groups with equal rewards by others until there are no such groups or `most` groups were drawn.
 * `draw(count)` samples this number of other tasks, or none if the run is stopping.
 */
export async function refillGroups(
  groups: readonly TrainingGroup[],
  { most, draw }: { readonly most: number; readonly draw: (count: number) => Promise<readonly TrainingGroup[]> },
): Promise<readonly TrainingGroup[]> {
  let filled = groups;
  for (let left = most; left > 0; ) {
    const flat = filled.filter((group) => !hasSpread(group));
    const further = flat.length === 0 ? [] : await draw(Math.min(left, flat.length));
    if (further.length === 0) return filled;
    left -= further.length;
    const replacements = new Map(flat.map((group, index) => [group, further[index]]));
    filled = filled.map((group) => {
      const replacement = replacements.get(group);
      return replacement === undefined ? group : replace(group, replacement);
    });
  }
  return filled;
}
