import { describe, it } from 'vitest';
import {
  environmentCases,
  startAgentjetWorld,
  startAppworldWorld,
  startLocalWorld,
  startMcpWorld,
  startOpenenvWorld,
} from './testing.js';

const worlds = {
  'in process': startLocalWorld,
  agentjet: startAgentjetWorld,
  openenv: startOpenenvWorld,
  mcp: startMcpWorld,
  appworld: startAppworldWorld(8),
};

describe.each(Object.entries(worlds))('%s', (_protocol, start) => {
  for (const { name, run } of environmentCases(start)) it(name, run);
});
