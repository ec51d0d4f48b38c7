/**
 * Samples batches before they are requested. A batch begins as soon as the pace allows it, even if episodes of the
 * previous batch are still running, so workers are not idle while one long episode runs. Batches are yielded in the
 * order in which they were drawn. A step waits for the long episodes of its batch and does not take short episodes of
 * the next batch instead. This keeps staleness within its limit, and every sample is trained.
 */

/** The progress of the training loop. */
export type StepPace = {
  /** How many batches may be sampled before the current batch is trained. */
  readonly batchesAhead: number;
  /** Resolves once the loop is done with this step, or when the signal aborts. */
  readonly reached: (step: number, signal: AbortSignal) => Promise<void>;
};

/** Creates a pace. The loop calls `done` after each step. */
export function createPace(
  firstStep: number,
  batchesAhead: number,
): { readonly pace: StepPace; readonly done: (step: number) => void } {
  let newest = firstStep;
  const waiting = new Set<() => void>();
  const nextChange = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  return {
    pace: {
      batchesAhead,
      reached: async (step, signal) => {
        while (newest < step && !signal.aborted) await nextChange(signal);
      },
    },
    done: (step) => {
      newest = Math.max(newest, step);
      for (const wake of waiting) wake();
    },
  };
}

/**
 * Yields the batches of the steps after `stepsMade`, in order, until `begin(step)` resolves to undefined. The batch of
 * step n begins once the loop is done with step n - 1 - `batchesAhead`.
 */
export async function* workAhead<B>(
  stepsMade: number,
  { batchesAhead, reached }: StepPace,
  signal: AbortSignal,
  begin: (step: number, signal: AbortSignal) => Promise<B | undefined>,
): AsyncGenerator<B> {
  const begun: Promise<B | undefined>[] = [];
  const left = new AbortController(); // cancels batches that were begun
  const onStop = (): void => left.abort(signal.reason);
  if (signal.aborted) onStop();
  signal.addEventListener('abort', onStop, { once: true });
  const beginOf = (step: number): Promise<B | undefined> => {
    const batch = reached(step - 1 - batchesAhead, left.signal).then(() =>
      left.signal.aborted ? undefined : begin(step, left.signal),
    );
    batch.catch(() => undefined); // the error is reported when the batch is yielded
    return batch;
  };
  let next = stepsMade + 1;
  try {
    for (;;) {
      while (begun.length <= batchesAhead) begun.push(beginOf(next++));
      const batch = await begun.shift();
      if (batch === undefined) return;
      yield batch;
    }
  } finally {
    signal.removeEventListener('abort', onStop);
    left.abort();
    await Promise.allSettled(begun);
  }
}
