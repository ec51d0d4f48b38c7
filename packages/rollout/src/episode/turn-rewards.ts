import { isReward, rewardRange, WorkflowError, type TurnReward } from '@agentjet/core';

/** A reward for an agent, with the id of the answer that it is for (`ChatResponse.id`). */
export type PaidTurn = { readonly agentName: string; readonly turnId: string; readonly value: number };

/**
 * Collects the rewards that agents get during an episode. A reward belongs to the last turn that its agent had made
 * when the reward was given.
 */
export class TurnRewards {
  /** Ids of the latest turns. The agent that answered last comes last. */
  readonly #latest = new Map<string, string>();
  readonly #given: PaidTurn[] = [];

  noteTurn(agentName: string, turnId: string): void {
    this.#latest.delete(agentName);
    this.#latest.set(agentName, turnId);
  }

  /**
   * Records a reward. Throws WorkflowError `bad_reward` for a value that is not finite, and `no_turn` if the agent has
   * made no turn.
   */
  give(value: number, { agent }: { readonly agent?: string } = {}): void {
    if (!isReward(value))
      throw new WorkflowError('bad_reward', `tuner.reward() got ${String(value)}. Pass ${rewardRange}.`);
    const agentName = agent ?? [...this.#latest.keys()].at(-1);
    const turnId = agentName === undefined ? undefined : this.#latest.get(agentName);
    if (agentName === undefined || turnId === undefined) throw noTurn(agent, [...this.#latest.keys()]);
    this.#given.push({ agentName, turnId, value });
  }

  /** Returns the rewards by the ids and by the indices of their turns. Empty if there are none. */
  read(turns: readonly Turn[]): {
    readonly paidTurns?: readonly PaidTurn[];
    readonly turnRewards?: readonly TurnReward[];
  } {
    if (this.#given.length === 0) return {};
    return { turnRewards: toTurnRewards(this.#given, turns), paidTurns: [...this.#given] };
  }
}

/** Replaces the id of each turn with the index that the turn has in its episode. */
export function toTurnRewards(paid: readonly PaidTurn[], turns: readonly Turn[]): readonly TurnReward[] {
  const indexOf = new Map(turns.map(({ turnId, index }) => [turnId, index]));
  return paid.flatMap(({ agentName, turnId, value }) => {
    const turnIndex = indexOf.get(turnId);
    return turnIndex === undefined ? [] : [{ agentName, turnIndex, value }];
  });
}

type Turn = { readonly turnId: string; readonly index: number };

function noTurn(agent: string | undefined, known: readonly string[]): WorkflowError {
  const problem =
    agent === undefined ? 'No agent has had an answer' : `Agent ${JSON.stringify(agent)} has had no answer`;
  const others = known.length === 0 ? '' : ` Agents with turns: ${known.join(', ')}.`;
  return new WorkflowError(
    'no_turn',
    `tuner.reward() rewards a turn, but there is none. ${problem} in this episode.${others} Call tuner.reward() after the agent's turn.`,
  );
}
