import { type RewardedEpisode, compareText } from '@agentjet/core';

/**
 * The turns whose rewards are added up. They are the turns of one agent or, if there is no name, of all agents of a
 * target.
 */
export type AgentTurns = {
  readonly agentName: string | undefined;
  /** The values of `Sample.turnIndices`, ascending. */
  readonly turns: readonly number[];
};

/**
 * Returns the turns of a target in an episode, separated by agent only if their values may differ. An episode in which
 * the target had no turn still counts with its reward.
 */
export function agentsOf(episode: RewardedEpisode, target: string, gamma: number): readonly AgentTurns[] {
  const samples = episode.samples.filter(({ targetTag }) => targetTag === target);
  const names = [...new Set(samples.map(({ agentName }) => agentName))];
  const isPaidByTurn = gamma !== 1 || (episode.turnRewards ?? []).some(({ agentName }) => names.includes(agentName));
  if (names.length === 0 || !isPaidByTurn) return [{ agentName: undefined, turns: [] }];
  return names.toSorted(compareText).map((agentName) => {
    const sampled = samples
      .filter((sample) => sample.agentName === agentName)
      .flatMap(({ turnIndices, lossMask }) => [...(turnIndices ?? [])].filter((_, t) => lossMask[t] === 1));
    const paid = (episode.turnRewards ?? []).filter((reward) => reward.agentName === agentName);
    const turns = new Set([...sampled, ...paid.map(({ turnIndex }) => turnIndex)]);
    return { agentName, turns: [...turns].sort((left, right) => left - right) };
  });
}

/**
 * Computes the return of each turn: the reward of the turn, plus gamma times the return of the agent's next turn. The
 * reward of the whole episode is added at the last turn. The result has at least one value.
 */
export function returnsOf(
  { reward, rewards, turnRewards = [] }: RewardedEpisode,
  target: string,
  { agent, gamma }: { readonly agent: AgentTurns; readonly gamma: number },
): readonly number[] {
  const final = rewards?.[target] ?? reward;
  const own = turnRewards.filter(({ agentName }) => agentName === agent.agentName);
  const paidAt = (turn: number): number =>
    own.reduce((sum, { turnIndex, value }) => (turnIndex === turn ? sum + value : sum), 0);
  const returns: number[] = [];
  for (const turn of agent.turns.toReversed()) {
    const later = returns.at(-1);
    returns.push(paidAt(turn) + (later === undefined ? final : gamma * later));
  }
  return returns.length === 0 ? [final] : returns.reverse();
}
