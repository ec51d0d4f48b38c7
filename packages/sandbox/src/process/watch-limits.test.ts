import { spawn } from 'node:child_process';
import { expect, it } from 'vitest';
import { exitOf } from './watch-limits.js';

it('reports an exit although another process keeps the pipes open', async () => {
  const child = spawn('bash', ['-c', 'sleep 60 & echo $!; exit 3']);
  let orphan = '';
  child.stdout.on('data', (text: Buffer) => (orphan += text.toString()));
  expect(await exitOf(child)).toEqual({ status: 3, signal: null, failure: null });
  process.kill(Number(orphan));
});
