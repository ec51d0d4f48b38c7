import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readAvailableMemory } from './available-memory.js';

const gib = 2 ** 30;
let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'ajet-memory-'));
  write({ 'proc/meminfo': `MemTotal: ${32 * 2 ** 20} kB\nMemFree: 1 kB\nMemAvailable:   ${20 * 2 ** 20} kB\n` });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(files: Readonly<Record<string, string | number>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), `${text}\n`);
  }
}
const read = () => readAvailableMemory({ root, platform: 'linux', ownBytes: gib });

it('is what Linux calls available, and what this process holds already', () => {
  expect(read()).toEqual({ bytes: 21 * gib, limitedBy: 'machine' });
});

it('is what a container leaves, without the file cache that it gives back (cgroup 2)', () => {
  write({
    'proc/self/cgroup': '0::/',
    'sys/fs/cgroup/memory.max': 8 * gib,
    'sys/fs/cgroup/memory.current': 5 * gib,
    'sys/fs/cgroup/memory.stat': `anon 1\ninactive_file ${2 * gib}\nactive_file 7`,
  });
  expect(read()).toEqual({ bytes: 6 * gib, limitedBy: 'container' });
});

it('is the least of all groups around the process', () => {
  write({
    'proc/self/cgroup': '0::/user.slice/job.scope',
    'sys/fs/cgroup/user.slice/job.scope/memory.max': 'max',
    'sys/fs/cgroup/user.slice/memory.max': 4 * gib,
    'sys/fs/cgroup/user.slice/memory.current': gib,
  });
  expect(read()).toEqual({ bytes: 4 * gib, limitedBy: 'container' });
});

it('is what a container leaves (cgroup 1), also if its path is that of the host', () => {
  write({
    'proc/self/cgroup': '5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/docker/abc',
    'sys/fs/cgroup/memory/memory.limit_in_bytes': 3 * gib,
    'sys/fs/cgroup/memory/memory.usage_in_bytes': 2 * gib,
    'sys/fs/cgroup/memory/memory.stat': `total_inactive_file ${gib}`,
  });
  expect(read()).toEqual({ bytes: 3 * gib, limitedBy: 'container' });
});

it('takes the system at its word elsewhere, but not macOS', () => {
  const sources = { root, freeBytes: 2 * gib, totalBytes: 20 * gib, ownBytes: 0 };
  expect(readAvailableMemory({ ...sources, platform: 'win32' }).bytes).toBe(2 * gib);
  expect(readAvailableMemory({ ...sources, platform: 'darwin' }).bytes).toBe(16 * gib);
});
