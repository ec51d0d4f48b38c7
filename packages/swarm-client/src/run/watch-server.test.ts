import type { ServerAnswer } from '@agentjet/swarm-wire';
import { expect, it } from 'vitest';
import { systemClientHost } from '../host.js';
import { watchServer } from './watch-server.js';

const answer: ServerAnswer = {
  change: 1,
  wire: '1',
  state: 'rolling',
  step: 1,
  version: 1,
  incarnation: 0,
  groups_open: 0,
  groups_pooled: 0,
  running: 0,
  capacity: 1,
  config_revision: 0,
  tasks: 1,
  account: {},
  dropped_by_reason: {},
};
const policy = { step: 1, version: 1, incarnation: 0, groups_open: 0, groups_pooled: 0, gate_wait_seconds: 0 };
const worker = { ...policy, state: 'failed' as const, account: {}, dropped_by_reason: {} };

it('reports that one policy of several has stopped, though the server continues in the same version', async () => {
  const answers = [answer, answer, { ...answer, policies: { worker: { ...worker, problem: 'The device is gone.' } } }];
  const stop = new AbortController();
  const reported: ServerAnswer[] = [];
  let asked = 0;
  await watchServer({
    host: { ...systemClientHost, after: (_ms, run) => systemClientHost.after(0, run) },
    server: async () => {
      if (asked === 5) stop.abort();
      return answers[Math.min(asked++, 2)] ?? answer;
    },
    signal: stop.signal,
    onEvent: (event) => void (event.type === 'server' && reported.push(event.server)),
  });
  expect(reported).toEqual([answers[0], answers[2]]);
});
