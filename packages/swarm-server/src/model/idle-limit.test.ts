import { expect, it } from 'vitest';
import { IdleLimit } from './idle-limit.js';

const minute = 60_000;

it('grows to twice the time after which a tracker that was put away is asked for', () => {
  const limit = new IdleLimit(minute);
  limit.notePutAway('slow', 0);
  limit.noteOpened('slow', 2 * minute);
  expect(limit.ms).toBe(4 * minute);
  limit.noteOpened('slow', 9 * minute); // it was not put away since
  limit.noteOpened('new', 9 * minute);
  expect(limit.ms).toBe(4 * minute);
});

it('does not grow beyond thirty times its least, nor for an episode that is over', () => {
  const limit = new IdleLimit(minute);
  limit.notePutAway('over', 0);
  limit.forget('over');
  limit.noteOpened('over', 5 * minute);
  expect(limit.ms).toBe(minute);
  limit.notePutAway('late', 0);
  limit.noteOpened('late', 1000 * minute);
  expect(limit.ms).toBe(30 * minute);
});

it('shrinks to its least again, by half in ten minutes', () => {
  const limit = new IdleLimit(minute);
  expect(limit.isDue(0)).toBe(true);
  limit.notePutAway('slow', 0);
  limit.noteOpened('slow', 4 * minute);
  expect(limit.isDue(10 * minute)).toBe(true);
  expect(limit.ms).toBe(4 * minute);
  expect(limit.isDue(10 * minute + 999)).toBe(false);
  expect(limit.isDue(1000 * minute)).toBe(true);
  expect(limit.ms).toBe(minute);
});

it('lets every call put away what idles if the limit is nothing', () => {
  const limit = new IdleLimit(0);
  expect([limit.isDue(5), limit.isDue(5)]).toEqual([true, true]);
  limit.notePutAway('one', 0);
  limit.noteOpened('one', 9);
  expect([limit.isDue(9), limit.ms]).toEqual([true, 0]);
});
