/**
 * The largest request that one model call may make. A working agent stays far below these limits. Without them, a broken
 * agent could block the event loop that all episodes share for seconds.
 */
export const requestLimits = {
  messages: 4_096,
  tools: 1_024,
  /** Nested lists and objects in a request's body or in a tool's parameters. */
  depth: 128,
} as const;

/**
 * The largest absolute reward that is trained. Advantages are 32-bit floats, and so is the squared norm of their gradient on a
 * GPU: an episode with such rewards for thousands of turns stays below the limit of a float.
 */
export const maxReward = 1e12;

/** Returns whether a value may be the reward of an episode. */
export const isReward = (value: unknown): value is number => typeof value === 'number' && Math.abs(value) <= maxReward;

/** The expected range, for messages that refuse another value. */
export const rewardRange = 'a finite number from -1e12 to 1e12';
