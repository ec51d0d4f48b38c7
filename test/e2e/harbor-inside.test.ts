import { spawnSync } from 'node:child_process';
import { findWorkingEngine } from '@agentjet/sandbox/boxes';
import { describe, expect } from 'vitest';
import { compareInside } from '../bench/harbor/inside/compare.js';
import { openBench, playTask, readTasks } from '../bench/harbor/play.js';
import { longIt } from '../long-tests.js';

const problem = process.env['AJET_LONG_TESTS'] === '1' ? await findProblem() : 'these are long tests';

/** Says why no box can be opened here. */
async function findProblem(): Promise<string | null> {
  const engine = await findWorkingEngine();
  if (typeof engine === 'string') return engine;
  const { status } = spawnSync(engine.program, ['run', '--rm', 'localhost/ajet-base:1', 'true']);
  return status === 0 ? null : 'the image localhost/ajet-base:1 is missing';
}

describe.skipIf(problem !== null)(`a program in a box${problem === null ? '' : ` (skipped: ${problem})`}`, () => {
  longIt('trains token for token as outside, and reaches only its own model', async () => {
    expect(await compareInside()).toEqual({ isEqual: true, rewards: [1], otherKey: 'other_episode', answering: [] });
  });

  longIt('has tool servers, whose tools an agent outside of the box can call', async () => {
    const task = (await readTasks()).find(({ taskId }) => taskId === 'tool-servers');
    if (task === undefined) throw new Error('The task tool-servers is missing.');
    const said: string[] = [];
    const verdict = await playTask(openBench(), task, async (session) => {
      expect(session.tools.map(({ name }) => name)).toEqual([
        'bash',
        'read',
        'write',
        'mcp__desk__word',
        'mcp__clock__number',
      ]);
      for (const tool of ['mcp__desk__word', 'mcp__clock__number'])
        said.push((await session.call?.(tool, {}))?.text ?? '');
      await session.call?.('write', { path: '/app/answer.txt', content: `${said.join('\n')}\n` });
    });
    expect([said, verdict.reward]).toEqual([['marzipan', '4711'], 1]);
  });
});
