import { expect, it } from 'vitest';
import { serverAnswer } from '../testing/server-answer.js';
import { describeServer } from './swarm-operate.js';

const server = { ...serverAnswer, state: 'failed', groups_pooled: 2 } as const;

it('says why training has stopped, if it has', () => {
  const problem = 'The device is gone. Repair the cause; then "ajet swarm start" opens it again.';
  expect(describeServer({ ...server, problem })).toContain(problem);
  expect(describeServer(server)).toHaveLength(3);
});
