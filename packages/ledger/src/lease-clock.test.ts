import { expect, it } from 'vitest';
import { LeaseClock } from './lease-clock.js';

it('runs with the clock of the machine, and not while it is stopped', () => {
  let now = 100;
  const clock = new LeaseClock(() => now);
  now = 150;
  expect(clock.read()).toBe(50);
  clock.stop();
  now = 1000;
  expect(clock.read()).toBe(50);
  clock.start();
  now = 1010;
  expect(clock.read()).toBe(60);
});

it('takes a clock that jumped, or a machine that slept, for a moment only', () => {
  let now = 0;
  const clock = new LeaseClock(() => now, { maxStepMs: 10 });
  now = 3_600_000;
  expect(clock.read()).toBe(10);
  now = 0; // a clock that was set back
  expect(clock.read()).toBe(10);
  now = 5;
  expect(clock.read()).toBe(15);
});
