// Sets how long the tests may take, in minutes on two quiet cores of the machine that `machine-speed.mjs` describes. A
// test file belongs to the first part whose folders contain it. `npm test` prints how long each part took. `.ci/run`
// fails if the whole took longer, and names the parts that took more than their share.

/** Number of processes that run test files at the same time. Many tests wait for other processes. */
export const workers = 3;

export const budgets = { test: 10, ci: 45, nightlyJob: 90 };

/** @type {readonly { part: string, minutes: number, folders: readonly string[] }[]} */
export const shares = [
  {
    part: 'house',
    minutes: 0.55,
    folders: ['test/house', 'test/boundaries', 'test/recipes', 'test/bench', 'test/nightly'],
  },
  { part: 'chaos', minutes: 0.05, folders: ['test/chaos'] },
  { part: 'first hour', minutes: 0.05, folders: ['test/publish', 'test/releases'] },
  {
    part: 'swarm',
    minutes: 2.1,
    folders: ['packages/ledger', 'packages/swarm-wire', 'packages/swarm-client', 'packages/swarm-server', 'test/swarm'],
  },
  {
    part: 'data',
    minutes: 0.95,
    folders: [
      'packages/data',
      'packages/generation',
      'packages/traces',
      'packages/judges',
      'packages/model-client',
      'packages/environments',
      'packages/sandbox',
    ],
  },
  {
    part: 'engines',
    minutes: 0.2,
    folders: ['trainer/src/backbones/tinker', 'trainer/src/backbones/verl'],
  },
  { part: 'all else', minutes: 6.05, folders: [''] },
];
