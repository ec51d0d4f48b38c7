import { CounterWorld, noFaults, startAppworldWorld } from '@agentjet/environments/testing';
import { createEnvironmentJudge } from '@agentjet/judges';
import { runEpisode } from '@agentjet/rollout';
import { createScriptedEngine } from '@agentjet/rollout/testing';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import type { Environment } from 'agentjet';
import { expect, it } from 'vitest';
import { readCode } from './agent.js';
import { drawTasks, type Job, splitOf } from './jobs.js';
import { office } from './office-world.js';
import { doJob } from './office-workflow.js';

const before = {
  contacts: [
    { name: 'Ann', mail: 'oak47', account: 9035 },
    { name: 'Bo', mail: 'elm12', account: 1234 },
  ],
  meetings: [{ id: 31, name: 'Ann', day: 'Monday' }],
  sent: [],
  paid: [],
};
const after = { ...before, paid: [{ account: 9035, amount: 25 }] };
const task = {
  taskId: 'a',
  mainQuery: 'Pay Ann 25.',
  initMessages: [],
  metadata: { kind: 'pay', person: 'Ann', before, after } satisfies Job,
};

const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('qwen3'));
const judge = createEnvironmentJudge({ scale: 1, successBonus: 0, successFrom: null });

/** The agent says `replies`, one after another. */
async function work(environment: Environment, ...replies: readonly string[]) {
  const engine = createScriptedEngine({ replies, chatTokenizer });
  const episode = await runEpisode(
    task,
    {
      workflow: doJob,
      judge,
      policy: { kind: 'engine', engine, chatTokenizer },
      sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 10_000 },
      environment: { environment, openTimeoutMs: 60_000, callTimeoutMs: 60_000 },
      timeoutMs: 60_000,
    },
    { episodeId: 'e', seed: 1, repeatIndex: 0 },
  );
  return { episode, seen: engine.requests.map(({ text }) => text) };
}

it('shows the agent what its code gave, and compares the state of the apps', async () => {
  const { episode, seen } = await work(office, 'contacts.find("Ann")', 'bank.pay(9035, 25)', 'done()');
  expect(episode).toMatchObject({ status: 'completed', reward: 1, isSuccess: true });
  expect(seen[1]).toContain('{"name":"Ann","mail":"oak47","account":9035}');
  expect(seen[2]).toContain('ok');
  expect(seen).toHaveLength(3);
});

it('takes a whole program in a block, too', async () => {
  const program = '```js\nconst { account } = contacts.find("Ann");\nbank.pay(account, 25);\ndone();\n```';
  expect((await work(office, program)).episode).toMatchObject({ isSuccess: true });
});

it.each([
  ['what was not asked for', ['bank.pay(9035, 25)', 'calendar.cancel(31)', 'done()'], 1],
  ['the wrong account', ['bank.pay(1234, 25)', 'done()'], 1],
  ['nothing', ['done()'], 0],
  ['an own account', ['bank.pay(777, 25)', 'state.paid.push(1)', 'done()'], 0],
])('gives nothing for %s', async (_what, replies, wrong) => {
  const { episode } = await work(office, ...replies);
  expect(episode).toMatchObject({ reward: 0, isSuccess: false, parts: { wrong_change: wrong } });
});

it('shows the agent its mistakes, and code that never ends', async () => {
  const { seen } = await work(office, 'bank.pay(777, 25)', 'mail.sned()', 'done()');
  expect(seen[1]).toContain('there is no account 777');
  expect(seen[2]).toContain('TypeError');
  const { seen: endless, episode } = await work(office, 'bank.pay(9035, 25); for (;;);', 'done()');
  expect(endless[1]).toContain('reached its limit of time');
  expect(episode).toMatchObject({ isSuccess: false });
});

it('draws jobs that are not done yet, on the side that their words and contacts belong to', () => {
  for (const split of ['training', 'evaluation'] as const)
    for (const { mainQuery, metadata } of drawTasks(split, { seed: 1, count: 100 })) {
      const job = metadata as Job;
      expect(job.after).not.toEqual(job.before);
      expect(splitOf({ question: mainQuery, before: job.before })).toBe(split);
    }
});

it('does its job in AppWorld with the same workflow', async () => {
  const world = new CounterWorld();
  const { environment, close } = await startAppworldWorld(1)(world, noFaults);
  const { episode, seen } = await work(environment, ...['a', 'b', 'c', 'd', 'e'].map((name) => `print("${name}")`));
  await close();
  expect(episode).toMatchObject({ reward: 1, isSuccess: true });
  expect(seen[0]).toContain('apis.supervisor.complete_task()');
  expect(seen[1]).toContain('print("a") at 1');
  expect(world.open.size).toBe(0);
});

it('reads the code of an answer', () => {
  expect(readCode('I will look.\n```python\nprint(1)\n```\nDone.')).toBe('print(1)');
  expect(readCode(' done() ')).toBe('done()');
});
