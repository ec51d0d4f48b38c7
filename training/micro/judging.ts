import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createRandom, deriveSeed, type Task } from '@agentjet/core';
import { createLlmJudge } from '@agentjet/judges';
import type { ModelClient } from '@agentjet/model-client';
import { asModel } from '@agentjet/react';
import type { Tuner, WorkflowOutput } from 'agentjet';
import { topicNames, topics } from '#tutorial/learning-to-ask/ailments.js';
import { drawTasks as drawPatients } from '#tutorial/learning-to-ask/patients.js';
import { parse } from 'yaml';
import { pick } from '../shared/teacher.js';

/** The judge `llm` of the tutorial learning-to-ask, asked about what doctors said, good ones and bad ones. */

type Section = { readonly rubric: string; readonly scale: number; readonly max_tokens: number };
const yaml = path.join(import.meta.dirname, '../../tutorial/learning-to-ask/learning_to_ask_llm.yaml');
const { ajet } = parse(readFileSync(yaml, 'utf8')) as { ajet: { task_judge: { llm: Section } } };
const { rubric, scale, max_tokens: maxTokens } = ajet.task_judge.llm;

/** One or two questions, or none. */
function drawTurn(random: ReturnType<typeof createRandom>): string {
  const ask = (): string => topics[pick(topicNames, random)].question;
  const chance = random.next();
  return chance < 0.5 ? ask() : chance < 0.9 ? `${ask()} ${ask()}` : 'I see.';
}

/** The words of a doctor in metadata.answer, after one of the training patients. */
export function drawTasks({ seed, count }: { readonly seed: number; readonly count: number }): readonly Task[] {
  const random = createRandom(deriveSeed(seed, 'judging'));
  return drawPatients('training', { seed, count }).map((task) => ({
    ...task,
    metadata: { answer: Array.from({ length: 3 }, () => drawTurn(random)).join('\n') },
  }));
}

/** Asks the tuned model through the judge, with the judge's own messages. */
export async function judgeAnswer(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const model = asModel(tuner, { agentName: 'judge' });
  const client: ModelClient = {
    ask: async ({ messages, schema }) => {
      const responseFormat = schema === undefined ? undefined : ({ type: 'json_schema', ...schema } as const);
      const request = { messages, ...(responseFormat !== undefined && { responseFormat }) };
      const { message, usage, finishReason } = await model.generate(request, { signal: tuner.signal });
      return { text: message.content, finishReason, ...usage };
    },
  };
  const judge = createLlmJudge(client, {
    rubric,
    scale,
    maxTokens,
    referenceField: null,
    votes: 1,
    temperature: 0,
    successFrom: 1,
    outputField: 'answer',
    agent: null,
    onOutage: 'drop',
  });
  const context = { episodeId: 'e', signal: tuner.signal, seed: 1, transcripts: [], environment: null };
  const { reward, isSuccess } = await judge.judge(task, { metadata: task.metadata }, context);
  return { reward, isSuccess };
}
