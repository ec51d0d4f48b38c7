import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { readParents, watchLauncher } from './watch-launcher.js';

const env = { npm_command: 'exec' };

it('reports once that npx has ended before us', async () => {
  const seen = ['7 6', '7 6', '7 1', '1 0'];
  let last = '';
  const parents = (): string => (last = seen.shift() ?? last);
  const gone: string[] = [];
  const ended = new Promise<void>((resolve) => {
    watchLauncher(() => resolve(void gone.push('gone')), { env, parents, everyMs: 1 });
  });
  await ended;
  await sleep(20);
  expect(gone).toEqual(['gone']);
  expect(seen).toEqual(['1 0']);
});

it('a command that npx did not start is not watched', () => {
  const parents = (): string => {
    throw new Error('nothing is to be read');
  };
  watchLauncher(() => undefined, { env: { npm_command: 'run-script' }, parents })();
  watchLauncher(() => undefined, { env: {}, parents })();
});

it.skipIf(process.platform !== 'linux')('a shell between npx and us is seen through: its parent is read', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  try {
    expect(readParents(child.pid)).toBe(`${child.pid} ${process.pid}`);
    expect(readParents()).toMatch(new RegExp(`^${process.ppid} \\d+$`));
  } finally {
    const closed = new Promise((resolve) => child.once('close', resolve));
    child.kill();
    await closed;
  }
  expect(readParents(child.pid)).toBe(String(child.pid));
});
