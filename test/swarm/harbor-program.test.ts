import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Outage, type Task } from '@agentjet/core';
import { startEndpointServer, type EndpointServer } from '@agentjet/endpoint';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { createProgramWorkflow } from '@agentjet/swarm-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { longIt } from '../long-tests.js';

/** Harbor as the program of an episode: `ajet swarm run --reward ... -- harbor trial start ...`. */

const dir = mkdtempSync(path.join(tmpdir(), 'harbor-program-'));
const root = path.join(import.meta.dirname, '..', '..');
const rewardCommand = `"${process.execPath}" "${path.join(root, 'examples', 'read-harbor-reward.mjs')}"`;
let server: EndpointServer;
beforeAll(async () => {
  server = await startEndpointServer();
});
afterAll(async () => {
  await server.close();
  rmSync(dir, { recursive: true, force: true });
});

const trial = ['trial', 'start', '-p', path.join(root, 'test/bench/harbor/tasks', '{task_id}')];
const where = ['--trial-name', 't', '--trials-dir', 'trials'];
const task: Task = { taskId: 'shared-file', mainQuery: '', initMessages: [], metadata: {} };

/** Runs a program that leaves a result in the place of Harbor. */
async function runHarbor(result: unknown) {
  const file = path.join(mkdtempSync(path.join(dir, 'p-')), 'harbor.mjs');
  writeFileSync(
    file,
    `import { mkdirSync, writeFileSync } from 'node:fs';
     const at = (name) => process.argv[process.argv.indexOf(name) + 1];
     if (!at('-p').endsWith('shared-file') || !process.env.OPENAI_BASE_URL) process.exit(9);
     const folder = at('--trials-dir') + '/' + at('--trial-name');
     mkdirSync(folder, { recursive: true });
     writeFileSync(folder + '/result.json', ${JSON.stringify(JSON.stringify(result))});`,
  );
  const folder = mkdtempSync(path.join(dir, 'work-'));
  const options = { command: process.execPath, args: [file, ...trial, ...where], folder, reward: rewardCommand };
  const { tuner } = openScriptedEpisode({ replies: [], endpointHost: server });
  return createProgramWorkflow(options)(task, tuner);
}

describe.skipIf(process.platform === 'win32')('a trial of Harbor', () => {
  it.each([
    [{ reward: 1 }, { reward: 1, isSuccess: true }],
    [{ reward: 0 }, { reward: 0, isSuccess: false }],
    [
      { tests: 1, style: 0.5 },
      { reward: 0.75, isSuccess: false },
    ],
  ])('with the rewards %j pays %j', async (rewards, output) => {
    const result = {
      task_name: 'a',
      verifier_result: { rewards },
      exception_info: { exception_type: 'AgentTimeoutError' },
    };
    expect(await runHarbor(result)).toMatchObject(output);
  });

  it('without a verdict is an outage, although Harbor ends with 0', async () => {
    const result = { verifier_result: null, exception_info: { exception_type: 'RewardFileNotFoundError' } };
    const running = runHarbor(result);
    await expect(running).rejects.toThrow('The trial has no reward: RewardFileNotFoundError.');
    await expect(running).rejects.toBeInstanceOf(Outage);
  });

  const harbor = process.env['AJET_HARBOR'] ?? '';
  const harborIt = existsSync(harbor) ? longIt : it.skip;
  harborIt('is run by Harbor itself, if AJET_HARBOR names it and podman has the image of the task', async () => {
    process.env['PATH'] = `${path.dirname(harbor)}${path.delimiter}${process.env['PATH']}`;
    const folder = mkdtempSync(path.join(dir, 'work-'));
    const args = [...trial, '-a', 'oracle', '-e', 'podman', ...where];
    const { tuner } = openScriptedEpisode({ replies: [], endpointHost: server });
    const run = createProgramWorkflow({ command: harbor, args, folder, reward: rewardCommand });
    expect(await run(task, tuner)).toMatchObject({ reward: 1, isSuccess: true });
  });
});
