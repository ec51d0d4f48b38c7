import { mean } from '@agentjet/core';
import type { ModelClient } from '@agentjet/model-client';
import type { Judge } from '@agentjet/rollout';
import type { Candidate } from '../llm/verdict-question.js';
import { askUntilRead } from '../model/ask-until-read.js';
import { createVotingJudge, type VotingOptions } from '../model/voting-judge.js';
import { askForScores } from './criteria-question.js';
import type { Criterion } from './rubrics-file.js';

export type RubricsJudgeOptions = VotingOptions & { readonly criteria: readonly Criterion[] };

/**
 * Creates a judge whose reward is the weighted mean of the criteria's scores. Each score is a part of the verdict. An
 * unreachable model throws an Outage.
 */
export function createRubricsJudge(client: ModelClient, options: RubricsJudgeOptions): Judge {
  const { criteria } = options;
  return createVotingJudge<Scores>(client, options, {
    ask: (candidate, asked) => askScores(client, candidate, { ...options, ...asked }),
    rewardOf: ({ scores }) => weigh(scores, criteria),
    partsOf: (votes) =>
      Object.fromEntries(criteria.map(({ name }) => [name, mean(votes.map(({ scores }) => scores[name] ?? 0))])),
  });
}

export type Scores = { readonly scores: Readonly<Record<string, number>>; readonly reason: string };

type AskOptions = Pick<RubricsJudgeOptions, 'criteria' | 'temperature' | 'maxTokens'> & {
  readonly vote: number;
  readonly signal: AbortSignal;
};

/** Throws JudgeError `unreadable_verdict` if the answer is still unreadable after two repairs. */
export function askScores(
  client: ModelClient,
  candidate: Candidate,
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

/** Returns the weighted mean of the scores. */
export function weigh(scores: Readonly<Record<string, number>>, criteria: readonly Criterion[]): number {
  const total = criteria.reduce((sum, { weight }) => sum + weight, 0);
  return criteria.reduce((sum, { name, weight }) => sum + (weight / total) * (scores[name] ?? 0), 0);
}
