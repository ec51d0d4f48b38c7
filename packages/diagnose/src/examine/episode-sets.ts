import type { EpisodeOf, ExaminedRun } from './examined-run.js';

/** The training episodes without those of the first steps. `from` is the share of the steps that is left out. */
export function trainingEpisodes({ episodes = [] }: ExaminedRun, from = 0): readonly EpisodeOf[] {
  const training = episodes.filter(({ phase }) => phase === 'train');
  const steps = [...new Set(training.map(({ step }) => step))].sort((left, right) => left - right);
  const first = steps[Math.min(Math.floor(from * steps.length), Math.max(0, steps.length - 1))] ?? 0;
  return training.filter(({ step }) => step >= first);
}

/** Groups episodes by a key. The groups are in the order in which their keys first occur. */
export function groupBy(
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
  ...groupBy(episodes, ({ step, group }) => `${step} ${group}`).values(),
];

export type SameTokens = { readonly compared: number; readonly same: readonly EpisodeOf[]; readonly share: number };

/** The groups in which all episodes have the same tokens. `same` has one episode of each. */
export function compareTokens(episodes: readonly EpisodeOf[]): SameTokens {
  const compared = groupsOf(episodes).filter((group) => group.filter(({ tokens }) => tokens > 0).length > 1);
  const same = compared.filter((group) => new Set(group.map(({ tokensHash }) => tokensHash)).size === 1);
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

/** The most frequent value with its count. */
export function mostFrequent(
  values: readonly string[],
): { readonly value: string; readonly count: number } | undefined {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [first] = [...counts].sort(([, left], [, right]) => right - left);
  return first && { value: first[0], count: first[1] };
}

export const idsOf = (episodes: readonly EpisodeOf[]): readonly string[] => episodes.map(({ id }) => id);
