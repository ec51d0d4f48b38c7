import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimRequestSchema, endRequestSchema } from './index.js';
import { createQuickCheck } from './quick-check.js';

const name = fc.oneof(fc.constantFrom('a', 'me', 'x'.repeat(200), 'x'.repeat(201), ''), fc.string({ maxLength: 5 }));
const number = fc.oneof(
  fc.constantFrom(0, -0, 1, 64, 65, 30, 30.5, 86_400, 86_401, -1, 1e9, 1e100, -1e7, 2 ** 60),
  fc.double(),
);
const anything = fc.oneof(
  name,
  number,
  fc.constant(null),
  fc.boolean(),
  fc.constant([]),
  fc.constant({}),
  fc.constant(undefined),
);
const record = (value: fc.Arbitrary<unknown>) =>
  fc.dictionary(fc.oneof(fc.constantFrom('moves', '__proto__', 'constructor', ''), name), value, { maxKeys: 3 });
const or = (usual: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: anything });

/** Generates some of the fields, in any order. */
function shuffledRecord(fields: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<object> {
  return fc
    .tuple(fc.record(fields), fc.shuffledSubarray(Object.keys(fields)))
    .map(([all, names]) => Object.fromEntries(names.map((key) => [key, all[key]])));
}

const claims = shuffledRecord({
  claim_id: or(fc.oneof(name, fc.constantFrom('c#1', 'a\nb#12', 'c#', 'c#x'))),
  client: or(name),
  life: or(name),
  can: or(fc.array(or(fc.constantFrom('default', 'math', 'a/b', '-x', 'constructor', '')), { maxLength: 3 })),
  count: or(fc.oneof(fc.integer({ min: -1, max: 66 }), number)),
  purpose: or(fc.constantFrom('train', 'evaluation', 'any', 'else')),
  revision: or(name),
  lease_seconds: or(number),
  wait_seconds: or(number),
  more: anything,
  ['__proto__']: anything,
});

const ends = shuffledRecord({
  client: or(name),
  status: or(fc.constantFrom('completed', 'failed', 'outage', 'done')),
  reward: or(number),
  rewards: or(record(or(number))),
  turn_rewards: or(fc.array(fc.record({ agent: name, turn: number, value: number }), { maxLength: 2 })),
  is_success: or(fc.boolean()),
  metadata: or(record(anything)),
  log_metrics: or(record(or(number))),
  parts: or(record(number)),
  reason: or(name),
  error: or(name),
  error_code: or(name),
  revision: or(name),
  seconds: or(number),
  seconds_judging: or(number),
  spans: or(fc.array(record(anything), { maxLength: 2 })),
  messages: or(fc.array(or(record(anything)), { maxLength: 2 })),
  more: anything,
});

/** Returns the body in the form in which it arrives: without values that JSON does not have. */
const sent = (body: unknown): unknown => JSON.parse(JSON.stringify(body));

const usual = {
  claim: { claim_id: 'c', client: 'me', life: 'l', lease_seconds: 60, wait_seconds: 10, can: ['math'] },
  end: {
    client: 'me',
    status: 'completed',
    reward: 1,
    is_success: true,
    metadata: { moves: 7 },
    log_metrics: { n: 1 },
    seconds: 2.5,
    messages: [],
  },
} as const;

describe.each([
  ['a claim', claimRequestSchema, claims, usual.claim],
  ['an end', endRequestSchema, ends, usual.end],
] as const)('the quick check of %s', (_what, schema, bodies, usualBody) => {
  const check = createQuickCheck(schema);

  it('accepts what clients usually send', () => {
    expect(check(usualBody)).toStrictEqual(schema.parse(usualBody));
  });

  it('accepts nothing that its schema refuses, and returns the same', () => {
    let numAccepted = 0;
    const accepts = (drawn: object, numOthers: number): void => {
      const others = Object.fromEntries(Object.entries(drawn).slice(0, numOthers));
      const body = sent({ ...usualBody, ...others });
      const accepted = check(body);
      if (accepted === undefined) return;
      numAccepted++;
      expect(accepted).toStrictEqual(schema.parse(body));
    };
    fc.assert(fc.property(bodies, fc.integer({ min: 1, max: 3 }), accepts), { numRuns: 1000 });
    expect(numAccepted).toBeGreaterThan(100);
  });

  it.each([[null], [[]], ['text'], [7], [undefined], [{}]])('leaves %j to the schema', (body) => {
    expect(check(body)).toBeUndefined();
  });
});
