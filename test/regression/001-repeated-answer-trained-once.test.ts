import { type ChatMessage, createRandom, type Random, type Sample } from '@agentjet/core';
import { createContextTracker } from '@agentjet/context-tracker';
import { createToyChatTokenizer } from '@agentjet/context-tracker/testing';
import { findParents, packTrees, type PackOptions } from '@agentjet/trainer';
import fc from 'fast-check';
import { expect, it } from 'vitest';

/**
 * Calls of one episode that sampled the same ids in the same context count as often as they were sampled, in both
 * weighting modes.
 */

const chatTokenizer = createToyChatTokenizer();
const [stopId = 0] = chatTokenizer.template.stopIds;
const user = (content: string): ChatMessage => ({ role: 'user', content });

/** One token of the loss: its context, the token itself, and its probability. */
type Term = string;

/**
 * Makes conversations that continue, are repeated, or lose their end. There are few different answers, so they repeat.
 */
function runAgent(
  random: Random,
  episodeId: string,
): { readonly samples: readonly Sample[]; readonly expected: readonly Term[] } {
  const tracker = createContextTracker({ episodeId, chatTokenizer });
  const histories: ChatMessage[][] = [[user('a')]];
  const expected: Term[] = [];
  for (let call = 0; call < 12; call++) {
    const messages = histories[random.int(histories.length)] ?? [user('a')];
    const turn = tracker.begin({ agentName: 'a', targetTag: 'a' }, { messages });
    const ids = Int32Array.of(...chatTokenizer.tokenizer.encode(['yes', 'yes no'][random.int(2)] ?? ''), stopId);
    const logprobs = Float32Array.from(ids, () => -0.25 * (1 + random.int(4)));
    expected.push(...Array.from(ids, (_, at) => toTerm([...turn.promptIds, ...ids.subarray(0, at + 1)], logprobs[at])));
    const { message } = turn.commit({ ids, logprobs, finishReason: 'stop', policyVersion: 0 });
    histories.push([...messages, message, user('b')], messages.slice(0, 1));
  }
  return { samples: tracker.finish(), expected };
}

function toTerm(path: readonly number[], logprob: number | undefined): Term {
  return `${path.join()} at ${logprob?.toFixed(3)}`;
}

function termsOf(samples: readonly Sample[], options: PackOptions): readonly Term[] {
  return packTrees(samples, options).packs.flatMap(({ ids, positions, ends, predictors, targets, terms }) => {
    const parents = findParents({ positions, ends });
    return [...terms.pair].map((pair, term) => {
      const path: number[] = [targets[pair] ?? -1];
      for (let index = predictors[pair] ?? -1; index !== -1; index = parents[index] ?? -1)
        path.unshift(ids[index] ?? -1);
      return toTerm(path, terms.logprobs[term]);
    });
  });
}

it.each(['episode', 'row'] as const)('weighting %s trains each generated id exactly once', (weighting) => {
  const property = fc.property(fc.integer(), fc.integer({ min: 20, max: 400 }), (seed, maxPackTokens) => {
    const episodes = ['one', 'two'].map((id) => runAgent(createRandom(seed), id));
    const found = termsOf(
      episodes.flatMap(({ samples }) => samples),
      { maxPackTokens, weighting },
    );
    expect(found.toSorted()).toEqual(episodes.flatMap(({ expected }) => expected).toSorted());
  });
  fc.assert(property, { numRuns: 40 });
});

it('a retry that answers the same is a separate sample, and nothing of it is left out', () => {
  const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
  for (const logprob of [-1, -2]) {
    const turn = tracker.begin({ agentName: 'a', targetTag: 'a' }, { messages: [user('a')] });
    turn.commit({
      ids: Int32Array.of(65, stopId),
      logprobs: new Float32Array(2).fill(logprob),
      finishReason: 'stop',
      policyVersion: 0,
    });
  }
  const samples = tracker.finish();
  expect(samples).toHaveLength(2);
  expect(packTrees(samples, { maxPackTokens: 1000 }).report).toMatchObject({ trainedTokens: 4, repeatedTokens: 0 });
});
