/** The number of episodes at the same time before a faster number has been measured. */
const unmeasured = 64;

/** Returns how many episodes run at the same time at first. */
export function firstWorkers({ maxEnvWorker }: { readonly maxEnvWorker: number | 'auto' }): number {
  return maxEnvWorker === 'auto' ? unmeasured : maxEnvWorker;
}
