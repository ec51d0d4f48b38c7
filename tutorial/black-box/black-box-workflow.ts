import path from 'node:path';
import { createProgramWorkflow } from '@agentjet/swarm-client';

/** An episode around the program, for commands that run workflows. Its reward is the judge's. */
export const code = createProgramWorkflow({
  command: process.execPath,
  args: [path.join(import.meta.dirname, 'coder.mjs'), '{query}'],
  reward: false,
});
