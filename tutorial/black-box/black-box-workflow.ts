import path from 'node:path';
import { createProgramWorkflow } from '@agentjet/swarm-client';

/** Runs the program as an episode, for commands that run workflows. The judge gives the reward. */
export const code = createProgramWorkflow({
  command: process.execPath,
  args: [path.join(import.meta.dirname, 'coder.mjs'), '{query}'],
  reward: false,
});
