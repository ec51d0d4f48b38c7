import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigError, sectionOf, type CommonConfig } from '@agentjet/core';
import { readerCases } from '@agentjet/rollout/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CounterWorld, noFaults, startAgentjetWorld, type WorldServer } from '../testing.js';
import { environments } from '../registrations.js';
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

it.each([
  ['agentjet', 'environment.agentjet.url'],
  ['openenv', 'environment.openenv.url'],
  ['mcp', 'environment.mcp.url'],
  ['appworld', 'environment.appworld.urls'],
] as const)('names the keys of an address at which no server is, over %s', async (protocol, key) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const url = `http://127.0.0.1:${port}`;
  const entry = environments.find(({ name }) => name === protocol);
  const address = protocol === 'appworld' ? { urls: [url] } : { url };
  const defaults = sectionOf(config, 'environments', entry as never);
  const environment = await entry?.open({ ...defaults, ...address } as never, { config });
  const task = { taskId: 'a', mainQuery: '', initMessages: [], metadata: {} };
  const { signal } = new AbortController();
  const opening = environment?.open(task, { seed: 1, signal, episodeId: 'e' });
  await expect(opening).rejects.toThrow(`Start the server, or correct its address: ${key}, or task_reader.env_service`);
});

it('refuses what is not an address', async () => {
  const opening = (async () => envService.open({ ...section, envUrl: 'localhost:8080' }, { config }))();
  await expect(opening).rejects.toThrow(/environment\.agentjet\.url is "localhost:8080"/);
});
