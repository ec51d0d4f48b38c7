import type { Task } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { collectTasks } from './collect-tasks.js';

describe('collectTasks', () => {
  async function* count(limit: number): AsyncGenerator<Task> {
    for (let index = 0; index < limit; index++)
      yield { taskId: String(index), mainQuery: '', initMessages: [], metadata: {} };
  }

  it('takes a list whole, however few tasks are needed', async () => {
    expect(await collectTasks(count(500), 5)).toHaveLength(500);
  });

  it('draws from an endless source only what is needed', async () => {
    expect(await collectTasks(count(Infinity), 12_000)).toHaveLength(12_000);
  });

  it('says what to do about an endless source without a number of steps', async () => {
    await expect(collectTasks(count(Infinity), null)).rejects.toThrow(/total_training_steps/);
  });
});
