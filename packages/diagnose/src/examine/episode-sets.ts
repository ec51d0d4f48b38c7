import { wilsonInterval } from '@agentjet/core/success';
import type { EpisodeOf, ExaminedRun } from './examined-run.js';
import { meanOf } from './figures/series.js';

/** The training episodes without those of the first steps. `from` is the share of the steps that is left out. */
export function trainingEpisodes({ episodes = [] }: ExaminedRun, from = 0): readonly EpisodeOf[] {
  const training = episodes.filter(({ phase }) => phase === 'train');
  const steps = [...new Set(training.map(({ step }) => step))].sort((left, right) => left - right);
  const first = steps[Math.min(Math.floor(from * steps.length), Math.max(0, steps.length - 1))] ?? 0;
  return training.filter(({ step }) => step >= first);
}

/** Groups episodes by a key. The groups are in the order in which their keys first occur. */
export function groupEpisodes(
  episodes: readonly EpisodeOf[],
  keyOf: (episode: EpisodeOf) => string,
): ReadonlyMap<string, readonly EpisodeOf[]> {
  const groups = new Map<string, EpisodeOf[]>();
  for (const episode of episodes) {
    const key = keyOf(episode);
    const own = groups.get(key) ?? [];
    groups.set(key, own);
    own.push(episode);
  }
  return groups;
}

/** The episodes of a task that were sampled in one step. */
export const groupsOf = (episodes: readonly EpisodeOf[]): readonly (readonly EpisodeOf[])[] => [
  ...groupEpisodes(episodes, ({ step, group }) => `${step} ${group}`).values(),
];

export type SameTokens = { readonly compared: number; readonly same: readonly EpisodeOf[]; readonly share: number };

export const hasSameTokens = (group: readonly EpisodeOf[]): boolean =>
  new Set(group.map(({ tokensHash }) => tokensHash)).size === 1;

/** The groups in which all episodes have the same tokens. `same` has one episode of each. */
export function compareTokens(episodes: readonly EpisodeOf[]): SameTokens {
  const compared = groupsOf(episodes).filter((group) => group.filter(({ tokens }) => tokens > 0).length > 1);
  const same = compared.filter(hasSameTokens);
  return {
    compared: compared.length,
    same: same.flatMap((group) => group.slice(0, 1)),
    share: same.length / Math.max(1, compared.length),
  };
}

/** The training episodes of the first step, before any update. */
export function firstEpisodes(run: ExaminedRun): readonly EpisodeOf[] {
  const all = trainingEpisodes(run);
  const first = all.reduce((least, { step }) => Math.min(least, step), Number.POSITIVE_INFINITY);
  return all.filter(({ step }) => step === first);
}

/** Groups with successes and failures, and those of them in which the successes have the higher mean. */
export type Preference = {
  readonly compared: number;
  readonly agreeing: number;
  readonly against: readonly EpisodeOf[];
};

/** With fewer groups, a preference is not known. */
export const leastCompared = 8;

/** Whether a value prefers successes to failures within groups. `against` has a failure of each group that disagrees. */
export function comparePreference(
  groups: readonly (readonly EpisodeOf[])[],
  valueOf: (episode: EpisodeOf) => number,
): Preference {
  const meanValue = (episodes: readonly EpisodeOf[]): number => meanOf(episodes.map(valueOf));
  const mixed = groups.flatMap((group) => {
    const completed = group.filter(({ status }) => status === 'completed');
    if (new Set(completed.map(valueOf)).size < 2) return [];
    const good = completed.filter(({ success }) => success);
    const bad = completed.filter(({ success }) => !success);
    return good.length === 0 || bad.length === 0 ? [] : [{ bad, agrees: meanValue(good) > meanValue(bad) }];
  });
  const against = mixed.filter(({ agrees }) => !agrees);
  return {
    compared: mixed.length,
    agreeing: mixed.length - against.length,
    against: against.flatMap(({ bad }) => bad.toSorted((a, b) => valueOf(b) - valueOf(a)).slice(0, 1)),
  };
}

/** Whether successes are preferred in under three quarters of the groups, at the upper end of the 95% interval. */
export const prefersNothing = ({ compared, agreeing }: Preference): boolean =>
  compared >= leastCompared && wilsonInterval(agreeing / compared, compared).high < 0.75;

/** Values minus the mean of their group, for all groups. */
export function centered(
  groups: readonly (readonly EpisodeOf[])[],
  valueOf: (episode: EpisodeOf) => number,
): readonly number[] {
  return groups.flatMap((group) => {
    const level = meanOf(group.map(valueOf));
    return group.map((episode) => valueOf(episode) - level);
  });
}

/** The share of the variance of `whole` that `part` explains. Both have the mean 0. */
export function explainedShare(part: readonly number[], whole: readonly number[]): number {
  const product = (left: readonly number[], right: readonly number[]): number =>
    left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0);
  const [ofPart, ofWhole] = [product(part, part), product(whole, whole)];
  return ofPart < 1e-12 || ofWhole < 1e-12 ? 0 : product(part, whole) ** 2 / (ofPart * ofWhole);
}

/** The standard deviation of the mean reward of a step that comes from the tasks that it draws. 0 without episodes. */
export function luckOf(run: ExaminedRun): number {
  const means = groupsOf(trainingEpisodes(run)).map((group) => meanOf(group.map(({ reward = 0 }) => reward)));
  const level = meanOf(means);
  const deviation = Math.sqrt(meanOf(means.map((mean) => (mean - level) ** 2)));
  return means.length === 0 ? 0 : deviation / Math.sqrt(means.length / run.steps);
}

/** Within groups, the length explains this share of the differences of the reward, if the reward pays for length. */
const leastLengthShare = 0.3;

/** Whether longer, or shorter, answers of a group get more. True if it is not known, because there are no episodes. */
export function paysForLength(run: ExaminedRun): boolean {
  const groups = groupsOf(trainingEpisodes(run));
  const [length, reward] = [centered(groups, ({ tokens }) => tokens), centered(groups, (each) => each.reward ?? 0)];
  return groups.length === 0 || explainedShare(length, reward) >= leastLengthShare;
}

/** The most frequent value with its count. */
export function mostFrequent(
  values: readonly string[],
): { readonly value: string; readonly count: number } | undefined {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [first] = [...counts].sort(([, left], [, right]) => right - left);
  return first && { value: first[0], count: first[1] };
}

export const episodeIds = (episodes: readonly EpisodeOf[]): readonly string[] => episodes.map(({ id }) => id);
