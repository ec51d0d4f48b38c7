import type { Task } from '@agentjet/core';
import { it } from 'vitest';
import { createJudge } from '../judge.js';
import { judgeCases } from '../testing/judge-cases.js';

const task: Task = { taskId: 'a', mainQuery: '1 + 1?', initMessages: [], metadata: { answer: 2 } };
const said = (answer: number, reward: number) => ({ task, output: { metadata: { answer } }, reward });

/** A judge as users write it. */
class AnswerJudge {
  judge({ metadata }: Task, output: { readonly metadata?: Readonly<Record<string, unknown>> }) {
    return { reward: Number(output.metadata?.['answer'] === metadata['answer']), isSuccess: true };
  }
}

for (const { name, run } of judgeCases(() => createJudge(AnswerJudge, 'The judge'), [said(2, 1), said(3, 0)]))
  it(name, run);
