import type { EpisodeGroup, RewardedEpisode, Sample } from '@agentjet/core';
import { readRewards } from './advantages.js';
import { agentsOf, type AgentTurns, returnsOf } from './returns.js';

export type ReturnOptions = {
  /**
   * The discount, in [0, 1]. A turn that is k turns of the same agent before a reward gets gamma^k times the reward.
   * Defaults to 1.
   */
  readonly gamma?: number | undefined;
};

/** Computes the advantages of values that are compared with one another. Returns one for each, in order. */
export type Compare = (values: readonly number[]) => readonly number[];

/**
 * Returns the samples of these groups with advantages. It compares the episodes of `groups` with one another.
 *
 * If each episode has a single reward, the reward is the value of every token. Otherwise each target is compared
 * separately, turn by turn: the value of an agent's k-th turn is the return from there on, gamma included. An agent
 * with fewer turns is represented by its last turn. With one reward per target and gamma 1, all turns therefore get the
 * same value.
 */
export function creditReturns(groups: readonly EpisodeGroup[], compare: Compare, gamma = 1): Sample[] {
  const rewards = groups.flatMap(readRewards);
  const episodes = groups.flatMap((group) => group.episodes);
  const isPlain =
    gamma === 1 && episodes.every(({ rewards: own, turnRewards = [] }) => !own && turnRewards.length === 0);
  const credits = isPlain ? compareEpisodes(episodes, compare(rewards)) : compareTargets(episodes, compare, gamma);
  return episodes.flatMap((episode) =>
    episode.samples.map((sample) => withAdvantages(sample, credits(episode, sample))),
  );
}

/** Returns the advantage of the tokens of the sample that belong to this turn. */
type Credit = (turnIndex: number | undefined) => number;
type Credits = (episode: RewardedEpisode, sample: Sample) => Credit;

function withAdvantages(sample: Sample, credit: Credit): Sample {
  const { lossMask, turnIndices } = sample;
  return {
    ...sample,
    advantages: Float32Array.from(lossMask, (mask, t) => (mask === 1 ? credit(turnIndices?.[t]) : 0)),
  };
}

function compareEpisodes(episodes: readonly RewardedEpisode[], advantages: readonly number[]): Credits {
  const of = new Map(episodes.map((episode, index) => [episode, advantages[index] ?? 0]));
  return (episode) => {
    const advantage = of.get(episode) ?? 0;
    return () => advantage;
  };
}

function compareTargets(episodes: readonly RewardedEpisode[], compare: Compare, gamma: number): Credits {
  const targets = new Set(episodes.flatMap(({ samples }) => samples.map(({ targetTag }) => targetTag)));
  const credits = new Map([...targets].map((target) => [target, compareTarget(episodes, target, { compare, gamma })]));
  return (episode, sample) => credits.get(sample.targetTag)?.(episode, sample) ?? (() => 0);
}

type Entry = { readonly episode: RewardedEpisode; readonly agent: AgentTurns; readonly returns: readonly number[] };

function compareTarget(
  episodes: readonly RewardedEpisode[],
  target: string,
  { compare, gamma }: { readonly compare: Compare; readonly gamma: number },
): Credits {
  const entries = episodes.flatMap((episode) =>
    agentsOf(episode, target, gamma).map((agent): Entry => {
      return { episode, agent, returns: returnsOf(episode, target, { agent, gamma }) };
    }),
  );
  const longest = Math.max(...entries.map(({ returns }) => returns.length));
  const valueAt = (returns: readonly number[], turn: number): number =>
    returns[Math.min(turn, returns.length - 1)] ?? 0;
  const byTurn = Array.from({ length: longest }, (_, turn) =>
    compare(entries.map(({ returns }) => valueAt(returns, turn))),
  );
  return (episode, sample) => {
    const place = entries.findIndex(
      ({ episode: own, agent }) => own === episode && (agent.agentName ?? sample.agentName) === sample.agentName,
    );
    const turnOf = new Map(entries[place]?.agent.turns.map((turnIndex, turn) => [turnIndex, turn]));
    return (turnIndex) => byTurn[turnOf.get(turnIndex ?? -1) ?? 0]?.[place] ?? 0;
  };
}
