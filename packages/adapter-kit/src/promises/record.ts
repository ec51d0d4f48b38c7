import { toolCallText } from '@agentjet/rollout/testing';
import { expectContinuation } from '../continuation.js';
import { addTool, oddCalls } from '../scripts.js';
import { type AdapterPromise, type Bench, expectEqual, expectTrue } from '../promise.js';

type How = 'call' | 'stream';

/**
 * Runs the scripted replies, answers their tool calls with results, and calls the model again each time. Each prompt
 * must continue the one before it.
 */
async function expectExactLoop<M, H>(
  { driver, open, begin, ...bench }: Bench<M, H>,
  how: How,
  replies: readonly string[],
): Promise<void> {
  const { model, ...episode } = open({ replies: replies.map((text) => ({ text, tokenDelayMs: 0 })) });
  let history = begin();
  for (let step = 0; step < replies.length; step++) {
    const answer = await bench[how](model, history, { tools: [addTool] });
    const results = answer.toolCalls.map(({ id, name }, place) => ({ id, name, content: `result ${step}.${place}` }));
    history = driver.addToolResults(answer.history, results);
    if (step > 0) expectContinuation(episode, step - 1, step);
  }
  const { stats } = episode.finish();
  expectEqual(
    [stats.trainedTokens, stats.foreignMessages],
    [stats.generatedTokens, {}],
    'Trained tokens (which must be all generated tokens) and messages that are attributed to another model',
  );
}

const spellings = Object.entries(oddCalls).map(
  ([spelling, text]): AdapterPromise => ({
    sentence: `The next prompt continues the model's own tokens after a call with ${spelling}.`,
    check: async (bench) => {
      await expectExactLoop(bench, 'call', [text, text, 'done']);
      if (bench.driver.says.includes('stream')) await expectExactLoop(bench, 'stream', [text, text, 'done']);
    },
  }),
);

export const recordPromises: readonly AdapterPromise[] = [
  ...spellings,
  {
    sentence: "The prompt of a further question continues the model's own tokens.",
    check: async ({ driver, open, begin, call }) => {
      const { model, ...episode } = open({ replies: [' First  answer.\n', 'second'] });
      const first = await call(model, begin());
      await call(model, driver.addQuestion(first.history, 'And now?'));
      expectContinuation(episode, 0, 1);
    },
  },
  {
    sentence: 'A repeated request gets the first answer, whole or streamed, and makes no second sample.',
    needs: ['requestId'],
    check: async ({ driver, open, begin, ...bench }) => {
      for (const how of driver.says.includes('stream') ? (['call', 'stream'] as const) : (['call'] as const)) {
        const { model, engine, finish } = open({ replies: ['first', 'second', 'third'] });
        const ask = (requestId: string) => bench[how](model, begin(), { requestId });
        const [one, again] = await Promise.all([ask('one'), ask('one')]);
        const late = await ask('one');
        const other = await ask('other');
        expectEqual(
          [one, again, late, other].map(({ text }) => text),
          ['first', 'first', 'first', 'second'],
          'The answers to a call, its two repeats, and another call',
        );
        expectEqual(
          [engine.requests.length, finish().samples.length],
          [2, 2],
          'How often the engine was called, and the number of samples',
        );
      }
    },
  },
  {
    sentence: 'Two conversations of one agent do not mix.',
    check: async ({ driver, open, begin, call }) => {
      const { model, ...episode } = open({
        replies: ({ text }) => (text.includes('red') ? 'I like red.' : 'I like blue.'),
      });
      const [red, blue] = await Promise.all([call(model, begin('red?')), call(model, begin('blue?'))]);
      await Promise.all([
        call(model, driver.addQuestion(red.history, 'why?')),
        call(model, driver.addQuestion(blue.history, 'why?')),
      ]);
      const mixed = episode.engine.requests.filter(({ text }) => text.includes('red') && text.includes('blue'));
      expectEqual(mixed.length, 0, 'The number of prompts with words of both');
    },
  },
  {
    sentence: 'Calls with the same words but different ids are not confused.',
    check: async (bench) => {
      await expectOwnIds(bench, 'call');
      if (bench.driver.says.includes('stream')) await expectOwnIds(bench, 'stream');
    },
  },
];

async function expectOwnIds<M, H>({ driver, open, begin, ...bench }: Bench<M, H>, how: How): Promise<void> {
  const same = toolCallText('add', '{"a": 1, "b": 2}');
  const { model, ...episode } = open({ replies: [same, same, 'done'] });
  const ask = (history: H) => bench[how](model, history, { tools: [addTool] });
  const first = await ask(begin());
  const results = (answer: typeof first) => answer.toolCalls.map(({ id, name }) => ({ id, name, content: '3' }));
  const second = await ask(driver.addToolResults(first.history, results(first)));
  const ids = [...first.toolCalls, ...second.toolCalls].map(({ id }) => id);
  expectTrue(
    new Set(ids).size === ids.length,
    `Two calls share an id: ${ids.join(', ')}. Keep the ids that the model's answer came with.`,
  );
  await ask(driver.addToolResults(second.history, results(second)));
  expectContinuation(episode, 1, 2);
}
