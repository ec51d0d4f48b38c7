import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Task } from '@agentjet/core';
import { createHarborReader } from '@agentjet/environments/harbor';
import { afterAll, describe, expect, it } from 'vitest';
import { answer } from './large-model.js';

const here = import.meta.dirname;
const scratch = mkdtempSync(path.join(tmpdir(), 'repairs-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

async function readTasks(): Promise<readonly Task[]> {
  const options = { validation: null, unsupported: 'error', onNotice: () => undefined } as const;
  const tasks: Task[] = [];
  const reader = createHarborReader({ training: path.join(here, 'tasks'), ...options });
  for await (const task of reader.trainingTasks()) tasks.push(task);
  return tasks;
}

/** Runs a script of a task on a copy of the repository in the place of the container. */
function runScript(file: string, app: string): void {
  const verifier = path.join(app, 'logs');
  mkdirSync(verifier, { recursive: true });
  const script = readFileSync(path.join(here, 'tasks', file), 'utf8');
  execFileSync('sh', ['-c', script.replaceAll('/app/', `${app}/`).replaceAll('/logs/verifier', verifier)]);
}

function rewardOf(name: string, app: string): string {
  runScript(`${name}/tests/test.sh`, app);
  return readFileSync(path.join(app, 'logs', 'reward.txt'), 'utf8').trim();
}

describe.skipIf(process.platform === 'win32')('the ten repairs', () => {
  it('are paid for their solution, and not for doing nothing or for printing the number of the instruction', async () => {
    const tasks = await readTasks();
    expect(tasks).toHaveLength(10);
    for (const { taskId, mainQuery } of tasks) {
      const app = path.join(scratch, taskId);
      cpSync(path.join(here, 'repository'), app, { recursive: true });
      const [, numbers = '', printed, wanted] =
        new RegExp(`^sh ${taskId}.sh (\\d+ \\d+) prints (-?\\d+), not (\\d+)\\. Repair ${taskId}.sh\\.\\s*$`).exec(
          mainQuery,
        ) ?? [];
      const print = (): string =>
        execFileSync('sh', [path.join(app, `${taskId}.sh`), ...numbers.split(' ')]).toString();
      expect([print().trim(), rewardOf(taskId, app)]).toEqual([printed, '0']);
      execFileSync('sh', ['-c', `echo 'echo ${wanted}' > ${app}/${taskId}.sh`]);
      expect(rewardOf(taskId, app)).toBe('0');
      runScript(`${taskId}/solution/solve.sh`, app);
      expect([print().trim(), rewardOf(taskId, app)]).toEqual([wanted, '1']);
    }
  });
});

it('are tried by the large model in three commands, with a random operator', () => {
  const messages = [
    { role: 'system', content: 'You are a coder. Call the tools.' },
    { role: 'user', content: 'sh rest.sh 12 7 prints 19, not 5. Repair rest.sh.' },
  ];
  const commandOf = (results: readonly string[], seed: number): string =>
    JSON.stringify(answer({ messages: [...messages, ...results.map((content) => ({ role: 'tool', content }))], seed }));
  expect(commandOf([], 1)).toContain('cat rest.sh');
  const written = new Set(Array.from({ length: 20 }, (_, seed) => commandOf(['echo $(($1 + $2))'], seed)));
  expect(written.size).toBe(3);
  expect(commandOf(['echo $(($1 + $2))', ''], 1)).toContain('sh rest.sh 12 7');
  expect(commandOf(['echo $(($1 + $2))', '', '5'], 1)).toBe('{"content":"done"}');
});
