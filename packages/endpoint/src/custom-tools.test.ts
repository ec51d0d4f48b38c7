import { openScriptedEpisode } from '@agentjet/rollout/testing';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EndpointServer, startEndpointServer } from './index.js';

let server: EndpointServer;
beforeAll(async () => {
  server = await startEndpointServer();
});
afterAll(() => server.close());

const patch = '*** Begin Patch\n+ "quoted" line\n*** End Patch';
const callText = `<tool_call>\n{"name": "apply_patch", "arguments": {"input": ${JSON.stringify(patch)}}}\n</tool_call>`;
const user = { role: 'user' as const, content: 'go' };

function open() {
  const episode = openScriptedEpisode({ replies: [callText, 'done'], endpointHost: server });
  const { baseUrl, apiKey } = episode.tuner.asOpenAIEndpoint({ agentName: 'coder' });
  return { ...episode, openai: new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 }) };
}

describe.each([false, true])('a tool that takes text (stream: %s)', (stream) => {
  it('is called with its text over Responses, and its result comes back to the same answer', async () => {
    const { openai, engine, finish } = open();
    const format = { type: 'grammar' as const, syntax: 'lark' as const, definition: 'start: /.+/' };
    const tools = [{ type: 'custom' as const, name: 'apply_patch', description: 'Edits files.', format }];
    const send = async (input: OpenAI.Responses.ResponseInput) => {
      const body = { model: 'm', input, tools };
      return stream ? openai.responses.stream(body).finalResponse() : openai.responses.create(body);
    };
    const { output } = await send([user]);
    const [call] = output;
    expect(output).toMatchObject([{ type: 'custom_tool_call', name: 'apply_patch', input: patch }]);
    if (call?.type !== 'custom_tool_call') throw new Error('the answer is a call');
    await send([user, call, { type: 'custom_tool_call_output', call_id: call.call_id, output: 'ok' }]);
    expect(engine.requests[0]?.text).toMatch(/"name": "apply_patch"[^]*Edits files/);
    const { stats, samples, ignoredParameters } = finish();
    expect([stats.forks, stats.foreignMessages, samples.length]).toEqual([{}, {}, 1]);
    expect(ignoredParameters).toEqual({ coder: { 'tools: grammar': 2 } });
  });

  it('is called with its text over Chat Completions', async () => {
    const { openai, finish } = open();
    const tools = [{ type: 'custom' as const, custom: { name: 'apply_patch' } }];
    const ask = { model: 'm', tools };
    const first = await readCall(openai, { ...ask, messages: [user] }, stream);
    expect(first).toMatchObject({ type: 'custom', custom: { name: 'apply_patch', input: patch } });
    const messages = [
      user,
      { role: 'assistant' as const, tool_calls: [first] },
      { role: 'tool' as const, tool_call_id: first.id, content: 'ok' },
    ];
    await openai.chat.completions.create({ ...ask, messages });
    const { stats, samples } = finish();
    expect([stats.forks, stats.foreignMessages, samples.length]).toEqual([{}, {}, 1]);
  });
});

type CustomCall = OpenAI.ChatCompletionMessageCustomToolCall;

/** The only call of an answer, whole or assembled from its pieces. */
async function readCall(
  openai: OpenAI,
  body: OpenAI.ChatCompletionCreateParamsNonStreaming,
  stream: boolean,
): Promise<CustomCall> {
  if (!stream) {
    const { choices } = await openai.chat.completions.create(body);
    return choices[0]?.message.tool_calls?.[0] as CustomCall;
  }
  const call = { id: '', type: 'custom' as const, custom: { name: '', input: '' } };
  let numPieces = 0;
  for await (const { choices } of await openai.chat.completions.create({ ...body, stream: true })) {
    for (const piece of (choices[0]?.delta.tool_calls ?? []) as unknown as readonly Partial<CustomCall>[]) {
      numPieces++;
      call.id += piece.id ?? '';
      call.custom.name += piece.custom?.name ?? '';
      call.custom.input += piece.custom?.input ?? '';
    }
  }
  expect(numPieces).toBeGreaterThan(2);
  return call;
}
