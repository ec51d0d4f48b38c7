import { describe, expect, it } from 'vitest';
import { OutagePause } from './outage-pause.js';

const gaps = { firstGapMs: 100, maxGapMs: 1000 };
const down = { host: 'api.example', reason: 'connect ECONNREFUSED' };

function loseFive(pause: OutagePause): void {
  for (const now of [1, 2, 3, 4, 5]) pause.lost(now, down);
}

describe('it pauses', () => {
  it('after five losses in a row to one host', () => {
    const pause = new OutagePause(gaps);
    for (const now of [1, 2, 3, 4]) pause.lost(now, down);
    expect(pause.start(4)).toEqual({ mayStart: true, waitMs: 0 });
    pause.lost(5, down);
    expect(pause.start(5)).toEqual({ mayStart: false, waitMs: 100 });
    expect(pause.status(25)).toMatchObject({ kind: 'paused', pausedMs: 20, cause: 'in_a_row', ...down });
  });

  it('not after five losses to several hosts, nor if one attempt between them was kept', () => {
    const pause = new OutagePause(gaps);
    for (const host of ['a', 'a', 'b', 'a', 'a']) pause.lost(1, { host, reason: '' });
    expect(pause.status(1).kind).toBe('running');
    const other = new OutagePause(gaps);
    for (const now of [1, 2, 3, 4]) other.lost(now, down);
    other.kept(5);
    other.lost(6, down);
    expect(other.status(6).kind).toBe('running');
  });

  it('when half of the last 16 attempts were lost', () => {
    const pause = new OutagePause(gaps);
    for (let i = 0; i < 7; i++) {
      pause.kept(i);
      pause.lost(i, { reason: 'quota' });
    }
    expect(pause.status(7).kind).toBe('running');
    pause.lost(8, { reason: 'quota' });
    expect(pause.status(8)).toMatchObject({ kind: 'paused', cause: 'lost_share', host: undefined, reason: 'quota' });
  });

  it('forgets losses that are older than 16 attempts', () => {
    const pause = new OutagePause(gaps);
    for (let i = 0; i < 7; i++) pause.lost(i, { reason: 'quota' });
    for (let i = 0; i < 16; i++) pause.kept(i);
    for (let i = 0; i < 7; i++) pause.lost(i, { reason: 'quota' });
    expect(pause.status(50).kind).toBe('running');
  });
});

describe('while it is paused', () => {
  it('lets one attempt through after each gap, and the gaps grow to a limit', () => {
    const pause = new OutagePause(gaps);
    loseFive(pause);
    const waits: number[] = [];
    for (let now = 5, i = 0; i < 6; i++) {
      const { waitMs } = pause.start(now);
      waits.push(waitMs);
      now += waitMs;
      expect(pause.start(now).mayStart).toBe(true);
      expect(pause.start(now).mayStart).toBe(false); // one probe at a time
      pause.lost(now, down);
    }
    expect(waits).toEqual([100, 200, 400, 800, 1000, 1000]);
  });

  it('ends with the first attempt that is kept', () => {
    const pause = new OutagePause(gaps);
    loseFive(pause);
    expect(pause.start(200).mayStart).toBe(true);
    pause.kept(305);
    expect(pause.status(305)).toEqual({ kind: 'running' });
    expect(pause.start(305).mayStart).toBe(true);
    expect(pause.pausedMs(999)).toBe(300);
    pause.lost(306, down);
    expect(pause.status(306).kind).toBe('running'); // losses before the pause are forgotten
  });

  it('does not let the losses of older attempts make the gap longer', () => {
    const pause = new OutagePause(gaps);
    loseFive(pause);
    for (let i = 0; i < 20; i++) pause.lost(6, down);
    expect(pause.start(6)).toEqual({ mayStart: false, waitMs: 99 });
  });

  it('is over after max_outage, and never if that is null', () => {
    const pause = new OutagePause({ ...gaps, maxOutageMs: 500 });
    const patient = new OutagePause({ ...gaps, maxOutageMs: null });
    for (const each of [pause, patient]) loseFive(each);
    expect([pause.status(504).kind, pause.status(505).kind]).toEqual(['paused', 'over']);
    expect(patient.status(1e12).kind).toBe('paused');
  });
});
