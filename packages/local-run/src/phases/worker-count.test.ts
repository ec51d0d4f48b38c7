import { expect, it } from 'vitest';
import { WorkerCount } from './worker-count.js';

/** Samples batches of this many episodes. `speedOf` returns the tokens a second of a number of workers. */
function sample(count: WorkerCount, batches: number, speedOf: (workers: number) => number, episodes = 512) {
  const seen: number[] = [];
  const notices: string[] = [];
  for (let batch = 0; batch < batches; batch++) {
    seen.push(count.now);
    const notice = count.measured({ episodes, tokens: speedOf(count.now), seconds: 1 });
    if (notice !== undefined) notices.push(notice);
  }
  return { seen, notices };
}

const open = (): WorkerCount => new WorkerCount({ maxEnvWorker: 'auto', samplesWide: true });

it('doubles the episodes at the same time while this is faster, and goes back from the first number that is not', () => {
  const { seen, notices } = sample(open(), 8, (workers) => Math.min(workers, 256));
  expect(seen).toEqual([128, 128, 256, 512, 512, 256, 256, 256]);
  expect(notices).toEqual([
    '256 episodes at the same time sample 2.00 times as fast as 128, so 256 run at the same time (rollout.max_env_worker: auto).',
    '512 episodes at the same time sample 1.00 times as fast as 256, so 256 run at the same time (rollout.max_env_worker: auto).',
  ]);
});

it('does not double beyond the episodes of a batch', () => {
  expect(sample(open(), 6, (workers) => workers, 256).seen).toEqual([128, 128, 256, 256, 256, 256]);
  expect(sample(open(), 4, (workers) => workers, 128).seen).toEqual([128, 128, 128, 128]);
});

it('does not judge a larger number by a first batch that compiles', () => {
  const count = open();
  const speeds = [1, 128, 10, 256, 256];
  expect(speeds.map((tokens) => (count.measured({ episodes: 256, tokens, seconds: 1 }), count.now))).toEqual([
    128, 256, 256, 256, 256,
  ]);
});

it('keeps a number that the configuration names, and 64 if the backbone gains nothing', () => {
  const named = new WorkerCount({ maxEnvWorker: 12, samplesWide: true });
  expect(sample(named, 4, (workers) => workers).seen).toEqual([12, 12, 12, 12]);
  const narrow = new WorkerCount({ maxEnvWorker: 'auto', samplesWide: false });
  expect(sample(narrow, 4, (workers) => workers).seen).toEqual([64, 64, 64, 64]);
});

it('ignores a batch in which nothing was sampled', () => {
  const count = open();
  for (let batch = 0; batch < 4; batch++) count.measured({ episodes: 512, tokens: 0, seconds: 1 });
  expect(count.now).toBe(128);
});

it('lets waiting work begin when the number grows, and interrupts nothing when it falls', async () => {
  const { workers } = new WorkerCount({ maxEnvWorker: 1, samplesWide: false });
  const ends: (() => void)[] = [];
  const work = Array.from({ length: 4 }, () => workers.run(() => new Promise<void>((resolve) => ends.push(resolve))));
  await Promise.resolve();
  expect(ends).toHaveLength(1);
  workers.resize(3);
  await Promise.resolve();
  expect(ends).toHaveLength(3);
  workers.resize(1);
  ends[0]?.();
  ends[1]?.();
  await Promise.all(work.slice(0, 2));
  expect(ends).toHaveLength(3); // one still runs, and one may
  ends[2]?.();
  await work[2];
  await Promise.resolve();
  expect(ends).toHaveLength(4);
  ends[3]?.();
  await work[3];
});
