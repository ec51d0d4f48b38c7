/** The closed list of reasons for dropping an episode. Every dropped episode has exactly one. */
export const dropReasons = [
  'lease_expired', // its client was silent for too long
  'abandoned', // its client gave it back
  'failed', // the agent failed, under a policy other than zero_reward
  'outage', // an outside service failed: network, quota, sandbox, judge
  'superseded', // a newer revision of the agent or reward replaced its group
  'stale', // its group was given up because of rollout.straggler_patience
  'too_long', // a sample is over the length limit
  'nothing_to_train', // it has no trained token
  'surplus', // the run ended before a batch needed it
  'group_expired', // its group could no longer become trainable
  'non_finite_gradient', // no optimizer step that contained it was applied
  'replay_mismatch', // its recorded calls do not rebuild the same tokens
  'machine_restarted', // the machine restarted while it was running
  'rewound', // a request sent training back to an earlier step
  'run_stopped', // the run was stopped
] as const;

export type DropReason = (typeof dropReasons)[number];

/** Reasons after which a place may be tried again, because its attempt was lost to an outage. */
const lost: ReadonlySet<DropReason> = new Set([
  'lease_expired',
  'abandoned',
  'outage',
  'replay_mismatch',
  'machine_restarted',
]);

export const isLost = (reason: DropReason): boolean => lost.has(reason);

/** Reasons after which a place is given up, because another attempt would be a second try for the agent. */
const final: ReadonlySet<DropReason> = new Set(['failed', 'too_long', 'nothing_to_train', 'non_finite_gradient']);

export const givesUpPlace = (reason: DropReason): boolean => final.has(reason);
