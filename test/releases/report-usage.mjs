// This file is loaded into a program with --import. It writes what the program used to the file USAGE_REPORT: processor
// time in seconds of all threads, and the largest resident memory in bytes.
import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { readPeakMemory } from '@agentjet/run-folder';

if (isMainThread) {
  process.on('exit', () => {
    const { user, system } = process.cpuUsage();
    const usage = { cpuSeconds: (user + system) / 1e6, peakBytes: readPeakMemory() };
    writeFileSync(process.env.USAGE_REPORT, JSON.stringify(usage));
  });
}
