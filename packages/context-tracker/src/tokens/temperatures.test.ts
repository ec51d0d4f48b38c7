import type { Completion } from '@agentjet/core';
import { expect, test } from 'vitest';
import { createContextTracker } from '../index.js';
import { createToyChatTokenizer } from '../testing.js';

const chatTokenizer = createToyChatTokenizer();
const agent = { agentName: 'a', targetTag: 'a' };

function completionOf(text: string): Completion {
  const ids = Int32Array.from([...chatTokenizer.tokenizer.encode(text), chatTokenizer.template.stopIds[0] ?? 0]);
  return { ids, logprobs: new Float32Array(ids.length).fill(-1), finishReason: 'stop', policyVersion: 0 };
}

/** Commits an answer for each temperature, and returns the recorded temperatures of the trained tokens. */
function temperaturesOf(given: readonly (number | undefined)[], runs?: number): readonly (readonly number[])[] {
  const tracker = createContextTracker({
    episodeId: 'e',
    chatTokenizer,
    ...(runs !== undefined && { temperature: runs }),
  });
  for (const [at, temperature] of given.entries()) {
    const turn = tracker.begin(agent, { messages: [{ role: 'user', content: `question ${at}` }] });
    turn.commit(completionOf('yes'), { temperature });
  }
  return tracker
    .finish()
    .map(({ temperatures, lossMask }) => [...(temperatures ?? [])].filter((_, t) => lossMask[t] === 1))
    .map((values) => [...new Set(values)]);
}

test('tokens whose call names no temperature have that of the run, if another call of the episode names one', () => {
  expect(temperaturesOf([0.5, undefined], 0.75)).toEqual([[0.5], [0.75]]);
  expect(temperaturesOf([undefined, 0.5])).toEqual([[1], [0.5]]);
  expect(temperaturesOf([0, undefined], 0.75)).toEqual([[0], [0.75]]);
  expect(temperaturesOf([undefined, undefined], 0.75)).toEqual([[], []]);
});
