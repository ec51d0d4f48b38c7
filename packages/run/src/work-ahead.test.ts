import { describe, expect, it } from 'vitest';
import { createPace, workAhead } from './work-ahead.js';

const never = new AbortController().signal;
/** Waits until all pending work that does not depend on the test is done. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Creates batches that end when the test says so. */
function createBatches() {
  const begun: number[] = [];
  const finish = new Map<number, () => void>();
  const begin = (step: number): Promise<string | undefined> => {
    begun.push(step);
    return new Promise((resolve) => finish.set(step, () => resolve(step > 5 ? undefined : `batch ${step}`)));
  };
  return { begun, begin, finish: (step: number) => finish.get(step)?.() };
}

describe('workAhead', () => {
  it('begins the next batch while the one before still runs, and gives them out in order', async () => {
    const batches = createBatches();
    const { pace, done } = createPace(0, 1);
    const source = workAhead(0, pace, never, batches.begin);
    const first = source.next();
    await settle();
    expect(batches.begun).toEqual([1, 2]);
    batches.finish(2);
    await settle();
    batches.finish(1);
    expect(await first).toEqual({ done: false, value: 'batch 1' });
    expect(await source.next()).toEqual({ done: false, value: 'batch 2' });
    await settle();
    expect(batches.begun).toEqual([1, 2]); // the third batch waits until the loop is done with step 1
    const third = source.next();
    done(1);
    await settle();
    expect(batches.begun).toEqual([1, 2, 3]);
    batches.finish(3);
    expect(await third).toEqual({ done: false, value: 'batch 3' });
  });

  it.each([0, 1, 3])('begins no batch before the step %i + 1 before it is done', async (ahead) => {
    const batches = createBatches();
    const { pace, done } = createPace(4, ahead);
    const source = workAhead(4, pace, never, batches.begin);
    void source.next();
    await settle();
    expect(batches.begun).toEqual(Array.from({ length: ahead + 1 }, (_, at) => 5 + at));
    done(5);
    await settle();
    expect(batches.begun).toHaveLength(ahead + 1); // no further batch begins before the first batch is taken
  });

  it('reports an error of a batch in its place, and ends with the draws', async () => {
    const { pace } = createPace(0, 2);
    const begin = async (step: number): Promise<number> => {
      if (step === 2) throw new Error('step 2 is broken');
      return step;
    };
    const source = workAhead(0, pace, never, begin);
    expect(await source.next()).toEqual({ done: false, value: 1 });
    await expect(source.next()).rejects.toThrow('step 2 is broken');
    const short = workAhead(0, pace, never, async (step) => (step > 1 ? undefined : step));
    expect(await short.next()).toEqual({ done: false, value: 1 });
    expect(await short.next()).toEqual({ done: true, value: undefined });
  });

  it('ends when no further groups are wanted, even while it waits for a step', async () => {
    const batches = createBatches();
    const stop = new AbortController();
    const { pace } = createPace(0, 0);
    const source = workAhead(1, pace, stop.signal, batches.begin);
    const next = source.next();
    await settle();
    expect(batches.begun).toEqual([]);
    stop.abort();
    expect(await next).toEqual({ done: true, value: undefined });
  });
});
