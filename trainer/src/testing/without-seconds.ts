import type { MetricsRecord } from '@agentjet/run-folder';

/** Returns the metrics without those that depend on the clock. */
export function withoutSeconds(metrics: readonly MetricsRecord[]): Record<string, number>[] {
  return metrics.map((record) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => !name.startsWith('seconds_'))),
  );
}
