import { AgentJetError } from '@agentjet/core';
import { afterEach, expect, it, vi } from 'vitest';
import { runInterruptibly } from './interrupt.js';

const { isTTY } = process.stdin;

afterEach(() => {
  process.stdin.isTTY = isTTY;
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/**
 * Sends signals at the given times of the clock, in ms. Returns the exit code of the work, and that of an immediate
 * exit.
 */
async function interruptAt(
  times: readonly number[],
): Promise<{ readonly code: number; readonly exits: readonly unknown[] }> {
  const clock = vi.spyOn(performance, 'now');
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as () => never);
  const code = await runInterruptibly(
    () => undefined,
    async () => {
      for (const time of times) {
        clock.mockReturnValue(time);
        process.emit('SIGINT', 'SIGINT');
        await new Promise(setImmediate);
      }
      return 0;
    },
  );
  return { code, exits: exit.mock.calls.flat() };
}

it('one signal asks the work to stop, a second one ends the process, however fast it comes', async () => {
  expect(await interruptAt([])).toEqual({ code: 0, exits: [] });
  expect(await interruptAt([5])).toEqual({ code: 130, exits: [] });
  expect(await interruptAt([5, 6])).toEqual({ code: 130, exits: [130] });
});

it('work that rejects because of the signal is stopped, not broken', async () => {
  const interrupt = (reject: (reason: unknown) => unknown) =>
    runInterruptibly(
      () => undefined,
      async (signal) => {
        process.emit('SIGTERM', 'SIGTERM');
        throw reject(signal.reason);
      },
    );
  expect(await interrupt((reason) => reason)).toBe(143);
  const say = vi.spyOn(console, 'error').mockReturnValue();
  expect(await interrupt(() => new AgentJetError('aborted', 'The download was stopped.'))).toBe(143);
  expect(say.mock.calls).toEqual([['The download was stopped.']]);
  await expect(interrupt(() => new Error('the disk is full'))).rejects.toThrow('the disk is full');
});

it('work that takes a signal as an order to end in peace has ended in peace, though it rejects', async () => {
  const work = (signal: AbortSignal): Promise<number> => {
    process.emit('SIGTERM', 'SIGTERM');
    return Promise.reject(signal.reason as Error);
  };
  expect(await runInterruptibly(() => undefined, work, { codes: { SIGTERM: 0 } })).toBe(0);
});

it('a Ctrl-C that npm passes on from a terminal is the same one', async () => {
  vi.stubEnv('npm_lifecycle_event', 'start');
  process.stdin.isTTY = true;
  expect(await interruptAt([5, 10])).toEqual({ code: 130, exits: [] });
  expect(await interruptAt([5, 150])).toEqual({ code: 130, exits: [130] });
});
