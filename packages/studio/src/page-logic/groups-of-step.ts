import type { EpisodeStore } from './episode-store.js';

/** A group of a step: its rows by reward, and why it has no gradient if it has none. */
export type StepGroup = {
  readonly group: string;
  readonly task: string;
  readonly kind: string;
  readonly rows: readonly number[];
  readonly mean: number | null;
  /** Highest minus lowest reward. */
  readonly spread: number;
  readonly failed: number;
  readonly forked: number;
  /** Undefined if the group trains the model. */
  readonly idle: string | undefined;
};

/** The groups of training, or of an evaluation, in the order in which they were written. */
export function groupsOfStep(store: EpisodeStore, step: number, isEvaluation: boolean): readonly StepGroup[] {
  const byGroup = new Map<string, number[]>();
  for (let row = 0; row < store.length; row++) {
    if (store.step[row] !== step || (store.evaluation[row] === 1) !== isEvaluation) continue;
    const name = store.group[row] || store.task[row] || '';
    const rows = byGroup.get(name) ?? [];
    byGroup.set(name, rows);
    rows.push(row);
  }
  return [...byGroup].map(([group, rows]) => toGroup(store, group, rows, isEvaluation));
}

function toGroup(store: EpisodeStore, group: string, rows: readonly number[], isEvaluation: boolean): StepGroup {
  const [first = -1] = rows;
  const rewards = rows.flatMap((row) => store.reward[row] ?? []);
  const spread = rewards.length === 0 ? 0 : Math.max(...rewards) - Math.min(...rewards);
  return {
    group,
    task: store.task[first] ?? '',
    kind: store.kind[first] ?? '',
    rows: [...rows].sort((a, b) => (store.reward[b] ?? -Infinity) - (store.reward[a] ?? -Infinity) || a - b),
    mean: rewards.length === 0 ? null : rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length,
    spread,
    failed: rows.filter((row) => store.error[row] !== '').length,
    forked: rows.filter((row) => store.forks[row] !== '').length,
    idle: isEvaluation
      ? undefined
      : whyIdle({ rewards, spread, trained: rows.some((row) => (store.trained[row] ?? 0) > 0) }),
  };
}

type Rewarded = { readonly rewards: readonly number[]; readonly spread: number; readonly trained: boolean };

/** A group trains by the differences between its rewards. */
function whyIdle({ rewards, spread, trained }: Rewarded): string | undefined {
  const [first] = rewards;
  if (first === undefined) return 'every episode failed, so there is no reward to compare';
  if (rewards.length === 1) return 'only one episode has a reward, so there is nothing to compare it with';
  if (spread === 0) return `every reward is ${Number(first.toPrecision(3))}, so no answer is better than another`;
  return trained ? undefined : 'its tokens were left out of training';
}
