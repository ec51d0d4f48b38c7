import type { Task, Verdict } from '@agentjet/core';
import type { ModelClient } from '@agentjet/model-client';
import type { Judge } from '@agentjet/rollout';
import { candidateText } from '../candidate-text.js';
import { lastAnswerText } from '../last-answer-text.js';
import { askUntilRead } from '../model/ask-until-read.js';
import { askVotes, type OnOutage } from '../model/ask-votes.js';
import { usageOf } from '../model/usage-of.js';
import { askForScores } from './criteria-question.js';
import type { Criterion } from './rubrics-file.js';

export type RubricsJudgeOptions = {
  readonly criteria: readonly Criterion[];
  /** The number of answers. Scores are their means. */
  readonly votes: number;
  readonly temperature: number;
  readonly maxTokens: number;
  readonly successFrom: number;
  readonly outputField: string;
  readonly agent: string | null;
  readonly onOutage: OnOutage;
};

/**
 * Creates a judge whose reward is the weighted mean of the criteria's scores. Each score is a part of the verdict. An
 * unreachable model throws an Outage.
 */
export function createRubricsJudge(client: ModelClient, options: RubricsJudgeOptions): Judge {
  return {
    usage: () => usageOf(client),
    async judge(task, output, { transcripts, signal }) {
      const text = candidateText(output.metadata?.[options.outputField]) ?? lastAnswerText(transcripts, options.agent);
      if (text === null) return { reward: 0, isSuccess: false, reason: 'The agent gave no answer.' };
      const votes = await askVotes(options, (vote) => askScores(client, { task, text }, { ...options, vote, signal }));
      return toVerdict(votes, options);
    },
  };
}

export type Scores = { readonly scores: Readonly<Record<string, number>>; readonly reason: string };

type AskOptions = Pick<RubricsJudgeOptions, 'criteria' | 'temperature' | 'maxTokens'> & {
  readonly vote: number;
  readonly signal: AbortSignal;
};

/** Throws JudgeError `unreadable_verdict` after two repairs. */
export function askScores(
  client: ModelClient,
  candidate: { readonly task: Task; readonly text: string },
  { criteria, temperature, maxTokens, vote, signal }: AskOptions,
): Promise<Scores> {
  const { messages, schema, read } = askForScores(candidate, criteria);
  return askUntilRead<Scores>(client, {
    question: { messages, temperature, maxTokens, seed: vote, ...(schema !== undefined && { schema }) },
    read,
    complaint: 'Those are not the scores',
    noun: 'scores',
    signal,
  });
}

function toVerdict(votes: readonly Scores[], { criteria, successFrom }: RubricsJudgeOptions): Verdict {
  const rewards = votes.map(({ scores }) => weigh(scores, criteria));
  const reward = mean(rewards);
  const means = criteria.map(({ name }) => [name, mean(votes.map(({ scores }) => scores[name] ?? 0))] as const);
  const spread = votes.length > 1 ? [['vote_spread', Math.max(...rewards) - Math.min(...rewards)] as const] : [];
  return {
    reward,
    isSuccess: reward >= successFrom,
    parts: Object.fromEntries([...means, ...spread]),
    reason: votes.map(({ reason }) => reason).join(' | '),
  };
}

/** The weighted mean of the scores. */
export function weigh(scores: Readonly<Record<string, number>>, criteria: readonly Criterion[]): number {
  const total = criteria.reduce((sum, { weight }) => sum + weight, 0);
  return criteria.reduce((sum, { name, weight }) => sum + (weight / total) * (scores[name] ?? 0), 0);
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
