import { describe, expect, it } from 'vitest';
import { goldenCases } from './cases.js';
import { inKeysOf, readGolden } from './golden-files.js';
import { contract, keptNames, type Kept } from './read-kept.js';
import { runCase } from './run-case.js';

const isAsked = process.env['AJET_LONG_TESTS'] === '1';
if (!isAsked) console.warn('Skipped the golden runs that are killed and resumed. Set AJET_LONG_TESTS=1 to run them.');

function expectGolden(name: string, kept: Kept): void {
  const golden = readGolden(name);
  for (const file of keptNames) expect(inKeysOf(golden[file], kept[file]), file).toEqual(golden[file]);
}

describe.concurrent.each(goldenCases)('a run with $name', (golden) => {
  let whole: Promise<Kept> | undefined;
  const runWhole = (): Promise<Kept> => (whole ??= runCase(golden));

  it('gives the figures, episodes and weights that are kept', async () => {
    expectGolden(golden.name, await runWhole());
  });

  it.skipIf(!isAsked).each(golden.kills)('gives them if it is killed at "%s" and resumed', async (dieAt) => {
    const kept = await runCase(golden, dieAt);
    expectGolden(golden.name, kept);
    expect(kept, 'in keys that were added since, too').toEqual(await runWhole());
  });
});

it.each(goldenCases)('the list of what repeats names every key that is kept: $name', ({ name }) => {
  const golden = readGolden(name);
  for (const file of keptNames) {
    const keys = new Set(golden[file].flatMap((row) => Object.keys(row)));
    expect([...keys].filter((key) => !contract.repeats[file].includes(key))).toEqual([]);
  }
});
