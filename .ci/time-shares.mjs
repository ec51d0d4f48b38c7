// How long the tests may take, in minutes on two quiet cores. A test file belongs to the first part one of whose folders holds it. `npm test` prints
// what each part took; `.ci/run` fails if a part, or the whole, took longer.

export const budgets = { test: 10, ci: 45, nightlyJob: 90 };

/** @type {readonly { part: string, minutes: number, folders: readonly string[] }[]} */
export const shares = [
  {
    part: 'house',
    minutes: 0.5,
    folders: ['test/house', 'test/boundaries', 'test/recipes', 'test/bench', 'test/nightly'],
  },
  { part: 'failures', minutes: 0.25, folders: ['test/failures'] },
  { part: 'chaos', minutes: 0.25, folders: ['test/chaos'] },
  { part: 'first hour', minutes: 0.25, folders: ['test/publish', 'test/releases'] },
  {
    part: 'swarm',
    minutes: 1.25,
    folders: ['packages/ledger', 'packages/swarm-wire', 'packages/swarm-client', 'packages/swarm-server', 'test/swarm'],
  },
  {
    part: 'data',
    minutes: 0.75,
    folders: ['packages/data', 'packages/judges', 'packages/model-client', 'packages/environments', 'packages/sandbox'],
  },
  {
    part: 'engines',
    minutes: 0.5,
    folders: ['trainer/src/backbones/tinker', 'trainer/src/backbones/verl', 'test/engines'],
  },
  { part: 'all else', minutes: 6, folders: [''] },
];
