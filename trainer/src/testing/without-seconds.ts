import type { MetricsRecord } from '@agentjet/run-folder';

/** Metrics without what depends on the clock. */
export function withoutSeconds(metrics: readonly MetricsRecord[]): Record<string, number>[] {
  return metrics.map((record) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => !name.startsWith('seconds_'))),
  );
}
