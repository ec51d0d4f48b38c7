import { expect, it } from 'vitest';
import { describeServer } from './swarm-operate.js';

const server = {
  change: 1,
  wire: '1',
  state: 'failed',
  step: 3,
  version: 3,
  incarnation: 0,
  groups_open: 0,
  groups_pooled: 2,
  running: 0,
  capacity: 8,
  config_revision: 0,
  tasks: 4,
  account: {},
  dropped_by_reason: {},
} as const;

it('says why training has stopped, if it has', () => {
  const problem = 'The device is gone. Repair the cause; then "ajet swarm start" opens it again.';
  expect(describeServer({ ...server, problem })).toContain(problem);
  expect(describeServer(server)).toHaveLength(3);
});
