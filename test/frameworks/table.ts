import type { FrameworkOutcome } from './try-frameworks.js';

/** A row of the table. `since` is the day from which on the framework has worked, or has not. */
export type FrameworkRow = FrameworkOutcome & { readonly since: string };

/** Adds `since` to each outcome: that of the earlier row if the framework did the same then, otherwise today. */
export function withSince(
  outcomes: Readonly<Record<string, FrameworkOutcome>>,
  earlier: Readonly<Record<string, FrameworkRow>>,
  today: string,
): Readonly<Record<string, FrameworkRow>> {
  return Object.fromEntries(
    Object.entries(outcomes).map(([name, outcome]) => {
      const before = earlier[name];
      const isSame = before?.since !== undefined && stateOf(before) === stateOf(outcome);
      return [name, { ...outcome, since: isSame ? before.since : today }];
    }),
  );
}

const stateOf = (outcome: FrameworkOutcome): string =>
  'not_tried' in outcome ? 'not tried' : outcome.works ? 'works' : 'fails';
