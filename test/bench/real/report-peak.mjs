// This file is loaded into a program with --import. It writes the program's largest resident memory, in bytes, to the file PEAK_REPORT.
import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  process.on('exit', () => writeFileSync(process.env.PEAK_REPORT, String(process.resourceUsage().maxRSS * 1024)));
}
