import { type AdapterPromise, expectEqual, expectRejection, expectSoon, expectTrue } from '../promise.js';

const slow = { text: 'a slow answer that has quite a few tokens in it', tokenDelayMs: 3 } as const;

export const endingPromises: readonly AdapterPromise[] = [
  {
    sentence: 'Text is streamed while the engine is still generating it, and the pieces add up to the answer.',
    needs: ['stream'],
    check: async ({ open, begin, stream }) => {
      const { model, engine } = open({ replies: [{ text: 'one two three four five', tokenDelayMs: 1 }] });
      const pieces: string[] = [];
      let numEarly = 0;
      const answer = await stream(model, begin(), {}, (text) => {
        pieces.push(text);
        numEarly += engine.numRunning;
      });
      expectTrue(
        numEarly > 1,
        `${numEarly} of ${pieces.length} pieces came before the engine was done. Pass deltas on as soon as onDelta gets them.`,
      );
      expectEqual(
        [pieces.join(''), answer.text],
        ['one two three four five', 'one two three four five'],
        'The pieces together, and the answer',
      );
    },
  },
  {
    sentence: 'An aborted call ends in the engine too, and leaves no sample.',
    needs: ['abort'],
    check: async ({ open, begin, call }) => {
      const { model, engine, finish } = open({ replies: [slow] });
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 10);
      await expectRejection(call(model, begin(), { signal: controller.signal }), 'An aborted call');
      await expectSoon(
        () => engine.numRunning === 0,
        () => 'The engine is still busy with an aborted call. Pass the signal on to ChatModel.generate.',
      );
      expectEqual(finish().samples.length, 0, 'The number of samples after an aborted call');
    },
  },
  {
    sentence: 'An aborted stream ends in the engine too, and leaves no sample.',
    needs: ['abort', 'stream'],
    check: async ({ open, begin, stream }) => {
      const { model, engine, finish } = open({ replies: [slow] });
      const controller = new AbortController();
      await stream(model, begin(), { signal: controller.signal }, () => controller.abort()).catch(() => undefined);
      await expectSoon(
        () => engine.requests.length > 0 && engine.numRunning === 0,
        () => 'The engine is still busy with an aborted stream. Pass the signal on to ChatModel.generate.',
      );
      expectEqual(finish().samples.length, 0, 'The number of samples after an aborted stream');
    },
  },
  {
    sentence: 'A prompt over the context length is an error of that call alone.',
    check: async ({ open, begin, call }) => {
      const { model } = open({ replies: ['fine'], contextLength: 120 });
      await expectRejection(call(model, begin('word '.repeat(300))), 'A call with too long a prompt');
      expectEqual((await call(model, begin('hi'))).text, 'fine', 'The answer of the next call');
    },
  },
  {
    sentence: 'An engine that fails is called once, and its error message reaches the agent.',
    check: async ({ driver, open, begin, call, stream }) => {
      for (const how of driver.says.includes('stream') ? ([call, stream] as const) : ([call] as const)) {
        const { model, engine } = open({ replies: [{ text: '', error: new Error('the device is lost') }] });
        const error = await expectRejection(how(model, begin()), 'A call whose engine fails');
        expectEqual(
          engine.requests.length,
          1,
          'How often the engine was called (a retry would be a second sample, so turn retries off)',
        );
        expectTrue(
          allMessages(error).includes('the device is lost'),
          `The error says ${allMessages(error)}; it must say what the engine said.`,
        );
      }
    },
  },
  {
    sentence: 'A model does not answer after its episode.',
    check: async ({ open, begin, call }) => {
      const { model, engine, end } = open({ replies: ['late'] });
      end();
      await expectRejection(call(model, begin()), 'A call after the episode');
      expectEqual(engine.requests.length, 0, 'How often the engine was called after the episode');
    },
  },
  {
    sentence: 'Concurrent calls each get their own answer.',
    check: async ({ open, begin, call }) => {
      const { model } = open({ replies: async ({ text }) => `echo ${/number (\d+)/.exec(text)?.[1] ?? 'none'}` });
      const answers = await Promise.all(Array.from({ length: 32 }, (_none, at) => call(model, begin(`number ${at}`))));
      expectEqual(
        answers.map(({ text }) => text),
        answers.map((_answer, at) => `echo ${at}`),
        'The answers',
      );
    },
  },
];

function allMessages(error: unknown): string {
  const messages: string[] = [];
  for (let at = error, depth = 0; at instanceof Error && depth < 10; at = at.cause, depth++) messages.push(at.message);
  return messages.join(' <- ') || String(error);
}
