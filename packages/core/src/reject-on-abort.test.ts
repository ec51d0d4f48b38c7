import { expect, it } from 'vitest';
import { rejectOnAbort } from './reject-on-abort.js';

const never = new Promise<never>(() => {});

it('settles as the work does without a signal, or if no abort comes', async () => {
  expect(await rejectOnAbort(Promise.resolve(1), undefined)).toBe(1);
  await expect(rejectOnAbort(Promise.reject(new Error('broken')), new AbortController().signal)).rejects.toThrow(
    'broken',
  );
});

it('rejects with the reason of the signal, or what is made of it, before or while the work runs', async () => {
  await expect(rejectOnAbort(never, AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
  const controller = new AbortController();
  const waiting = rejectOnAbort(never, controller.signal, () => new Error('stopped'));
  controller.abort();
  await expect(waiting).rejects.toThrow('stopped');
});

it('waits for the work if the abort makes no error', async () => {
  expect(await rejectOnAbort(Promise.resolve(2), AbortSignal.abort(), () => undefined)).toBe(2);
});
