import fc from 'fast-check';
import { expect, test } from 'vitest';
import { packTurns } from '../inspection/packed-turn.js';
import { describeTurns } from '../turn/describe-turns.js';
import type { SampledCall } from './sampled-call.js';
import { RowChain } from './row-chain.js';
import { toSampledRows } from './sampled-rows.js';
import { layRows } from './call-rows.js';
import { readPath, TokenTree } from './token-tree.js';

const ids = (least: number) => fc.array(fc.integer({ min: 0, max: 2 }), { minLength: least, maxLength: 4 });

/** `kept`: how many ids at the end of the previous call are cut from the prompt. It is seldom above 0. */
const step = fc.record({
  kept: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(4) }),
  asked: ids(0),
  sampled: fc.oneof({ weight: 9, arbitrary: ids(1) }, { weight: 1, arbitrary: ids(0) }),
  agentName: fc.oneof({ weight: 12, arbitrary: fc.constant('ann') }, { weight: 1, arbitrary: fc.constant('bob') }),
  skipped: fc.oneof({ weight: 9, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.constant(-3) }),
  isTrained: fc.boolean(),
  temperature: fc.constantFrom(undefined, 0.5),
  policyVersion: fc.nat(2),
});
type Step = {
  readonly kept: number;
  readonly asked: readonly number[];
  readonly sampled: readonly number[];
  readonly agentName: string;
  readonly skipped: number;
  readonly isTrained: boolean;
  readonly temperature: number | undefined;
  readonly policyVersion: number;
};

function play(steps: readonly Step[]) {
  const tree = new TokenTree();
  const chain = new RowChain(0.7);
  const calls: SampledCall[] = [];
  let before: Int32Array = new Int32Array(0);
  let index = 0;
  for (const { kept, asked, sampled, agentName, skipped, ...said } of steps) {
    const prompt = [...before.subarray(0, Math.max(0, before.length - kept)), ...asked];
    const end = tree.insert(tree.root, Int32Array.from([...prompt, ...sampled]));
    const whole = { isTruncated: false, isStopped: true };
    const facts = { ...whole, reusedTokens: 0, fork: undefined, parts: [], foreignMessages: {} };
    const splices = calls.slice(-1).map((call) => ({ index: call.index, cause: 'text' as const }));
    index = Math.max(0, index + 1 + skipped);
    if (calls.some((call) => call.index === index)) index = 1 + Math.max(...calls.map((call) => call.index));
    const agent = { agentName, targetTag: 'main' };
    const own = { id: `e/${index}`, index, agent, end, promptLength: prompt.length, splices, specialTokens: {} };
    const call: SampledCall = { ...own, ...facts, ...said, logprobs: Float32Array.from(sampled, (id: number) => -id) };
    calls.push(call);
    chain.add(call);
    before = readPath(end);
  }
  return { tree, chain, calls };
}

test('a chain gives the same row as all calls together, whenever they are a chain', () => {
  let numChains = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
      const { tree, chain, calls } = play(steps);
      const rows = layRows(tree, calls);
      const all = toSampledRows(rows, { calls, idBits: tree.idBits, temperature: 0.7 });
      const row = chain.readRow(tree.idBits);
      expect(chain.turns === undefined).toBe(row === undefined);
      if (row === undefined) return;
      numChains += Number(calls.length > 2);
      expect([row]).toStrictEqual(all);
      expect(chain.turns).toStrictEqual(describeTurns(rows, calls));
      expect(chain.packTurns(5)).toStrictEqual(packTurns(describeTurns(rows, calls), 5));
    }),
    { numRuns: 2000, seed: 1 },
  );
  expect(numChains).toBeGreaterThan(200);
});

test('calls that continue the previous one are a chain, even with failed calls in between', () => {
  const next: Step = {
    kept: 0,
    asked: [1],
    sampled: [2, 0],
    agentName: 'ann',
    skipped: 0,
    isTrained: true,
    temperature: undefined,
    policyVersion: 0,
  };
  const isChain = (...steps: readonly Step[]): boolean => play(steps).chain.turns !== undefined;
  expect(isChain(next, { ...next, skipped: 1 }, { ...next, asked: [] })).toBe(true);
  expect(isChain(next, { ...next, agentName: 'bob' })).toBe(false);
  expect(isChain(next, { ...next, kept: 1 })).toBe(false);
  expect(isChain(next, { ...next, sampled: [] })).toBe(false);
  expect(isChain(next, next, { ...next, skipped: -3 })).toBe(false);
});

test('the tree returns the bits that are set in its ids', () => {
  const tree = new TokenTree();
  tree.insert(tree.root, Int32Array.from([1, 2]));
  tree.insert(tree.root, Int32Array.from([1, 65_536]));
  expect(tree.idBits).toBe(65_539);
});
