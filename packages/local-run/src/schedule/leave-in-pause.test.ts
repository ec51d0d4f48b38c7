import { expect, it } from 'vitest';
import { leaveInPause } from './leave-in-pause.js';

function open() {
  const stop = new AbortController();
  const listeners = new Set<(isHeld: boolean) => void>();
  let [isHeld, numLeft] = [false, 0];
  const keeper = {
    isHeld: () => isHeld,
    onHeld: (listener: (isHeld: boolean) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const hold = (value: boolean): void => {
    isHeld = value;
    for (const listener of listeners) listener(value);
  };
  const leaving = leaveInPause(stop.signal, keeper, () => numLeft++);
  return { stop, hold, leaving, listeners, numLeft: () => numLeft };
}

it('finishes a step that is not paused', () => {
  const { stop, hold, leaving } = open();
  hold(true);
  hold(false);
  stop.abort();
  expect(leaving.signal.aborted).toBe(false);
});

it.each([
  ['the pause', ['hold', 'stop']],
  ['the order to stop', ['stop', 'hold']],
])('leaves a step once both are there, if %s comes first', (_first, order) => {
  const { stop, hold, leaving, numLeft } = open();
  for (const what of order) {
    expect(leaving.signal.aborted).toBe(false);
    if (what === 'hold') hold(true);
    else stop.abort(new Error('stopped by SIGTERM'));
  }
  expect(leaving.signal.reason).toEqual(new Error('stopped by SIGTERM'));
  hold(true);
  expect(numLeft()).toBe(1);
});

it('listens no more once it is closed', () => {
  const { stop, hold, leaving, listeners } = open();
  leaving.close();
  stop.abort();
  hold(true);
  expect([listeners.size, leaving.signal.aborted]).toEqual([0, false]);
});
