import { describe, it } from 'vitest';
import type { RequestKind } from './testing/faults.js';
import {
  attackCases,
  startAgentjetWorld,
  startAppworldWorld,
  startMcpWorld,
  startOpenenvWorld,
  type StartWorld,
} from './testing.js';

type Remote = {
  readonly start: StartWorld;
  readonly asked: readonly RequestKind[];
  readonly named: readonly RequestKind[];
};

const all = ['open', 'act', 'evaluate'] as const;
const remotes: Readonly<Record<string, Remote>> = {
  agentjet: { start: startAgentjetWorld, asked: all, named: ['open', 'act'] },
  openenv: { start: startOpenenvWorld, asked: ['open', 'act'], named: ['open', 'act'] }, // it has no request for the verdict
  mcp: { start: startMcpWorld, asked: all, named: all },
  appworld: { start: startAppworldWorld(2), asked: all, named: ['open'] },
};

describe.each(Object.entries(remotes))('%s', (_protocol, { start, ...kinds }) => {
  // The cases of a server that drips run concurrently, because they only wait.
  for (const { name, run } of attackCases(start, kinds)) (name.includes('drip') ? it.concurrent : it)(name, run);
});
