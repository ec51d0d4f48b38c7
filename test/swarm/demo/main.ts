/**
 * `npm run swarm:demo [-- --json]`: one model learns two kinds of tasks with the episodes of three programs, while
 * faults happen. With --json the progress goes to stderr, and the last line of stdout is the result. It needs python3
 * and curl. The exit code is 1 if anything was lost, if a share learned too little, or if it took more than four
 * minutes.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { complaintsAbout, runDemo } from './run-demo.js';

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } });
const write = values.json ? console.error : console.log;

const python = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']).status === 0;
const missing = [
  ...(python ? [] : ['python3 of version 3.9 or newer']),
  ...['curl', 'bash'].filter((name) => spawnSync(name, ['--version']).status !== 0),
];
if (missing.length > 0) {
  console.error(`The demo needs ${missing.join(' and ')}, not found on the PATH. Install it and start again.`);
  process.exit(1);
}

const result = await runDemo(write);
if (values.json) console.log(JSON.stringify(result));
const complaints = complaintsAbout(result);
for (const complaint of complaints) console.error(complaint);
process.exitCode = complaints.length === 0 ? 0 : 1;
