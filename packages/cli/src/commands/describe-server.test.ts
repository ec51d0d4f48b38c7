import { expect, it } from 'vitest';
import { serverAnswer } from '../testing/server-answer.js';
import { describeServer } from './describe-server.js';

const server = { ...serverAnswer, state: 'failed', groups_pooled: 2 } as const;

it('says why training has stopped, if it has', () => {
  const problem = 'The device is gone. Repair the cause; then "ajet swarm start" opens it again.';
  expect(describeServer({ ...server, problem })).toContain(problem);
  expect(describeServer(server)).toHaveLength(3);
});

it('says what the next step waits for, since when, and what the newest step brought', () => {
  const waits_for = { reason: 'groups', text: 'Step 4 waits for 3 more groups.', since_seconds: 80 } as const;
  const newest_step = { step: 3, episodes: 8, reward: 0.5, success: 0.25, seconds: 12, age_seconds: 3700 };
  const places = { filled: 2, total: 8 };
  const progress = { waits_for, newest_step, places };
  const nowMs = new Date(2026, 10, 27, 17, 20, 30).getTime();
  const said = [
    'Step 4 waits for 3 more groups. (for 1 min 20 s, since 17:19:10)',
    '2 of 8 places filled',
    'step 3: reward 0.500, success 25%, 8 episodes, made in 12 s, 1 h 1 min ago',
  ];
  const lines = describeServer({ ...serverAnswer, ...progress, run: 'lake', uptime_seconds: 59.9, clients: 1 }, nowMs);
  expect(lines).toEqual(expect.arrayContaining(['run lake, up 59 s, 1 client', ...said]));

  const policy = { ...serverAnswer, state: 'waiting' as const, gate_wait_seconds: 0, ...progress };
  const { change: _change, wire: _wire, running: _running, capacity: _capacity, ...own } = policy;
  const { config_revision: _revision, tasks: _tasks, ...worker } = own;
  const ofPolicies = describeServer({ ...serverAnswer, policies: { worker } }, nowMs);
  for (const line of said) expect(ofPolicies).toContain(`        ${line}`);
});
