import type { ModelClient } from '@agentjet/model-client';
import type { Judge } from '@agentjet/rollout';
import { askUntilRead } from '../model/ask-until-read.js';
import { createVotingJudge, type VotingOptions } from '../model/voting-judge.js';
import { readVerdict } from './read-verdict.js';
import { askForVerdict, type VerdictFormat } from './verdict-question.js';

/** `successFrom` is the lowest share of the scale that counts as a success. */
export type LlmJudgeOptions = VerdictFormat & VotingOptions;

/**
 * Asks a language model for a score. The reward is the score's share of the scale. Only a complete verdict gives a
 * reward: an unreachable model throws an Outage, and a model that writes no verdict after two repairs throws a
 * JudgeError.
 */
export function createLlmJudge(client: ModelClient, options: LlmJudgeOptions): Judge {
  const { temperature, maxTokens, scale } = options;
  return createVotingJudge<{ readonly score: number; readonly reason: string }>(client, options, {
    ask(candidate, { vote, signal }) {
      const { messages, schema, code } = askForVerdict(candidate, options);
      return askUntilRead(client, {
        question: { messages, temperature, maxTokens, seed: vote, ...(schema !== undefined && { schema }) },
        read: (text) => readVerdict(text, { code, scale }),
        complaint: 'That is not the verdict',
        noun: 'verdict',
        signal,
      });
    },
    rewardOf: ({ score }) => score / scale,
  });
}
