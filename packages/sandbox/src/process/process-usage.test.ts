import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { descendantsOf, measureUsage } from './process-usage.js';

it.skipIf(process.platform !== 'linux')(
  'finds the processes below another one, whether or not the kernel lists children',
  async () => {
    const child = spawn('sh', ['-c', 'sleep 60 & echo; wait']);
    await once(child.stdout, 'data');
    const pid = child.pid ?? 0;
    const pids = descendantsOf(pid, false);
    expect([pids.length, descendantsOf(pid)]).toEqual([2, pids]);
    const usage = measureUsage(pid, { folders: [], exactAboveBytes: 0, maxProcesses: 9 });
    expect(usage.tasks).toBe(2);
    expect(usage.memoryBytes).toBeGreaterThan(0);
    expect(measureUsage(pid, { folders: [], exactAboveBytes: 0, maxProcesses: 1 }).tasks).toBe(2);
    for (const each of pids) process.kill(each, 'SIGKILL');
  },
);
