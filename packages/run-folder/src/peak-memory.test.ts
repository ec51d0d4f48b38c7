import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { readPeakMemory } from './peak-memory.js';

const isLinux = process.platform === 'linux';

it('returns at least the memory that the process has now', () => {
  expect(readPeakMemory()).toBeGreaterThanOrEqual(process.memoryUsage.rss() * 0.9);
});

it.runIf(isLinux)('does not count the memory of the process that started this one', () => {
  const held = Buffer.alloc(400 * 2 ** 20, 1);
  const program = `import('${new URL('./peak-memory.ts', import.meta.url).href}').then(({ readPeakMemory }) => console.log(readPeakMemory()))`;
  const { stdout } = spawnSync(process.execPath, ['--import', 'tsx', '--eval', program], { encoding: 'utf8' });
  expect(Number(stdout)).toBeGreaterThan(2 ** 20);
  expect(Number(stdout)).toBeLessThan(held.length);
});
