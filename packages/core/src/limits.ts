/**
 * The largest request that one call of a model may make. An agent that works stays far below them; without them a broken
 * agent could keep the one event loop that all episodes share busy for seconds.
 */
export const requestLimits = {
  messages: 4_096,
  tools: 1_024,
  /** Nested lists and objects, of a request's body or of a tool's parameters. */
  depth: 128,
} as const;

/**
 * The largest reward that is trained, above or below 0. Advantages are 32-bit floats, and on a GPU so is the squared norm of their
 * gradient: an episode with such rewards for thousands of turns stays below what these hold.
 */
export const maxReward = 1e12;

/** Whether an episode may be rewarded with it. */
export const isReward = (value: unknown): value is number => typeof value === 'number' && Math.abs(value) <= maxReward;

/** What to say to somebody who gave another one. */
export const rewardRange = 'a finite number from -1e12 to 1e12';
