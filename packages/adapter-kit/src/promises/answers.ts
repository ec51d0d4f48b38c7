import { toolCallText } from '@agentjet/rollout/testing';
import { addTool } from '../scripts.js';
import { type AdapterPromise, expectEqual, expectTrue } from '../promise.js';

export const answerPromises: readonly AdapterPromise[] = [
  {
    sentence: 'The question and the system message reach the model, and its text comes back unchanged.',
    check: async ({ open, begin, call }) => {
      const { model, engine } = open({ replies: [' It is\n three. 🙂'] });
      const answer = await call(model, begin('What is 1 + 2?'));
      // Many frameworks trim text. The record still has the model's own blanks.
      expectEqual(answer.text.trim(), 'It is\n three. 🙂', 'The text of the answer');
      const prompt = engine.requests[0]?.text ?? '';
      expectTrue(prompt.includes('What is 1 + 2?'), `The question is not in the prompt: ${prompt}`);
      expectTrue(prompt.includes('You are a calculator.'), `The system message is not in the prompt: ${prompt}`);
    },
  },
  {
    sentence: 'Tools reach the prompt, and parallel calls come back whole, in order, each with its own id.',
    check: async ({ open, begin, call }) => {
      const { model, engine } = open({
        replies: [toolCallText('add', '{"a": 1, "b": 2}') + toolCallText('multiply', '{"a": 3, "b": 4}')],
      });
      const multiplyTool = { ...addTool, name: 'multiply', description: 'Multiplies two numbers.' };
      const { toolCalls } = await call(model, begin(), { tools: [addTool, multiplyTool] });
      const prompt = engine.requests[0]?.text ?? '';
      for (const { description } of [addTool, multiplyTool])
        expectTrue(prompt.includes(description ?? ''), 'The description of the tool is not in the prompt.');
      expectTrue(
        prompt.includes('"b"'),
        'The parameters of the tool are not in the prompt: its parameter "b" is missing.',
      );
      expectEqual(
        toolCalls.map(({ name }) => name),
        ['add', 'multiply'],
        'The names of the calls',
      );
      expectEqual(new Set(toolCalls.map(({ id }) => id)).size, 2, 'The number of different call ids');
    },
  },
  {
    sentence: 'Tool results reach the model, in the order of the calls.',
    check: async ({ driver, open, begin, call }) => {
      const { model, engine } = open({
        replies: [toolCallText('add', '{"a": 1, "b": 2}') + toolCallText('add', '{"a": 3, "b": 4}'), 'three'],
      });
      const first = await call(model, begin(), { tools: [addTool] });
      const contents = ['the sum is 3', 'the sum is 7'];
      const results = first.toolCalls.map(({ id, name }, place) => ({ id, name, content: contents[place] ?? '' }));
      await call(model, driver.addToolResults(first.history, results), { tools: [addTool] });
      const prompt = engine.requests[1]?.text ?? 'there is none';
      const places = contents.map((content) => prompt.indexOf(content));
      expectTrue(!places.includes(-1), `The results are not in the second prompt: ${prompt}`);
      expectTrue((places[0] ?? 0) < (places[1] ?? 0), `The results are not in the order of the calls: ${prompt}`);
    },
  },
  {
    sentence:
      'With tool choice none, the prompt has no tools. With required or a name, it ends with the beginning of a call.',
    needs: ['toolChoice'],
    check: async ({ open, begin, call }) => {
      const hidden = open({ replies: ['no tools'] });
      await call(hidden.model, begin(), { tools: [addTool], toolChoice: 'none' });
      expectTrue(
        !(hidden.engine.requests[0]?.text.includes('Adds two numbers.') ?? true),
        'With tool choice none the tool is in the prompt.',
      );
      for (const [toolChoice, said] of [
        ['required', ' "add", "arguments": {"a": 1}}\n</tool_call>'],
        [{ name: 'add' }, ' {"a": 1}}\n</tool_call>'],
      ] as const) {
        const { toolCalls, text } = await call(open({ replies: [said] }).model, begin(), {
          tools: [addTool],
          toolChoice,
        });
        expectEqual(
          [toolCalls.map(({ name }) => name), text],
          [['add'], ''],
          `The calls and the text with tool choice ${JSON.stringify(toolChoice)}`,
        );
      }
    },
  },
  {
    sentence: 'Without parallel tool calls an answer has one call, even if the model would make two.',
    needs: ['parallelToolCalls'],
    check: async ({ open, begin, call }) => {
      const { model } = open({
        replies: [toolCallText('add', '{"a": 1, "b": 2}') + toolCallText('add', '{"a": 3, "b": 4}')],
      });
      const { toolCalls } = await call(model, begin(), { tools: [addTool], parallelToolCalls: false });
      expectEqual(toolCalls.length, 1, 'The number of calls');
    },
  },
  {
    sentence: 'Thinking is shown separately from the text.',
    needs: ['reasoning'],
    check: async ({ open, begin, call }) => {
      const answer = await call(open({ replies: ['<think>\nsecret thought\n</think>\n\nanswer'] }).model, begin());
      expectEqual([answer.reasoning?.trim(), answer.text.trim()], ['secret thought', 'answer'], 'Thinking and text');
    },
  },
  {
    sentence: 'Usage counts the tokens of the prompt and of the answer.',
    needs: ['usage'],
    check: async ({ open, begin, call }) => {
      const { model, engine } = open({ replies: ['some answer'] });
      const { usage } = await call(model, begin());
      const [request] = engine.requests;
      expectEqual(
        usage,
        { promptTokens: request?.request.promptIds.length, completionTokens: request?.completion?.ids.length },
        'Usage',
      );
    },
  },
  {
    sentence:
      'The finish reason of an answer is length if it was truncated, stop if it is complete, and tool calls if it has any.',
    needs: ['finishReason'],
    check: async ({ driver, open, begin, call }) => {
      const reasonOf = async (text: string, maxTokens: number) => {
        const sampling = driver.says.includes('maxTokens') ? { maxTokens } : {};
        return (
          (
            await call(open({ replies: [text], sampling: { maxTokens } }).model, begin(), {
              tools: [addTool],
              sampling,
            })
          ).finishReason ?? 'none'
        );
      };
      expectTrue(
        /length|incomplete/i.test(await reasonOf('many more words', 2)),
        `A truncated answer says "${await reasonOf('many more words', 2)}".`,
      );
      expectTrue(
        /stop|completed/i.test(await reasonOf('done', 99)),
        `A finished answer says "${await reasonOf('done', 99)}".`,
      );
      expectTrue(
        /tool/i.test(await reasonOf(toolCallText('add', '{}'), 99)),
        `An answer with calls says "${await reasonOf(toolCallText('add', '{}'), 99)}".`,
      );
    },
  },
  {
    sentence: 'A call block that cannot be parsed stays text, whole or streamed.',
    check: async ({ driver, open, begin, call, stream }) => {
      const broken = toolCallText('add', '{"a": 1, "b": ');
      const whole = await call(open({ replies: [broken] }).model, begin(), { tools: [addTool] });
      expectEqual(
        [whole.toolCalls.length, whole.text.includes('"b": ')],
        [0, true],
        'Calls, and whether the broken block is in the text',
      );
      if (!driver.says.includes('stream')) return;
      const streamed = await stream(open({ replies: [{ text: broken, tokenDelayMs: 0 }] }).model, begin(), {
        tools: [addTool],
      });
      expectEqual([streamed.toolCalls.length, streamed.text], [0, whole.text], 'Calls and text when it is streamed');
    },
  },
];
