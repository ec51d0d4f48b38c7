import { mean } from '@agentjet/core';
import type { ModelClient, ModelUsage } from '@agentjet/model-client';
import type { Judge } from '@agentjet/rollout';
import { lastAnswerText, candidateText } from '../last-answer-text.js';
import type { Candidate } from '../llm/verdict-question.js';
import { askVotes, type VoteOptions } from './ask-votes.js';

/** `votes` is the number of answers that the model is asked for. The reward is their mean. */
export type VotingOptions = VoteOptions & {
  readonly temperature: number;
  readonly maxTokens: number;
  /** The lowest reward that counts as a success. */
  readonly successFrom: number;
  readonly outputField: string;
  readonly agent: string | null;
};

export type Voting<Vote> = {
  readonly ask: (
    candidate: Candidate,
    options: { readonly vote: number; readonly signal: AbortSignal },
  ) => Promise<Vote>;
  readonly rewardOf: (vote: Vote) => number;
  readonly partsOf?: (votes: readonly Vote[]) => Readonly<Record<string, number>>;
};

/** Asks a language model several times about an answer. An unreachable model throws an Outage. */
export function createVotingJudge<Vote extends { readonly reason: string }>(
  client: ModelClient,
  options: VotingOptions,
  { ask, rewardOf, partsOf = () => ({}) }: Voting<Vote>,
): Judge {
  return {
    usage: () => usageOf(client),
    async judge(task, output, { transcripts, signal }) {
      const text = candidateText(output.metadata?.[options.outputField]) ?? lastAnswerText(transcripts, options.agent);
      if (text === null) return { reward: 0, isSuccess: false, reason: 'The agent gave no answer.' };
      const votes = await askVotes(options, (vote) => ask({ task, text }, { vote, signal }));
      const rewards = votes.map(rewardOf);
      const reward = mean(rewards);
      const spread = votes.length > 1 && { vote_spread: Math.max(...rewards) - Math.min(...rewards) };
      const parts = { ...partsOf(votes), ...spread };
      return {
        reward,
        isSuccess: reward >= options.successFrom,
        ...(Object.keys(parts).length > 0 && { parts }),
        reason: votes.map(({ reason }) => reason).join(' | '),
      };
    },
  };
}

/** The usage of a client so far. Zeros if the client does not count it. */
function usageOf({ usage }: ModelClient): ModelUsage {
  return usage ?? { calls: 0, promptTokens: 0, completionTokens: 0 };
}
