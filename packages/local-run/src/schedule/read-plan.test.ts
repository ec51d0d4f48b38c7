import type { Task } from '@agentjet/core';
import { expect, it } from 'vitest';
import type { JobEvent } from '@agentjet/records';
import { createConfig } from '@agentjet/inputs/testing';
import { readPlan } from './read-plan.js';

const task: Task = { taskId: 'a', mainQuery: '1 + 1?', initMessages: [], metadata: {} };

async function eventsOf(testFreq: number, evaluationTasks: readonly Task[]): Promise<readonly JobEvent[]> {
  const reader = {
    async *trainingTasks() {
      yield task;
    },
    async *evaluationTasks() {
      yield* evaluationTasks;
    },
  };
  const events: JobEvent[] = [];
  await readPlan(createConfig({ trainerCommon: { testFreq } }), reader, (event) => void events.push(event));
  return events;
}

it('says that evaluations were asked for and there is nothing to evaluate', async () => {
  expect(await eventsOf(5, [])).toEqual([
    {
      type: 'notice',
      message: expect.stringMatching(/^trainer_common\.test_freq is 5, but there are no evaluation tasks/),
    },
  ]);
});

it('keeps quiet if there are evaluation tasks, or nobody asked for evaluations between the steps', async () => {
  expect(await eventsOf(5, [task])).toEqual([]);
  expect(await eventsOf(0, [])).toEqual([]);
});
