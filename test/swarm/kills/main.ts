/**
 * `npm run swarm:kills -- --kills 20 [--policies 2] [--json]` kills real processes. Servers on LMDB and clients over
 * HTTP get SIGKILL at random moments, while the nano model is trained. The thread of the embedded engine is terminated
 * while its server continues (`kills.worker`). The torch worker is a process, which `test/swarm/torch-worker.test.ts`
 * kills. At the end, receipts, ledger and weights must agree, the weights to the last bit. The exit code is 1 if an
 * episode was lost or trained twice.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { killProcesses } from './kill-processes.js';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    policies: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const numKills = Number(values.kills);
if (!Number.isInteger(numKills) || numKills < 0) {
  throw new Error(`--kills is ${JSON.stringify(values.kills)}; it must be a whole number from 0.`);
}
if (values.policies !== '1' && values.policies !== '2') {
  throw new Error(`--policies is ${JSON.stringify(values.policies)}; it must be 1 or 2.`);
}
const numPolicies = values.policies === '2' ? 2 : 1;
const dir = await mkdtemp(path.join(tmpdir(), 'swarm-kills-'));
try {
  const report = await killProcesses(dir, { numKills, numTasks: 40 + 10 * numKills, numPolicies });
  console.log(JSON.stringify(report, null, values.json ? 0 : 2));
  process.exitCode = report.lost + report.doubled === 0 ? 0 : 1;
} finally {
  await rm(dir, { recursive: true, force: true });
}
