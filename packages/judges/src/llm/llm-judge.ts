import { JudgeError, Outage, type Verdict } from '@agentjet/core';
import type { ModelClient } from '@agentjet/model-client';
import type { Judge } from '@agentjet/rollout';
import { lastAnswerText } from '../last-answer-text.js';
import { usageOf } from '../model/usage-of.js';
import { readVerdict } from './read-verdict.js';
import { askForVerdict, type VerdictFormat, type VerdictQuestion } from './verdict-question.js';

export type LlmJudgeOptions = VerdictFormat & {
  /** Verdicts asked for; the reward is their mean. */
  readonly votes: number;
  readonly temperature: number;
  readonly maxTokens: number;
  /** Share of the scale from which an episode is a success. */
  readonly successFrom: number;
  readonly outputField: string;
  readonly agent: string | null;
  readonly onOutage: 'pause' | 'drop';
};

/** Further tries of a vote that was not a verdict. */
const maxRepairs = 2;

/**
 * Asks a language model for a score; the reward is the score's share of the scale. A reward is only ever given for a whole verdict: a
 * model that cannot be reached is an Outage, and one that writes no verdict after two repairs a JudgeError.
 */
export function createLlmJudge(client: ModelClient, options: LlmJudgeOptions): Judge {
  return {
    usage: () => usageOf(client),
    async judge(task, output, { transcripts, signal }) {
      const text = candidateText(output.metadata?.[options.outputField]) ?? lastAnswerText(transcripts, options.agent);
      if (text === null) return { reward: 0, isSuccess: false, reason: 'The agent gave no answer.' };
      const question = askForVerdict({ task, text }, options);
      const votes = Array.from({ length: options.votes }, (_, vote) =>
        askVote(client, question, { options, vote, signal }),
      );
      const settled = await Promise.allSettled(votes);
      const failed = settled.find((result) => result.status === 'rejected');
      if (failed !== undefined) throw asLeftOut(failed.reason, options);
      return toVerdict(
        settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
        options,
      );
    },
  };
}

type Vote = { readonly score: number; readonly reason: string };

async function askVote(
  client: ModelClient,
  { messages, schema, code }: VerdictQuestion,
  { options, vote, signal }: { readonly options: LlmJudgeOptions; readonly vote: number; readonly signal: AbortSignal },
): Promise<Vote> {
  const { temperature, maxTokens, scale } = options;
  const asked = { temperature, maxTokens, seed: vote, ...(schema !== undefined && { schema }) };
  let conversation = messages;
  let mistake = '';
  for (let attempt = 0; attempt <= maxRepairs; attempt++) {
    const { text } = await client.ask({ ...asked, messages: conversation }, signal);
    const read = readVerdict(text, { code, scale });
    if ('score' in read) return read;
    ({ mistake } = read);
    const repair = `That is not the verdict (${mistake}). Reply with the one JSON object and nothing else.`;
    conversation = [...conversation, { role: 'assistant', content: text }, { role: 'user', content: repair }];
  }
  throw new JudgeError('unreadable_verdict', `The judge wrote no verdict in ${maxRepairs + 1} tries: ${mistake}`);
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

/** With `drop`, an episode whose judge is away is left out instead of waiting. It is never rewarded. */
export function asLeftOut(error: unknown, { onOutage }: Pick<LlmJudgeOptions, 'onOutage'>): unknown {
  if (onOutage === 'pause' || !(error instanceof Outage)) return error;
  return new JudgeError('judge_unavailable', error.message);
}

export function candidateText(value: unknown): string | null {
  if (typeof value === 'string') return value.trim() === '' ? null : value;
  return value === undefined || value === null ? null : JSON.stringify(value);
}
