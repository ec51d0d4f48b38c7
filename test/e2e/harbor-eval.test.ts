import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { findBoxEngine } from '@agentjet/sandbox/boxes';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { longIt } from '../long-tests.js';
import { createScratchFolder } from './support/job-folder.js';
import { runAjet } from './support/run-ajet.js';

/** The image that `test/bench/harbor/setup.sh` makes. */
const image = 'localhost/ajet-base:1';
const root = path.join(import.meta.dirname, '..', '..');
const isWanted = process.env['AJET_LONG_TESTS'] === '1';
const problem = isWanted ? findProblem() : 'these are long tests';

/** Says why no container of the image can run here: an engine that is installed may still be refused by the machine. */
function findProblem(): string | null {
  const engine = findBoxEngine();
  if (typeof engine === 'string') return engine;
  const { status, stderr } = spawnSync(engine.program, ['run', '--rm', image, 'true'], { encoding: 'utf8' });
  return status === 0 ? null : `${engine.name} does not run ${image}: ${stderr.trim().slice(0, 200)}`;
}

/** A model that solves shared-file with one command, and gives up on the other task. */
let server: Server;
let baseUrl: string;
beforeAll(async () => {
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (part: Buffer) => (text += part.toString()));
    request.on('end', () => {
      const { messages } = JSON.parse(text) as { messages: readonly { role: string; content: string }[] };
      const isFirst = messages.at(-1)?.role === 'user' && messages.at(-1)?.content.includes('hello.txt');
      const call = { name: 'bash', arguments: JSON.stringify({ command: 'echo hello > /app/hello.txt' }) };
      const message = isFirst
        ? { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: call }] }
        : { role: 'assistant', content: 'done' };
      const finish = isFirst ? 'tool_calls' : 'stop';
      response.end(JSON.stringify({ choices: [{ message, finish_reason: finish }], usage: {} }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => server.close());

describe.skipIf(problem !== null)(`tasks of Harbor${problem === null ? '' : ` (skipped: ${problem})`}`, () => {
  longIt('are scored for a hosted model: success with its interval, pass@k, by task', async () => {
    const folder = createScratchFolder();
    for (const task of ['shared-file', 'separate-copy'])
      cpSync(path.join(root, 'test/bench/harbor/tasks', task), path.join(folder, 'tasks', task), { recursive: true });
    mkdirSync(folder, { recursive: true });
    const yaml = `
ajet:
  rollout: { user_workflow: '${root}/examples/harbor-agent.ts->work' }
  task_reader: { type: harbor, harbor: { validation: { folder: ./tasks } } }
  environment: { protocol: harbor }
  task_judge: { judge_type: environment }
  trainer_common: { val_pass_n: 2 }
`;
    writeFileSync(path.join(folder, 'job.yaml'), yaml);
    const hosted = ['--backbone=debug', `debug.base_url=${baseUrl}`, 'debug.api_key=k', 'debug.model=m'];
    const { stdout, stderr } = await runAjet(folder, ['eval', '--conf', 'job.yaml', '--json', ...hosted]);
    expect(stdout, stderr).not.toBe('');
    const result = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<string, unknown>;
    expect(result, stderr).toMatchObject({
      success: 0.5,
      success_interval: [expect.any(Number), expect.any(Number)],
      pass_at_2: 0.5,
      all_pass: 0.5,
      episodes: 4,
      failed_episodes: 0,
      tasks: [
        { task_id: 'separate-copy', successes: 0, trials: 2 },
        { task_id: 'shared-file', successes: 2, trials: 2 },
      ],
    });
  });
});
