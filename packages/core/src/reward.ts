/**
 * The largest reward that is trained, above or below 0. Advantages are 32-bit floats, and on a GPU so is the squared norm of their
 * gradient: an episode with such rewards for thousands of turns stays below what these hold.
 */
export const maxReward = 1e12;

/** Whether an episode may be rewarded with it. */
export const isReward = (value: unknown): value is number => typeof value === 'number' && Math.abs(value) <= maxReward;

/** What to say to somebody who gave another one. */
export const rewardRange = 'a finite number from -1e12 to 1e12';
