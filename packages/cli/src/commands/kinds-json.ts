import type { Evaluation } from '@agentjet/records';

/** Returns success by kind for scripts. Empty if the tasks name no kinds (`trainer_common.report_by`). */
export function toKindsJson({ kinds = [] }: Pick<Evaluation, 'kinds'>): object {
  if (kinds.length === 0) return {};
  const rows = kinds.map(
    ({ kind, successRate, interval, tasks }) =>
      [kind, { success: successRate, success_interval: [interval.low, interval.high], tasks }] as const,
  );
  return { success_by_kind: Object.fromEntries(rows) };
}
