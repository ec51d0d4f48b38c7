import { expect, it } from 'vitest';
import { ClientLives } from './client-lives.js';

const key = { name: 'lab', isCommander: false };

it('forgets a client that was silent for an hour, and none that claims', async () => {
  let now = 0;
  const lives = new ClientLives(() => now, 1000);
  for (const client of ['silent', 'claiming', 'left']) lives.greet({ client, life: '1', key });
  let answer = (): void => undefined;
  const claim = lives.whileClaiming(
    { client: 'claiming', can: [] },
    () => new Promise<void>((resolve) => (answer = resolve)),
  );
  lives.leave('left', '1');
  now = 1_800_000;
  lives.greet({ client: 'other', life: '1', key });
  expect(['silent', 'claiming', 'left', 'other'].map((name) => lives.isOf(name, 'lab'))).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(lives.hasLeft('left', '1')).toBe(true);
  now = 3_700_000;
  lives.greet({ client: 'other', life: '1', key });
  expect(['silent', 'claiming', 'left', 'other'].map((name) => lives.isOf(name, 'lab'))).toEqual([
    false,
    true,
    false,
    true,
  ]);
  answer();
  await claim;
});
