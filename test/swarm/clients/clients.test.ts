import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { configuration } from 'agentjet';
import { serveSwarm, type ServedSwarm } from '@agentjet/swarm-server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientCases, policyCases } from './client-cases.js';
import type { ClientDriver, DriverOptions } from './client-driver.js';
import { createCurlDriver, hasCurl } from './curl-driver.js';
import { createPythonDriver, noPython, python, pythonPath } from './python-driver.js';
import { createTypeScriptDriver } from './typescript-driver.js';

/**
 * One suite of cases for the clients in all languages, against real servers of the nano model: one with one policy, and
 * one with two.
 */

type Opened = { readonly swarm: ServedSwarm; readonly key: string };

let dir = '';
const opened = new Map<string, Opened>();

const tasks = Array.from({ length: 6 }, (_none, index) => ({
  taskId: `täsk-${index}`,
  mainQuery: `What is ${index} + 1? 🙂`,
  metadata: { z: [index, null, 'é'], a: { answer: `${index + 1}`, deep: { y: true, b: 0.5 } } },
}));

/** Rows in the form of the protocol. The protocol's page defines their hash: that of JSON with sorted keys. */
const rows = {
  tasks: tasks.map(({ taskId, mainQuery, metadata: { z, a } }, index) => {
    const { answer, deep } = a;
    const sorted = {
      init_messages: [],
      main_query: mainQuery,
      metadata: { a: { answer, deep: { b: deep.b, y: deep.y } }, z },
      task_id: taskId,
    };
    return {
      task_id: taskId,
      index,
      hash: createHash('sha256').update(JSON.stringify(sorted)).digest('hex'),
      task: sorted,
    };
  }),
  total: tasks.length,
};

const policies = {
  solving: { trainableTargets: ['solver', 'second'] },
  checking: { trainableTargets: ['critic'] },
};

async function open(name: string, more: Parameters<typeof configuration.create>[0]): Promise<Opened> {
  const config = configuration.create({
    experimentDir: path.join(dir, name),
    model: { path: 'nano' },
    data: { trainBatchSize: 100 },
    rollout: { numRepeat: 2, maxResponseLengthInOneTurn: 4 },
    trainerCommon: { totalEpochs: 1 },
    onnx: { numThreads: 1 },
    ...more,
  });
  const swarm = await serveSwarm({ config, composition: configuration, port: 0, onNotice: () => undefined });
  return { swarm, key: swarm.server.firstKey ?? '' };
}

function find(name: string): Opened {
  const found = opened.get(name);
  if (found === undefined) throw new Error(`There is no server with ${name}.`);
  return found;
}

beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'swarm-clients-'));
  opened.set('one policy', await open('one', {}));
  opened.set('two policies', await open('two', { swarm: { policies } }));
  for (const { swarm, key } of opened.values()) {
    const response = await fetch(`${swarm.server.url}/swarm/v1/tasks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(rows),
    });
    expect(await response.json()).toEqual({ added: tasks.length, known: 0, total: tasks.length });
  }
});

afterAll(async () => {
  for (const { swarm } of opened.values()) await swarm.close();
  await rm(dir, { recursive: true, force: true });
});

const clients: readonly (readonly [string, (options: DriverOptions) => ClientDriver, string | undefined])[] = [
  ['TypeScript', createTypeScriptDriver, undefined],
  ['Python', createPythonDriver, noPython],
  ['curl', createCurlDriver, hasCurl ? undefined : 'curl is not installed'],
];

const suites = [
  ['one policy', clientCases],
  ['two policies', [...clientCases, ...policyCases]],
] as const;

describe.each(suites)('of a server with %s', (server, cases) => {
  describe.each(clients)('a client in %s', (language, create, reason) => {
    cases.forEach(({ name, check }, index) => {
      it(reason === undefined ? name : `${name} (skipped: ${reason})`, async (context) => {
        if (reason !== undefined) return context.skip(reason);
        const { swarm, key } = find(server);
        const openClient = (options: Partial<DriverOptions> = {}): ClientDriver =>
          create({ url: swarm.server.url, key, client: `${language}-${index}`, ...options });
        const client = openClient();
        try {
          return await check({ client, open: openClient, tasks, rows });
        } finally {
          await client.close();
        }
      });
    });
  });
});

it.skipIf(noPython !== undefined)(
  'a client in Python is refused with what is too large, and does not repeat it',
  async () => {
    const { swarm, key } = find('one policy');
    const client = createPythonDriver({ url: swarm.server.url, key, client: 'large' });
    const large = [{ taskId: 'large', mainQuery: 'x'.repeat(9_000_000), metadata: {} }];
    expect(await client.ask('add_tasks', { tasks: large, rows: {} })).toEqual({ error: 'too_large' });
    await client.close();
  },
);

it.skipIf(noPython !== undefined)('a workflow in Python runs all the tasks that are left', async () => {
  const { swarm, key } = find('one policy');
  const env = { ...process.env, PYTHONPATH: pythonPath, PYTHONDONTWRITEBYTECODE: '1', AJET_SWARM_KEY: key };
  const script = path.join(import.meta.dirname, 'run_sums.py');
  const { stdout, stderr } = await promisify(execFile)(python, [script, swarm.server.url], { env });
  const counts = JSON.parse(stdout) as {
    readonly completed: number;
    readonly failed: number;
    readonly outages: number;
  };
  expect(counts.failed).toBe(1);
  expect(counts.outages).toBe(1);
  expect(counts.completed).toBeGreaterThan(5);
  expect(stderr).toContain('the agent cannot count');
  expect(swarm.server.swarm?.describe()).toMatchObject({ running: 0 });
});
