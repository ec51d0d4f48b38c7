// This file is loaded into a program with --import. It writes how much processor time the program used, in seconds of
// all threads, to the file CPU_REPORT.
import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  process.on('exit', () => {
    const { user, system } = process.cpuUsage();
    writeFileSync(process.env.CPU_REPORT, String((user + system) / 1e6));
  });
}
