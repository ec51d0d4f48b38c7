import type { AssistantMessage, ChatModel } from '@agentjet/core';
import type { ModelOptions, Tuner } from '@agentjet/rollout';
import { describe, expect, it } from 'vitest';
import { checkAdapter, formatReport } from './index.js';
import { plainDriver } from './testing/plain-driver.js';

/** An adapter with one fault: `change` alters its calls. */
function faulty(change: (model: ChatModel) => ChatModel['generate']): typeof plainDriver {
  const asModel = (tuner: Tuner, options: ModelOptions<ChatModel>): ChatModel =>
    tuner.selectModel(options, (model) => ({ name: 'faulty', generate: change(model) }));
  return { ...plainDriver, asModel };
}

async function brokenOf(broken: typeof plainDriver): Promise<string> {
  const { results } = await checkAdapter(broken);
  return results
    .filter(({ outcome }) => outcome === 'broken')
    .map(({ promise, detail }) => `${promise} ${detail}`)
    .join('\n');
}

const withAnswer = (change: (message: AssistantMessage) => AssistantMessage) =>
  faulty((model) => async (request, options) => {
    const response = await model.generate(request, options);
    return { ...response, message: change(response.message) };
  });

describe('checkAdapter', () => {
  it('finds a faithful adapter to keep every promise', async () => {
    const report = await checkAdapter(plainDriver);
    expect(formatReport(report)).toMatch(/^(kept .*\n)+plain: \d+ kept, 0 broken, 0 skipped$/);
    expect(report.isKept).toBe(true);
  });

  it('skips what the framework cannot express, and says so', async () => {
    const { results, isKept } = await checkAdapter({ ...plainDriver, says: [] });
    expect(isKept).toBe(true);
    expect(results).toContainEqual({
      promise: 'temperature reaches the engine.',
      outcome: 'skipped',
      detail: 'the framework has no temperature',
    });
  });

  const faults: readonly (readonly [string, typeof plainDriver, RegExp])[] = [
    ['drops the signal', faulty((model) => (request) => model.generate(request)), /aborted call .*rejec/i],
    [
      'retries',
      faulty(
        (model) => (request, options) => model.generate(request, options).catch(() => model.generate(request, options)),
      ),
      /called once.*is 2; it must be 1/,
    ],
    [
      'drops sampling',
      faulty(
        (model) =>
          ({ sampling: _sampling, ...request }, options) =>
            model.generate(request, options),
      ),
      /temperature reaches the engine.*undefined|temperature reaches the engine\. The engine's temperature is 1/,
    ],
    [
      'streams at the end',
      faulty((model) => async (request, options) => {
        const response = await model.generate(request, options?.signal ? { signal: options.signal } : {});
        options?.onDelta?.({ type: 'content', text: response.message.content });
        return response;
      }),
      /0 of 1 pieces came before the engine was done/,
    ],
    [
      'mints its own ids',
      withAnswer((message) => ({
        ...message,
        ...(message.toolCalls && { toolCalls: message.toolCalls.map((call) => ({ ...call, id: 'call_1' })) }),
      })),
      /Two calls share an id|different call ids is 1/,
    ],
    [
      'makes up words',
      withAnswer((message) => ({ ...message, content: `${message.content} (AI generated)` })),
      /text of the answer is .*AI generated/i,
    ],
    [
      'keeps another history',
      withAnswer((message) => ({ ...message, content: message.content.toUpperCase() })),
      /differs from the earlier call at token \d+: the model has/,
    ],
    [
      'drops the tools',
      faulty(
        (model) =>
          ({ tools: _tools, ...request }, options) =>
            model.generate(request, options),
      ),
      /description of the tool is not in the prompt/,
    ],
    [
      'takes a repeated request for a new one',
      faulty(
        (model) =>
          ({ requestId: _id, ...request }, options) =>
            model.generate(request, options),
      ),
      /The answers to a call, its two repeats, and another call is \["first","second"/,
    ],
    [
      'drops the wish for one call at a time',
      faulty(
        (model) =>
          ({ parallelToolCalls: _parallel, ...request }, options) =>
            model.generate(request, options),
      ),
      /The number of calls is 2; it must be 1/,
    ],
    [
      'turns calls around',
      withAnswer((message) => ({
        ...message,
        ...(message.toolCalls && { toolCalls: message.toolCalls.toReversed() }),
      })),
      /names of the calls is \["multiply","add"\]/,
    ],
    [
      'turns results around',
      faulty((model) => (request, options) => {
        const results = request.messages.filter(({ role }) => role === 'tool');
        return model.generate(
          {
            ...request,
            messages: request.messages.map((message) =>
              message.role === 'tool' ? (results.pop() ?? message) : message,
            ),
          },
          options,
        );
      }),
      /results are not in the order of the calls/,
    ],
    [
      'drops parameters',
      faulty(
        (model) => (request, options) =>
          model.generate(
            { ...request, ...(request.tools && { tools: request.tools.map((spec) => ({ ...spec, parameters: {} })) }) },
            options,
          ),
      ),
      /parameter "b" is missing/,
    ],
    [
      'keeps answers',
      faulty((model) => {
        const kept = new Map<string, ReturnType<ChatModel['generate']>>();
        return (request, options) => {
          const key = JSON.stringify(request);
          const answer = kept.get(key) ?? model.generate(request, options);
          kept.set(key, answer);
          return answer;
        };
      }),
      /not a sample of the model\) is 1; it must be 2/,
    ],
    [
      'mints its own ids if it streams',
      faulty((model) => async (request, options) => {
        const response = await model.generate(request, options);
        const { message } = response;
        return options?.onDelta === undefined
          ? response
          : {
              ...response,
              message: {
                ...message,
                ...(message.toolCalls && {
                  toolCalls: message.toolCalls.map((call, at) => ({ ...call, id: `call_${at}` })),
                }),
              },
            };
      }),
      /Two calls share an id: call_0, call_0/,
    ],
  ];

  it.each(faults)('says in words what is wrong with one that %s', async (_name, broken, words) => {
    expect(await brokenOf(broken)).toMatch(words);
  });

  it('says what is wrong with one that returns a copy of the debug model', async () => {
    const asModel = (tuner: Tuner, options: ModelOptions<ChatModel>): ChatModel => ({
      ...tuner.selectModel(options, (model) => model),
    });
    expect(await brokenOf({ ...plainDriver, asModel })).toMatch(/debugModel itself.*returned another object/);
  });

  it('says what is wrong with one that makes its model later', async () => {
    const asModel = (async (tuner: Tuner, options: ModelOptions<ChatModel>) =>
      tuner.selectModel(options, (model) => model)) as never;
    expect(await brokenOf({ ...plainDriver, asModel })).toMatch(
      /asModel returned a promise; it must return the model itself/,
    );
  });

  it('says what is missing from an answer', async () => {
    expect(await brokenOf({ ...plainDriver, call: (async () => ({ text: 'x' })) as never })).toMatch(
      /call resolved with \{"text":"x"\}; it must be \{ history, text, toolCalls \}/,
    );
  });

  it.each([
    [{}, 'no function asModel'],
    [{ ...plainDriver, stream: undefined }, 'no function stream, although it says "stream"'],
    [
      { ...plainDriver, says: undefined },
      '"says" is undefined; it must list the features of the framework: stream, abort',
    ],
    [{ ...plainDriver, says: ['streaming'] }, 'says "streaming", which is not a feature of the suite'],
    [{ ...plainDriver, name: undefined }, 'has no name'],
  ])('refuses a driver that it cannot use: %#', async (wrong, words) => {
    await expect(checkAdapter(wrong as never)).rejects.toThrow(words);
  });
});
