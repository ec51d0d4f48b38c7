import path from 'node:path';
import { makeEnvironment, pythonOf } from '../../.ci/python-environment.mjs';
import { root } from '../../.ci/workspaces.mjs';
import type { NightlyJob } from './nightly-job.js';
import { runGate } from './run-gate.js';

const folder = path.join(root, 'tutorial/math-agent/reasoning-gym');

/** Trains the math agent on families of problems of reasoning-gym, which is installed for it. */
export const run: NightlyJob['run'] = async (keep) => {
  const problem = makeEnvironment(folder);
  if (problem !== undefined) return { passed: false, summary: problem, details: { ran: false } };
  return runGate(['--only', 'reasoning-gym'], { env: { REASONING_GYM_PYTHON: pythonOf(folder) }, keep });
};
