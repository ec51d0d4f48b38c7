import type { ServerAnswer } from '@agentjet/swarm-client';

/** The answer of a server that has nothing to do. */
export const serverAnswer: ServerAnswer = {
  change: 1,
  wire: '1',
  state: 'rolling',
  step: 3,
  version: 3,
  incarnation: 0,
  groups_open: 0,
  groups_pooled: 0,
  running: 0,
  capacity: 8,
  config_revision: 0,
  tasks: 4,
  account: {},
  dropped_by_reason: {},
};
