import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Task } from '@agentjet/core';
import { startEndpointServer, type EndpointServer } from '@agentjet/endpoint';
import type { OpenSession } from '@agentjet/rollout/inputs';
import type { Tuner } from '@agentjet/rollout';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { createInsideWorkflow, createProgramWorkflow } from '@agentjet/swarm-client';
import { openBench, readTasks } from '../play.js';

/** The same agent with the same model, on this machine and inside of a box without a network. */

const agent = path.join(import.meta.dirname, 'agent.py');

export type Inside = {
  /** Whether both episodes have the same tokens, masks and logprobs. */
  readonly isEqual: boolean;
  readonly rewards: readonly number[];
  /** What a request with the key of another episode was answered. */
  readonly otherKey: string;
  /** Addresses of this machine that answered the box. */
  readonly answering: readonly string[];
};

export async function compareInside(): Promise<Inside> {
  const server = await startEndpointServer();
  try {
    const task = await findTask();
    const outside = await runOutside(server, task);
    const inside = await runInside(server, task);
    return { isEqual: inside.samples === outside.samples, ...inside.found };
  } finally {
    await server.close();
  }
}

async function findTask(): Promise<Task> {
  const task = (await readTasks()).find(({ taskId }) => taskId === 'without-network');
  if (task === undefined) throw new Error('The task without-network is missing.');
  return { ...task, mainQuery: 'Write the command.' };
}

/** The model answers with the command of the solution. What it prints is the same on every machine. */
const replies = ['echo lo > "$OUT/devices.txt" && echo written', 'It is done.'] as const;

/** Everything about the samples except the id of their episode. */
const samplesOf = ({ samples }: { readonly samples: readonly object[] }): string =>
  JSON.stringify(samples.map((sample) => ({ ...sample, episodeId: '' })));

async function runOutside(endpointHost: EndpointServer, task: Task) {
  const folder = mkdtempSync(path.join(tmpdir(), 'outside-'));
  try {
    const { tuner, finish } = openScriptedEpisode({ replies: [...replies], endpointHost, seed: 1 });
    const run = createProgramWorkflow({
      command: 'sh',
      args: ['-c', 'export OUT=$PWD; exec python3 "$0"', agent],
      folder,
    });
    await run(task, tuner);
    return { samples: samplesOf(finish()) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runInside(endpointHost: EndpointServer, task: Task) {
  const environment = openBench();
  const other = openScriptedEpisode({ replies: ['hello'], endpointHost });
  const { apiKey: otherKey } = other.tuner.asOpenAIEndpoint({ agentName: 'other' });
  const { tuner, finish } = openScriptedEpisode({ replies: [...replies], endpointHost, seed: 1 });
  const host = await listenEverywhere();
  const signal = new AbortController().signal;
  const session = await environment.open(task, { seed: 1, signal, episodeId: tuner.episodeId });
  try {
    const source = await readFile(agent, 'utf8');
    const run = createInsideWorkflow({
      command: 'sh',
      args: ['-c', 'export OUT=/app; exec python3 -c "$0"', source],
    });
    await run(task, { ...tuner, openEnvironment: async () => session as OpenSession } satisfies Tuner);
    const ports = await tryPorts(session as OpenSession, host);
    const said = await tryKey(session as OpenSession, { tuner, otherKey });
    const verdict = await session.evaluate?.();
    const found = { rewards: [verdict?.reward ?? Number.NaN], otherKey: said, answering: ports };
    return { samples: samplesOf(finish()), found };
  } finally {
    await session.close();
    other.end();
    host.close();
  }
}

/** A server of this machine that every network could reach. */
async function listenEverywhere(): Promise<Server> {
  const server = createServer((_request, response) => response.end('here'));
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  return server;
}

const outputOf = async (session: OpenSession, command: string): Promise<string> =>
  (await session.call('bash', { command })).text;

/** Returns the addresses of this machine at which its server answers the box. */
async function tryPorts(session: OpenSession, host: Server): Promise<readonly string[]> {
  const { port } = host.address() as AddressInfo;
  const addresses = Object.values(networkInterfaces()).flatMap((each = []) => each.map(({ address }) => address));
  const tries = [...addresses, '10.88.0.1', '172.17.0.1'].map(
    (address) => `(exec 3<>/dev/tcp/${address}/${port}) 2>/dev/null && echo "${address}"`,
  );
  const said = await outputOf(session, `${tries.join('; ')}; true`);
  return said.split('\n').filter((line) => line !== '');
}

/** Asks the model of this episode with the key of another one. */
async function tryKey(
  session: OpenSession,
  { tuner, otherKey }: { readonly tuner: Tuner; readonly otherKey: string },
): Promise<string> {
  const { baseUrl } = await session.connect(tuner.asOpenAIEndpoint({ agentName: 'agent' }));
  const port = new URL(baseUrl).port;
  const request = `GET /v1/models HTTP/1.1\\r\\nHost: m\\r\\nConnection: close\\r\\nAuthorization: Bearer ${otherKey}\\r\\n\\r\\n`;
  const said = await outputOf(session, `exec 3<>/dev/tcp/127.0.0.1/${port}; printf '${request}' >&3; cat <&3`);
  return /other_episode/.exec(said)?.[0] ?? said;
}
