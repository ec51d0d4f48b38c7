import type { Sample } from '@agentjet/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createContextTracker, type HistoryPolicy, type Turn, type TurnDescription } from './index.js';
import { type CommittedCall, programs, runProgram } from './testing/random-agent.js';
import { chatFamilies } from './testing/chat-families.js';

const families = chatFamilies(300, 150);

const inOrder = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);
/** Orders by a number that fast-check chooses: 0 keeps the order, and other numbers shuffle it. */
const shuffled =
  (seed: number) =>
  (count: number): readonly number[] =>
    inOrder(count).toSorted((left, right) => keyOf(left, seed) - keyOf(right, seed));
const keyOf = (place: number, seed: number): number =>
  seed === 0 ? place : Math.imul((place + 1) * 2654435761, seed | 1) >>> 0;
const policies = fc.constantFrom<HistoryPolicy[]>('as_generated', 'as_sent');

/** Returns one line for each token, with a hash of its whole context, its agent, and its logprob. */
function fingerprint(
  ids: ArrayLike<number>,
  agentName: string,
  at: (place: number) => string | undefined,
): readonly string[] {
  const lines: string[] = [];
  let high = 7;
  let low = 11;
  for (let place = 0; place < ids.length; place++) {
    high = (Math.imul(high, 31) + (ids[place] ?? 0)) | 0;
    low = (Math.imul(low, 16777619) ^ (ids[place] ?? 0)) | 0;
    const trained = at(place);
    if (trained !== undefined) lines.push(`${agentName} ${place} ${high} ${low} ${trained}`);
  }
  return lines;
}

function ofSample({ ids, agentName, lossMask, logprobs, policyVersions }: Sample): readonly string[] {
  return fingerprint(ids, agentName, (place) =>
    lossMask[place] === 1 ? `${logprobs[place]} ${policyVersions[place]}` : undefined,
  );
}

function ofCall({ agent, promptIds, completion }: CommittedCall): readonly string[] {
  const { ids, logprobs, policyVersion } = completion;
  const start = promptIds.length;
  return fingerprint([...promptIds, ...ids], agent.agentName, (place) =>
    place >= start ? `${logprobs[place - start]} ${policyVersion}` : undefined,
  );
}

/**
 * Returns the facts about a turn that do not depend on the order of calls. Splices and renderings depend on it and are
 * left out.
 */
function ofTurn({
  turnId,
  index,
  promptTokens,
  generatedTokens,
  policyVersion,
  isTruncated,
  sample,
  fork,
}: TurnDescription): string {
  return JSON.stringify({ turnId, index, promptTokens, generatedTokens, policyVersion, isTruncated, sample, fork });
}

function ofWholeSample({ ids, lossMask, logprobs, policyVersions, ...rest }: Sample): string {
  return `${JSON.stringify({ ...rest, advantages: rest.advantages.length })} ${ids.join()} ${lossMask.join()} ${logprobs.join()} ${policyVersions.join()}`;
}

/** Compares two lists and shows only the first difference. A whole diff would take longer than shrinking. */
function expectSame(actual: readonly string[], expected: readonly string[]): void {
  const at = actual.findIndex((line, place) => line !== expected[place]);
  expect(at === -1 ? undefined : { at, actual: actual[at], expected: expected[at] }).toBeUndefined();
  expect(actual.length).toBe(expected.length);
}

describe.each(families)('%s', (_, chatTokenizer, numRuns) => {
  const create = (historyPolicy: HistoryPolicy) =>
    createContextTracker({ episodeId: 'e', chatTokenizer, historyPolicy });

  test('each sampled token is trained once, after exactly the ids it was sampled from', () => {
    const property = fc.property(programs, policies, (program, policy) => {
      const tracker = create(policy);
      const calls = runProgram(program, tracker, chatTokenizer, { order: inOrder });
      const samples = tracker.finish();
      expectSame(samples.flatMap(ofSample).sort(), calls.flatMap(ofCall).sort());
      expectSame(
        calls.map(({ turn }) => turn.promptIds.join()),
        calls.map(({ promptIds }) => promptIds.join()),
      );
      const { trainedTokens, generatedTokens } = tracker.stats();
      expect(trainedTokens).toBe(generatedTokens);
      expect(
        samples.every(({ lossMask, logprobs, policyVersions }) =>
          lossMask.every((mask, at) => mask === 1 || (logprobs[at] === 0 && policyVersions[at] === -1)),
        ),
      ).toBe(true);
    });
    fc.assert(property, { numRuns });
  });

  test('any commit order gives the same samples', () => {
    const property = fc.property(programs, policies, fc.nat(), (program, policy, seed) => {
      const run = (order: (count: number) => readonly number[]) => {
        const tracker = create(policy);
        runProgram(program, tracker, chatTokenizer, { order });
        return [...tracker.finish().map(ofWholeSample), ...tracker.describe().map(ofTurn)];
      };
      expectSame(run(shuffled(seed)), run(inOrder));
    });
    fc.assert(property, { numRuns });
  });

  test('a call that is never committed changes nothing', () => {
    const property = fc.property(programs, policies, (program, policy) => {
      const run = (skipAborted: boolean) => {
        const tracker = create(policy);
        runProgram(program, tracker, chatTokenizer, { order: inOrder, skipAborted });
        return [...tracker.finish().map(ofWholeSample), JSON.stringify(tracker.stats())];
      };
      expectSame(run(false), run(true));
    });
    fc.assert(property, { numRuns: Math.ceil(numRuns / 2) });
  });

  test('begin changes nothing: a second one gives the same prompt', () => {
    const property = fc.property(programs, policies, (program, policy) => {
      const tracker = create(policy);
      const onBegin: Parameters<typeof runProgram>[3]['onBegin'] = ({
        turn,
        conversation: { agent, messages, tools },
        opening,
      }) => {
        const again = tracker.begin(agent, { messages, tools }, { opening });
        const show = ({ promptIds, fork, reusedTokens }: Turn): string =>
          `${fork} ${reusedTokens} ${promptIds.join(' ')}`;
        expectSame([show(again)], [show(turn)]);
      };
      runProgram(program, tracker, chatTokenizer, { order: inOrder, onBegin });
    });
    fc.assert(property, { numRuns: Math.ceil(numRuns / 4) });
  });
});
