import path from 'node:path';
import { makeEnvironment, pythonOf } from '../../.ci/python-environment.mjs';
import { root } from '../../.ci/workspaces.mjs';
import type { NightlyOutcome } from './nightly-job.js';
import { runGate } from './run-gate.js';

const folder = path.join(root, 'tutorial/02-math-agent/reasoning-gym');

/** The math agent on families of problems of reasoning-gym, which is installed for it. */
export async function run(): Promise<NightlyOutcome> {
  const problem = makeEnvironment(folder);
  if (problem !== undefined) return { passed: false, summary: problem, details: { ran: false } };
  return runGate(['--only', 'reasoning-gym'], { REASONING_GYM_PYTHON: pythonOf(folder) });
}
