import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Task } from 'agentjet';
import { afterEach, expect, it } from 'vitest';
import { isForEvaluation, readFamilies } from './reasoning-gym.js';

const dir = mkdtempSync(path.join(tmpdir(), 'families-'));
const before = process.env['REASONING_GYM_PYTHON'];
afterEach(() => {
  if (before === undefined) delete process.env['REASONING_GYM_PYTHON'];
  else process.env['REASONING_GYM_PYTHON'] = before;
  rmSync(dir, { recursive: true, force: true });
});

/** Replaces Python by a program that runs this script. */
function use(script: string): void {
  const file = path.join(dir, 'python');
  writeFileSync(file, `#!/usr/bin/env node\n${script}\n`);
  chmodSync(file, 0o755);
  process.env['REASONING_GYM_PYTHON'] = file;
}

async function collect(tasks: AsyncIterable<Task> | Iterable<Task> | undefined): Promise<readonly Task[]> {
  const collected: Task[] = [];
  for await (const task of tasks ?? []) collected.push(task);
  return collected;
}

it.skipIf(process.platform === 'win32')(
  'divides the tasks of a family by their text, and says what to install if there are none',
  async () => {
    use(`const [, , , family, size, settings] = process.argv;
for (let at = 0; at < Number(size); at++)
  console.log(JSON.stringify({ question: family + settings + at, answer: String(at), metadata: {} }));`);
    const reader = readFamilies([{ name: 'sums', settings: { terms: 2 } }], 40);
    const [training, evaluation] = [await collect(reader.trainingTasks()), await collect(reader.evaluationTasks?.())];
    expect(training.length + evaluation.length).toBe(40);
    expect(evaluation.length).toBeGreaterThan(0);
    for (const { mainQuery } of evaluation) expect(isForEvaluation(mainQuery)).toBe(true);
    expect(training[0]).toMatchObject({ taskId: 'sums-0', mainQuery: 'sums{"terms":2}0', metadata: { answer: 0 } });
    use('process.exit(1)');
    await expect(collect(readFamilies([{ name: 'sums', settings: {} }], 4).trainingTasks())).rejects.toThrow(
      'pip install reasoning-gym==0.1.25',
    );
  },
);
