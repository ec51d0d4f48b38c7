import { describe, expect, it } from 'vitest';
import {
  busyReason,
  type Noise,
  refuseSpread,
  startNoiseProbe,
  TooBusyError,
  waitUntilQuiet,
} from './measure-noise.js';

const quiet: Noise = { threads: 2, share: 0.99, steadiness: 0.97 };
const crowded: Noise = { threads: 2, share: 0.31, steadiness: 0.9 };

function probeOf(measurements: readonly Noise[]) {
  const left = [...measurements];
  return { measure: async () => left.shift() ?? quiet, numLeft: () => left.length };
}

describe('noise of the machine', () => {
  it('does not stop a benchmark if the threads get what they ask for', () => {
    expect(busyReason(quiet)).toBeUndefined();
  });

  it('is a reason to stop if other work takes the cores, or slows them', () => {
    expect(busyReason(crowded)).toContain('2 busy threads got 31% of the processor time');
    expect(busyReason({ ...quiet, steadiness: 0.4 })).toContain('40% of its speed');
  });

  it('is waited for while it may pass', async () => {
    const probe = probeOf([crowded, crowded, quiet]);
    expect(await waitUntilQuiet(probe, { attempts: 3, pauseMs: 0 })).toEqual(quiet);
    expect(probe.numLeft()).toBe(0);
  });

  it('ends the benchmark as too busy if it does not pass', async () => {
    const waiting = waitUntilQuiet(probeOf([crowded, crowded, quiet]), { attempts: 2, pauseMs: 0 });
    await expect(waiting).rejects.toThrow(TooBusyError);
    await expect(waiting).rejects.toThrow(/Too busy: 2 busy threads got 31%/);
  });

  it('shows in ratios that differ from turn to turn, though not in a single one that does', () => {
    expect(() => refuseSpread([1.02, 1.05, 1.19, 7.2, 1.08])).not.toThrow();
    expect(() => refuseSpread([1.02, 7.2, 6.8, 1.1, 3.4])).toThrow(
      /Too busy: the ratios of 5 turns spread from 1.02 to 7.20/,
    );
  });

  it('is measured in threads that count', async () => {
    const probe = await startNoiseProbe(1);
    const noise = await probe.measure();
    await probe.close();
    expect(noise.share).toBeGreaterThan(0);
    expect(noise.steadiness).toBeGreaterThan(0);
    expect(noise.steadiness).toBeLessThanOrEqual(1);
  });
});
