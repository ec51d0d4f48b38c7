import { createContextTracker } from '@agentjet/context-tracker';
import { createToyChatTokenizer } from '@agentjet/context-tracker/testing';
import { expect, test } from 'vitest';
import { openRows, sealRows, toSampledRow } from './sealed-rows.js';

const chatTokenizer = createToyChatTokenizer();

type Said = {
  readonly agent: string;
  readonly version: number;
  readonly temperature?: number;
  readonly isTrained?: boolean;
};

/**
 * Plays an episode in which each agent answers a growing history. The last request begins a new history, and one
 * request is repeated.
 */
function play(answers: readonly Said[]) {
  const tracker = createContextTracker({ episodeId: 'e', chatTokenizer, temperature: 0.7 });
  for (const [at, { agent, version, ...options }] of answers.entries()) {
    const content = at === answers.length - 1 ? 'Anew.' : 'And now?';
    const earlier = tracker.transcripts().findLast(({ agentName }) => agentName === agent)?.messages ?? [];
    const messages = [...(at === answers.length - 1 ? [] : earlier), { role: 'user', content } as const];
    const turn = tracker.begin({ agentName: agent, targetTag: `${agent}s` }, { messages });
    const ids = Int32Array.from([
      ...chatTokenizer.tokenizer.encode(`yes ${at}`),
      chatTokenizer.template.stopIds[0] ?? 0,
    ]);
    const logprobs = Float32Array.from(ids, (id) => -1 / (3 + id));
    turn.commit({ ids, logprobs, finishReason: 'stop', policyVersion: version }, options);
  }
  return tracker;
}

const ann = { agent: 'ann', version: 0 };

test.each<[string, readonly Said[]]>([
  ['no answers', []],
  ['one answer', [ann]],
  ['answers of one agent and two versions', [ann, ann, { ...ann, version: 3 }, ann]],
  ['two agents', [ann, { agent: 'bob', version: 1 }, ann, { agent: 'bob', version: 2 }, ann]],
  ['answers that name their temperatures', [ann, { ...ann, temperature: 0.3 }, ann, { ...ann, temperature: 0 }]],
  ['answers that are not trained', [ann, { ...ann, isTrained: false }, ann]],
])('rows of %s are opened as the samples that the tracker gives, and so are those of the samples', (_what, answers) => {
  const samples = play(answers).finish();
  const { rows, bytes } = sealRows(play(answers).finishRows());
  const kept = JSON.parse(JSON.stringify(rows)) as typeof rows;
  const copied = bytes.map((each) => Buffer.concat([Buffer.from('odd'), each]).subarray(3));
  expect(openRows('e', kept, copied)).toStrictEqual(samples);
  const again = sealRows(samples.map(toSampledRow));
  expect(openRows('e', again.rows, again.bytes)).toStrictEqual(samples);
});

test('a row contains no fact twice', () => {
  const { rows } = sealRows(play([ann, { ...ann, version: 3 }, ann]).finishRows());
  expect(rows.map(({ width, spans }) => ({ width, numbers: spans.length }))).toStrictEqual([
    { width: 2, numbers: 8 },
    { width: 2, numbers: 4 },
  ]);
});
