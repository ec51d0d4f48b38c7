import { toolCallText } from '@agentjet/rollout/testing';
import { toErrorMessage } from '@agentjet/core';
import { addTool } from '../scripts.js';
import { type AdapterPromise, type Bench, expectEqual, expectRejection, expectTrue } from '../promise.js';

const thought = 'a secret thought';

/** Returns the prompt after an answer from which the framework removed the thinking. */
async function promptAfterPruning<M, H>(
  { driver, open, begin, call }: Bench<M, H>,
  historyPolicy: 'as_sent' | 'as_generated',
): Promise<string> {
  const thinking = `<think>\n${thought}\n</think>\n\n${toolCallText('add', '{"a": 1,  "b": 2}')}`;
  const { model, engine } = open({ replies: [thinking, 'three'], historyPolicy });
  const first = await call(model, begin(), { tools: [addTool] });
  const results = first.toolCalls.map(({ id, name }) => ({ id, name, content: '3' }));
  const history = driver.withoutThinking?.(first.history) ?? first.history;
  await call(model, driver.addToolResults(history, results), { tools: [addTool] });
  return engine.requests[1]?.text ?? 'there is none';
}

/** Errors of JavaScript itself, which do not help the author of an agent. */
const rawErrors = /is not a function|is not iterable|Cannot read propert|undefined/;

/**
 * Whether the framework itself threw the error, before the model was called. The adapter cannot change such a message.
 */
function isFrameworks(error: unknown): boolean {
  const frame = (error instanceof Error ? error.stack : undefined)?.split('\n').find((line) => /^\s+at /.test(line));
  return frame !== undefined && /node_modules/.test(frame) && !/node_modules[\\/]@agentjet/.test(frame);
}

export const historyPromises: readonly AdapterPromise[] = [
  {
    sentence: 'Thinking that the framework removes stays removed with history_policy as_sent, and only then.',
    needs: ['reasoning'],
    driverFunction: 'withoutThinking',
    check: async (bench) => {
      const seen = [await promptAfterPruning(bench, 'as_sent'), await promptAfterPruning(bench, 'as_generated')];
      expectEqual(
        seen.map((prompt) => prompt.includes(thought)),
        [false, true],
        'Whether the thinking is in the prompt, with as_sent and with as_generated,',
      );
    },
  },
  {
    sentence: 'Text that the framework removes from a result or a question stays removed with history_policy as_sent.',
    check: async ({ driver, open, begin, call }) => {
      const { model, engine } = open({
        replies: [toolCallText('add', '{"a": 1,  "b": 2}'), 'x'],
        historyPolicy: 'as_sent',
      });
      const asked = begin();
      const { history, toolCalls } = await call(model, asked, { tools: [addTool] });
      const results = (content: string) => toolCalls.map(({ id, name }) => ({ id, name, content }));
      await call(model, driver.addToolResults(history, results('a long result')), { tools: [addTool] });
      await call(model, driver.addToolResults(history, results('[cleared]')), { tools: [addTool] });
      await call(model, driver.addQuestion(driver.begin('A summary.', 'Be brief.'), 'And now?'));
      const [, , cleared = '', summed = ''] = engine.requests.map(({ text }) => text);
      expectEqual(
        [cleared.includes('a long result'), cleared.includes('[cleared]'), summed.includes('What is 1 + 2?')],
        [false, true, false],
        'Whether the old result, the new one, and the old question are in the prompts',
      );
    },
  },
  {
    sentence:
      'Answers of other providers never make a call fail: their text is shown, and parts that cannot be shown are counted.',
    driverFunction: 'addOthersAnswers',
    check: async ({ driver, open, begin, call }) => {
      const histories = driver.addOthersAnswers?.(begin(), 'I am another model.') ?? [];
      for (const [at, history] of histories.entries()) {
        const { model, engine, finish } = open({ replies: ['ok'] });
        await call(model, driver.addQuestion(history, 'And you?'));
        const prompt = engine.requests[0]?.text ?? 'there is none';
        expectTrue(prompt.includes('I am another model.'), `Answer ${at} of another provider is not shown: ${prompt}`);
        const ignored = Object.values(finish().ignoredParameters).flatMap(Object.values);
        expectTrue(
          ignored.every((count) => count === 1),
          `Answer ${at} counts one of its parts ${ignored.join(', ')} times; each request must count it once.`,
        );
      }
    },
  },
  {
    sentence: 'Content that is neither a string nor parts is a readable error.',
    check: async ({ driver, open, begin, call }) => {
      for (const content of [5, { text: 'hi' }, true] as unknown as readonly string[]) {
        const { model, engine } = open({ replies: ['ok'] });
        for (const history of [begin(content), driver.addQuestion(begin(), content)]) {
          const error = await expectRejection(
            call(model, history),
            `A call with ${JSON.stringify(content)} as content`,
          );
          const message = isFrameworks(error) ? '' : toErrorMessage(error);
          expectTrue(
            !rawErrors.test(message),
            `The error says "${message}"; it must say what is wrong with the content.`,
          );
        }
        expectEqual(engine.requests.length, 0, 'How often the engine was called');
      }
    },
  },
];
