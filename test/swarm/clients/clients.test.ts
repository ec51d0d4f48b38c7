import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { configuration } from 'agentjet';
import { serveSwarm, type ServedSwarm } from '@agentjet/swarm-server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientCases } from './client-cases.js';
import type { ClientDriver, DriverOptions } from './client-driver.js';
import { createCurlDriver, hasCurl } from './curl-driver.js';
import { createPythonDriver, noPython, python, pythonPath } from './python-driver.js';
import { createTypeScriptDriver } from './typescript-driver.js';

/** One suite of cases for the clients in all languages, against one real server of the nano model. */

let dir = '';
let swarm: ServedSwarm;
let key = '';

const tasks = Array.from({ length: 6 }, (_none, index) => ({
  taskId: `täsk-${index}`,
  mainQuery: `What is ${index} + 1? 🙂`,
  metadata: { z: [index, null, 'é'], a: { answer: `${index + 1}`, deep: { y: true, b: 0.5 } } },
}));

/** As the wire has them, and the hash as the page of the protocol says it: JSON with sorted keys. */
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

beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'swarm-clients-'));
  const config = configuration.create({
    experimentDir: dir,
    model: { path: 'nano' },
    data: { trainBatchSize: 100 },
    rollout: { numRepeat: 2, maxResponseLengthInOneTurn: 4 },
    trainerCommon: { totalEpochs: 1 },
    onnx: { numThreads: 1 },
  });
  swarm = await serveSwarm({ config, composition: configuration, port: 0, onNotice: () => undefined });
  key = swarm.server.firstKey ?? '';
  const response = await fetch(`${swarm.server.url}/swarm/v1/tasks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(rows),
  });
  expect(await response.json()).toEqual({ added: tasks.length, known: 0, total: tasks.length });
});

afterAll(async () => {
  await swarm?.close();
  await rm(dir, { recursive: true, force: true });
});

const clients: readonly (readonly [string, (options: DriverOptions) => ClientDriver, string | undefined])[] = [
  ['TypeScript', createTypeScriptDriver, undefined],
  ['Python', createPythonDriver, noPython],
  ['curl', createCurlDriver, hasCurl ? undefined : 'curl is not installed'],
];

describe.each(clients)('a client in %s', (language, create, reason) => {
  clientCases.forEach(({ name, check }, index) => {
    it(reason === undefined ? name : `${name} (skipped: ${reason})`, async (context) => {
      if (reason !== undefined) return context.skip(reason);
      const open = (options: Partial<DriverOptions> = {}): ClientDriver =>
        create({ url: swarm.server.url, key, client: `${language}-${index}`, ...options });
      const client = open();
      try {
        return await check({ client, open, tasks, rows });
      } finally {
        await client.close();
      }
    });
  });
});

it.skipIf(noPython !== undefined)('a workflow in Python runs all the tasks that are left', async () => {
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
