// This file is loaded before a command. When the command ends, it prints the CPU seconds of the main thread. Linux
// counts them in ticks of 10 ms.
import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

if (isMainThread)
  process.on('exit', () => {
    const stat = readFileSync(`/proc/self/task/${process.pid}/stat`, 'utf8');
    const [user = 0, system = 0] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14).map(Number);
    process.stderr.write(`main thread ${(user + system) / 100}`);
  });
