import { deserialize, serialize } from 'node:v8';
import { EngineError, WorkflowError, type ChatResponse } from '@agentjet/core';
import { expect, it } from 'vitest';
import { openChannel } from './channel.js';
import type { AskedCall, Piece, ProcessFunctions, RunFunctions } from './functions.js';
import { SentCalls } from './sent-model.js';

type Listener = (message: unknown) => void;

/** Two ends of a channel that sends structured clones, as between two processes. */
function createPorts() {
  const ends = [0, 1].map(() => ({ listeners: [] as Listener[] }));
  const [run, process] = ends.map(({ listeners }, at) => ({
    connected: true,
    on: (_event: 'message', listener: Listener) => listeners.push(listener),
    send: (message: unknown) => {
      const bytes = serialize(message);
      setImmediate(() => ends[1 - at]?.listeners.forEach((listen) => listen(deserialize(bytes))));
    },
  }));
  if (run === undefined || process === undefined) throw new Error('A channel has two ends.');
  return { run, process };
}

type Answer = (asked: AskedCall, stream: (piece: Piece) => void) => Promise<ChatResponse>;
type Count = RunFunctions['countPromptTokens'];

const noCount: Count = () => Promise.reject(new Error('Nothing was to be counted.'));

/** Returns a model in a workflow process, and the calls that the model aborted. The run replies with `answer`. */
function createModel(answer: Answer, countPromptTokens = noCount) {
  const ports = createPorts();
  const aborted: number[] = [];
  const there = openChannel<ProcessFunctions, RunFunctions>(ports.run, {
    generate: (asked) => answer(asked, (piece) => void there.stream.asEvent(asked.call, piece)),
    countPromptTokens,
    abort: (call) => void aborted.push(call),
    judgeAway: () => undefined,
  });
  const here = openChannel<RunFunctions, Pick<ProcessFunctions, 'stream'>>(ports.process, {
    stream: (call, piece) => calls.stream(call, piece),
  });
  const calls = new SentCalls({
    generate: here.generate,
    countPromptTokens: here.countPromptTokens,
    abort: (call) => void here.abort.asEvent(call),
  });
  return { model: calls.createModel('e', { agentName: 'a', targetTag: 'a' }), aborted };
}

const request = { messages: [{ role: 'user', content: 'Hi' }] } as const;
const logprobs = [{ id: 7, text: 'Ho', logprob: -0.1 }];
const response: ChatResponse = {
  id: 'c1',
  model: 'm',
  message: { role: 'assistant', content: 'Ho!' },
  finishReason: 'stop',
  stopText: '\n',
  usage: { promptTokens: 3, completionTokens: 2 },
  logprobs,
  malformedToolCalls: 1,
};

it('gives a process the whole answer of the run, after its pieces in their order', async () => {
  const { model } = createModel(async ({ request: asked, isStreamed, wantsTokens }, stream) => {
    expect([asked, isStreamed, wantsTokens]).toEqual([request, true, true]);
    stream({ tokens: logprobs });
    stream({ delta: { type: 'content', text: 'Ho' } });
    stream({ delta: { type: 'content', text: '!' } });
    return response;
  });
  const seen: unknown[] = [];
  const onDelta = (delta: unknown): void => void seen.push(delta);
  const onTokens = (tokens: unknown): void => void seen.push(tokens);
  expect(await model.generate(request, { onDelta, onTokens })).toEqual(response);
  expect(seen).toEqual([logprobs, { type: 'content', text: 'Ho' }, { type: 'content', text: '!' }]);
});

it('keeps the class and the code of an error', async () => {
  const thrown = [new WorkflowError('too_many_calls', 'Two are enough.'), new EngineError('context_overflow', 'Long.')];
  for (const error of [...thrown, new TypeError('Odd.')]) {
    const caught: unknown = await createModel(() => Promise.reject(error))
      .model.generate(request)
      .catch((e) => e);
    const isOurs = thrown.some((each) => each === error);
    expect(caught).toBeInstanceOf(isOurs ? error.constructor : EngineError);
    expect(caught).toMatchObject({ message: error.message, code: 'code' in error ? error.code : 'failed' });
  }
});

it('ends a call whose listener throws, with the error of the listener', async () => {
  const { model, aborted } = createModel((_asked, stream) => {
    stream({ delta: { type: 'content', text: 'Ho' } });
    return new Promise(() => undefined);
  });
  const onDelta = (): void => {
    throw new RangeError('Enough.');
  };
  await expect(model.generate(request, { onDelta })).rejects.toThrow(new RangeError('Enough.'));
  await expect.poll(() => aborted).toEqual([0]);
});

it('lets the run count the tokens of a prompt, and gets its refusals', async () => {
  const answer: Answer = () => Promise.reject(new Error('A count asks for no answer.'));
  const { model } = createModel(answer, async ({ agent, request: asked }) => {
    if (asked.messages.length > 1) throw new EngineError('context_overflow', 'Long.');
    return agent.agentName === 'a' ? 7 : 0;
  });
  expect(await model.countPromptTokens(request)).toBe(7);
  const long = { messages: [...request.messages, ...request.messages] };
  await expect(model.countPromptTokens(long)).rejects.toMatchObject({ code: 'context_overflow' });
});

it('reports an abort to the run, and rejects once the run has ended the call', async () => {
  const controller = new AbortController();
  let cut: (error: EngineError) => void = () => undefined;
  const { model, aborted } = createModel(() => new Promise((_answer, reject) => void (cut = reject)));
  const answer = model.generate(request, { signal: controller.signal });
  controller.abort(new Error('Changed my mind.'));
  await expect.poll(() => aborted).toEqual([0]);
  cut(new EngineError('failed', 'Cut.'));
  await expect(answer).rejects.toMatchObject({ code: 'aborted', cause: new Error('Changed my mind.') });
  await expect(model.generate(request, { signal: controller.signal })).rejects.toMatchObject({ code: 'aborted' });
});

it('refuses a request that cannot be sent', async () => {
  const { model } = createModel(async () => response);
  const messages = [{ role: 'user', content: () => 'Hi' }] as unknown as typeof request.messages;
  await expect(model.generate({ messages })).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('cannot be sent to the run'),
  });
});
