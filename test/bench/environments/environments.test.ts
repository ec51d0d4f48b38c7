import { startAgentjetWorld, startMcpWorld, startOpenenvWorld } from '@agentjet/environments/testing';
import { expect, it } from 'vitest';
import { benchProtocol } from './bench.js';

it.each([
  ['agentjet', startAgentjetWorld],
  ['openenv', startOpenenvWorld],
  ['mcp', startMcpWorld],
])('%s leaves no session open and applies no step twice, in whole episodes with faults', async (_protocol, start) => {
  const { summary, details } = await benchProtocol(start, { sessions: 12, seed: 5 });
  expect(summary).toMatchObject({ leaked: 0, steps_twice: 0 });
  expect(details.completed).toBeGreaterThan(0);
  expect(details.completed + details.outage + details.failed).toBe(12);
});
