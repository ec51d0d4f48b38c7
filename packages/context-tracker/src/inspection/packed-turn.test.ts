import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TurnDescription } from '../contract.js';
import { packTurns, unpackTurns } from './packed-turn.js';

const author = fc.constantFrom('system' as const, 'user' as const, 'model' as const);
const part = fc.record(
  { author, name: fc.string(), start: fc.nat(), end: fc.nat() },
  { requiredKeys: ['author', 'start', 'end'], noNullPrototype: true },
);
const tenths = fc.nat().map((ms) => ms / 10);
const times = fc.record(
  { beganMs: tenths, endedMs: tenths, waitedMs: tenths, promptMs: tenths, samplingMs: tenths },
  { requiredKeys: ['beganMs', 'endedMs'], noNullPrototype: true },
);
const turn = fc.record(
  {
    turnId: fc.oneof(
      fc.string(),
      fc.nat().map((call) => `e/${call}`),
      fc.constantFrom('e/007', '/', 'e/1e3', 'e/-1', 'e/'),
    ),
    agentName: fc.string(),
    targetTag: fc.string(),
    promptTokens: fc.nat(),
    reusedTokens: fc.nat(),
    generatedTokens: fc.nat(),
    policyVersion: fc.nat(),
    isTruncated: fc.boolean(),
    hasStopToken: fc.constant(false as const),
    isTrained: fc.constant(false as const),
    fork: fc.constantFrom(null, 'edited' as const),
    sample: fc.option(fc.nat()),
    splices: fc.constantFrom([], [{ turn: 0, cause: 'text' as const }]),
    foreignMessages: fc.constantFrom({}, { edited: 2 }),
    parts: fc.array(part, { maxLength: 3 }),
    times,
  },
  {
    requiredKeys: [
      ...([
        'turnId',
        'agentName',
        'targetTag',
        'promptTokens',
        'reusedTokens',
        'generatedTokens',
        'policyVersion',
      ] as const),
      ...(['isTruncated', 'fork', 'sample', 'splices', 'foreignMessages', 'parts'] as const),
    ],
  },
);

test('turns are unchanged after they were packed, written as JSON and read again', () => {
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 4 }), (found) => {
      const turns: readonly TurnDescription[] = found.map((each, index) => ({ ...each, index }));
      const written = JSON.parse(JSON.stringify(packTurns(turns))) as ReturnType<typeof packTurns>;
      expect(unpackTurns(written)).toStrictEqual(turns);
    }),
  );
});

test('a usual turn is written without the usual values', () => {
  const usual: TurnDescription = {
    turnId: 'e/0',
    index: 0,
    agentName: 'main',
    targetTag: 'main',
    promptTokens: 9,
    reusedTokens: 0,
    generatedTokens: 4,
    policyVersion: 2,
    isTruncated: false,
    fork: null,
    sample: 0,
    splices: [],
    foreignMessages: {},
    parts: [{ author: 'user', start: 2, end: 6 }],
  };
  expect(packTurns([usual])).toStrictEqual({
    names: ['e', 'main', 'user'],
    numbers: [0, 0, 1, 1, 9, 0, 4, 2, 0, 1, 2, 2, 6, -1],
  });
});

test('the times of calls are moved by what the clock of the tracker began later than the episode', () => {
  const turns = [{ beganMs: 10.1, endedMs: 20.3 }, undefined].map((times, index) => ({
    turnId: `e/${index}`,
    index,
    agentName: 'a',
    targetTag: 'a',
    promptTokens: 1,
    reusedTokens: 0,
    generatedTokens: 1,
    policyVersion: 0,
    isTruncated: false,
    fork: null,
    sample: 0,
    splices: [],
    foreignMessages: {},
    parts: [],
    ...(times !== undefined && { times }),
  }));
  const found = unpackTurns(packTurns(turns, 5));
  expect(found.map(({ times }) => times)).toEqual([{ beganMs: 15.1, endedMs: 25.3 }, undefined]);
});
