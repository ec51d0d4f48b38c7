import { ConfigError, type CommonConfig } from '@agentjet/core';
import { readerCases } from '@agentjet/rollout/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CounterWorld, noFaults, startAgentjetWorld, type WorldServer } from '../testing.js';
import { envService } from './registration.js';

let server: WorldServer;
beforeAll(async () => {
  server = await startAgentjetWorld(new CounterWorld(), noFaults);
});
afterAll(() => server.close());

const config = {} as CommonConfig;
const section = {
  envUrl: null,
  protocol: 'agentjet',
  envType: 'counter',
  trainingSplit: 'train',
  validationSplit: 'dev',
} as const;

for (const { name, run } of readerCases(() =>
  envService.open({ ...section, envUrl: `http://${server.environment.name}` }, { config }),
))
  it(name, run);

it('takes its ids from the environment, and gives the environment to the run', async () => {
  const reader = await envService.open(section, { config, environment: server.environment });
  const ids: string[] = [];
  for await (const { taskId } of reader.trainingTasks()) ids.push(taskId);
  expect(ids).toEqual(['a', 'b', 'c']);
  expect(reader.environment).toBe(server.environment);
});

it.each([
  ['no environment', undefined, /Set task_reader\.env_service\.env_url/],
  ['one without tasks', { name: 'x', open: () => Promise.reject(new Error()) }, /x lists no tasks/],
])('says what to do about %s', async (_, environment, message) => {
  const opening = (async () => envService.open(section, { config, environment }))();
  await expect(opening).rejects.toThrow(ConfigError);
  await expect(opening).rejects.toThrow(message);
});

it('refuses what is not an address', async () => {
  const opening = (async () => envService.open({ ...section, envUrl: 'localhost:8080' }, { config }))();
  await expect(opening).rejects.toThrow(/environment\.agentjet\.url is "localhost:8080"/);
});
