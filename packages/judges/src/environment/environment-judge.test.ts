import type { CommonConfig, Task, Verdict } from '@agentjet/core';
import { expect, it } from 'vitest';
import { environment as registration } from './registration.js';

const task: Task = { taskId: 't', mainQuery: 'x', initMessages: [], metadata: {} };

async function ask(
  environment: Verdict | null,
  section = { scale: 1, successBonus: 0, successFrom: null as number | null },
) {
  const judge = await registration.open(section, { config: {} as CommonConfig });
  const context = { episodeId: 'e', signal: new AbortController().signal, seed: 1, transcripts: [], environment };
  return judge?.judge(task, {}, context);
}

it('passes on what the environment says', async () => {
  const verdict = { reward: 0.4, isSuccess: true, parts: { tests: 0.4 }, reason: 'nearly' };
  expect(await ask(verdict)).toEqual(verdict);
});

it("can score as the original's judge does", async () => {
  const original = { scale: 0.5, successBonus: 1, successFrom: 1 };
  expect(await ask({ reward: 0.4, isSuccess: true }, original)).toEqual({ reward: 0.2, isSuccess: false });
  expect(await ask({ reward: 1, isSuccess: false }, original)).toEqual({ reward: 1.5, isSuccess: true });
});

it('says what to do if the episode has no session', async () => {
  await expect(ask(null)).rejects.toThrow('Call tuner.openEnvironment(task)');
});
