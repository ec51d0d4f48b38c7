import type { Verdict } from '@agentjet/core';
import type { ModelClient } from '@agentjet/model-client';
import type { Judge } from '@agentjet/rollout';
import { candidateText } from '../candidate-text.js';
import { lastAnswerText } from '../last-answer-text.js';
import { askUntilRead } from '../model/ask-until-read.js';
import { askVotes, type OnOutage } from '../model/ask-votes.js';
import { usageOf } from '../model/usage-of.js';
import { readVerdict } from './read-verdict.js';
import { askForVerdict, type VerdictFormat, type VerdictQuestion } from './verdict-question.js';

export type LlmJudgeOptions = VerdictFormat & {
  /** The number of verdicts. The reward is their mean. */
  readonly votes: number;
  readonly temperature: number;
  readonly maxTokens: number;
  /** The lowest share of the scale that counts as a success. */
  readonly successFrom: number;
  readonly outputField: string;
  readonly agent: string | null;
  readonly onOutage: OnOutage;
};

/**
 * Asks a language model for a score. The reward is the score's share of the scale. Only a complete verdict gives a
 * reward: an unreachable model throws an Outage, and a model that writes no verdict after two repairs throws a
 * JudgeError.
 */
export function createLlmJudge(client: ModelClient, options: LlmJudgeOptions): Judge {
  return {
    usage: () => usageOf(client),
    async judge(task, output, { transcripts, signal }) {
      const text = candidateText(output.metadata?.[options.outputField]) ?? lastAnswerText(transcripts, options.agent);
      if (text === null) return { reward: 0, isSuccess: false, reason: 'The agent gave no answer.' };
      const question = askForVerdict({ task, text }, options);
      const votes = await askVotes(options, (vote) => askVote(client, question, { options, vote, signal }));
      return toVerdict(votes, options);
    },
  };
}

type Vote = { readonly score: number; readonly reason: string };

function askVote(
  client: ModelClient,
  { messages, schema, code }: VerdictQuestion,
  { options, vote, signal }: { readonly options: LlmJudgeOptions; readonly vote: number; readonly signal: AbortSignal },
): Promise<Vote> {
  const { temperature, maxTokens, scale } = options;
  return askUntilRead<Vote>(client, {
    question: { messages, temperature, maxTokens, seed: vote, ...(schema !== undefined && { schema }) },
    read: (text) => readVerdict(text, { code, scale }),
    complaint: 'That is not the verdict',
    noun: 'verdict',
    signal,
  });
}

function toVerdict(votes: readonly Vote[], { scale, successFrom }: LlmJudgeOptions): Verdict {
  const shares = votes.map(({ score }) => score / scale);
  const reward = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  return {
    reward,
    isSuccess: reward >= successFrom,
    ...(votes.length > 1 && { parts: { vote_spread: Math.max(...shares) - Math.min(...shares) } }),
    reason: votes.map(({ reason }) => reason).join(' | '),
  };
}
