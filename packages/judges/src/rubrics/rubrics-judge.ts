import { JudgeError, type Task, type Verdict } from '@agentjet/core';
import type { ModelClient } from '@agentjet/model-client';
import type { Judge } from '@agentjet/rollout';
import { lastAnswerText } from '../last-answer-text.js';
import { asLeftOut, candidateText } from '../llm/llm-judge.js';
import { usageOf } from '../model/usage-of.js';
import { askForScores } from './criteria-question.js';
import type { Criterion } from './rubrics-file.js';

export type RubricsJudgeOptions = {
  readonly criteria: readonly Criterion[];
  /** Answers asked for; scores are their means. */
  readonly votes: number;
  readonly temperature: number;
  readonly maxTokens: number;
  readonly successFrom: number;
  readonly outputField: string;
  readonly agent: string | null;
  readonly onOutage: 'pause' | 'drop';
};

/** The weighted mean of the criteria's scores, each of which is a part of the verdict. A model that cannot be reached is an Outage. */
export function createRubricsJudge(client: ModelClient, options: RubricsJudgeOptions): Judge {
  return {
    usage: () => usageOf(client),
    async judge(task, output, { transcripts, signal }) {
      const text = candidateText(output.metadata?.[options.outputField]) ?? lastAnswerText(transcripts, options.agent);
      if (text === null) return { reward: 0, isSuccess: false, reason: 'The agent gave no answer.' };
      const asked = Array.from({ length: options.votes }, (_, vote) =>
        askScores(client, { task, text }, { ...options, vote, signal }),
      );
      const settled = await Promise.allSettled(asked);
      const failed = settled.find((result) => result.status === 'rejected');
      if (failed !== undefined) throw asLeftOut(failed.reason, options);
      return toVerdict(
        settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
        options,
      );
    },
  };
}

export type Scores = { readonly scores: Readonly<Record<string, number>>; readonly reason: string };

type AskOptions = Pick<RubricsJudgeOptions, 'criteria' | 'temperature' | 'maxTokens'> & {
  readonly vote: number;
  readonly signal: AbortSignal;
};

/** Further tries of an answer that does not hold the scores. */
const maxRepairs = 2;

/** Throws JudgeError `unreadable_verdict` after two repairs. */
export async function askScores(
  client: ModelClient,
  candidate: { readonly task: Task; readonly text: string },
  { criteria, temperature, maxTokens, vote, signal }: AskOptions,
): Promise<Scores> {
  const { messages, schema, read } = askForScores(candidate, criteria);
  let conversation = messages;
  let mistake = '';
  for (let attempt = 0; attempt <= maxRepairs; attempt++) {
    const question = {
      messages: conversation,
      temperature,
      maxTokens,
      seed: vote,
      ...(schema !== undefined && { schema }),
    };
    const { text } = await client.ask(question, signal);
    const answer = read(text);
    if ('scores' in answer) return answer;
    ({ mistake } = answer);
    const repair = `Those are not the scores (${mistake}). Reply with the one JSON object and nothing else.`;
    conversation = [...conversation, { role: 'assistant', content: text }, { role: 'user', content: repair }];
  }
  throw new JudgeError('unreadable_verdict', `The judge wrote no scores in ${maxRepairs + 1} tries: ${mistake}`);
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

/** The mean of scores, weighted. */
export function weigh(scores: Readonly<Record<string, number>>, criteria: readonly Criterion[]): number {
  const total = criteria.reduce((sum, { weight }) => sum + weight, 0);
  return criteria.reduce((sum, { name, weight }) => sum + (weight / total) * (scores[name] ?? 0), 0);
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
