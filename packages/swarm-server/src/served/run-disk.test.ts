import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { watchRunDisk } from './run-disk.js';

const mebibytes = 2 ** 20;

it('knows an error of a full disk, and waits for room for the largest checkpoint', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'run-disk-'));
  try {
    const checkpoint = path.join(dir, 'policies', 'one', 'checkpoints', 'step-2');
    mkdirSync(checkpoint, { recursive: true });
    writeFileSync(path.join(checkpoint, 'weights'), Buffer.alloc(4 * mebibytes));
    let free = 10;
    const readDisk = () => ({ bavail: free, bsize: mebibytes, blocks: 100 });
    const disk = watchRunDisk(dir, { readDisk });
    const full = Object.assign(new Error('write'), { code: 'ENOSPC' });
    expect(disk.problemOf(new Error('Cannot write metrics', { cause: full }))).toContain(`${dir} is full`);
    expect(disk.problemOf(new Error('The engine failed.'))).toBeUndefined();
    expect(disk.hasRoom()).toBe(false); // it needs 10 for other files, and 5 for a checkpoint
    free = 15;
    expect(disk.hasRoom()).toBe(true);
    free = 0;
    expect(disk.problemOf(new Error('The engine failed.'))).toContain('is full');
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
