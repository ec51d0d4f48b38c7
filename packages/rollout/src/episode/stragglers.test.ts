import { describe, expect, it } from 'vitest';
import { Stragglers } from './stragglers.js';

const forever = (signal: AbortSignal): Promise<string> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve('cut'), { once: true }));
const never = new AbortController().signal;

function open(changes: { readonly patienceMs?: number | null; readonly isPaused?: () => boolean } = {}): Stragglers {
  return new Stragglers({ patienceMs: 20, isPaused: () => false, ...changes });
}

describe('Stragglers', () => {
  it('gives up the groups that are left once half are done, and says so', async () => {
    const stragglers = open();
    const quick = ['a', 'b'].map((id) => stragglers.run(id, never, async () => 'done'));
    const slow = ['c', 'd'].map((id) => stragglers.run(id, never, forever));
    stragglers.allBegun();
    expect(await Promise.all(quick)).toEqual(Array(2).fill({ result: 'done', isGivenUp: false }));
    expect(await Promise.all(slow)).toEqual(Array(2).fill({ result: 'cut', isGivenUp: true }));
  });

  it('waits while episodes wait for a worker, during an outage, and while more than half are running', async () => {
    let isPaused = true;
    let looks = 0;
    const stragglers = open({ patienceMs: 1, isPaused: () => (looks++, isPaused) });
    const hasWorker = stragglers.waiting();
    let isGivenUp = false;
    const slow = stragglers.run('slow', never, forever).then((outcome) => (isGivenUp = outcome.isGivenUp));
    const second = stragglers.run('second', never, forever);
    stragglers.allBegun();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(looks).toBe(0); // all groups have begun, but an episode waits for a worker
    await stragglers.run('third', never, async () => 'done');
    await stragglers.run('fourth', never, async () => 'done');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(looks).toBe(0); // an episode waits
    hasWorker();
    await expect.poll(() => looks).toBeGreaterThan(2);
    expect(isGivenUp).toBe(false);
    isPaused = false;
    expect(await slow).toBe(true);
    await second;
  });

  it('gives nothing up without a patience, and passes the end of the run on', async () => {
    const stop = new AbortController();
    const stragglers = open({ patienceMs: null });
    const slow = stragglers.run('slow', stop.signal, forever);
    stragglers.allBegun();
    stop.abort();
    expect(await slow).toEqual({ result: 'cut', isGivenUp: false });
    const other = open({ patienceMs: 1e6 });
    const cut = other.run('slow', stop.signal, async (signal) => signal.aborted);
    expect(await cut).toEqual({ result: true, isGivenUp: false });
    other.close();
  });
});
