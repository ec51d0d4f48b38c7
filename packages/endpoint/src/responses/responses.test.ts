import { openScriptedEpisode, type ScriptedEpisodeOptions } from '@agentjet/rollout/testing';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EndpointServer, startEndpointServer } from '../index.js';

let server: EndpointServer;

beforeAll(async () => {
  server = await startEndpointServer();
});

afterAll(() => server.close());

function open(replies: ScriptedEpisodeOptions['replies']) {
  const episode = openScriptedEpisode({ replies, endpointHost: server });
  const { baseUrl, apiKey } = episode.tuner.asOpenAIEndpoint({ agentName: 'solver' });
  return { ...episode, openai: new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 }) };
}

const thought = '<think>\nhm\n</think>\n\nhello';
const callText = (name: string): string => `<tool_call>\n{"name": "${name}", "arguments": {"a": 1}}\n</tool_call>`;
const user = (content: string) => ({ role: 'user' as const, content });
const reference = (id: string) => ({ type: 'item_reference' as const, id });
const ask = (name: string) => ({ type: 'function' as const, name, parameters: { type: 'object' }, strict: false });

describe('item references', () => {
  it.each([false, true])(
    'are replaced by items of earlier answers, thinking and calls included (stream: %s)',
    async (stream) => {
      const { openai, finish } = open([thought, callText('add'), 'done']);
      const send = async (input: OpenAI.Responses.ResponseInput) => {
        const body = { model: 'm', input, tools: [ask('add')] };
        return stream ? openai.responses.stream(body).finalResponse() : openai.responses.create(body);
      };
      const first = await send([user('hi')]);
      const said = first.output.map(({ id }) => reference(id ?? ''));
      const second = await send([user('hi'), ...said, user('1+2?')]);
      const [call] = second.output;
      if (call?.type !== 'function_call') throw new Error('the second answer is a call');
      const result = { type: 'function_call_output' as const, call_id: call.call_id, output: '3' };
      await send([user('hi'), ...said, user('1+2?'), reference(call.id ?? ''), result]);
      // All forks come from qwen3's template, which removes earlier thinking.
      const { stats } = finish();
      expect(stats.foreignMessages).toEqual({});
      expect(Object.keys(stats.forks['solver'] ?? {})).toEqual(['template']);
    },
  );

  it('may leave their type out, and are refused by their id if nothing is stored', async () => {
    const { openai } = open(['hello']);
    const { output } = await openai.responses.create({ model: 'm', input: 'hi' });
    const { output: kept } = await openai.responses.create({ model: 'm', input: 'hi', store: false });
    const send = (id: string) => openai.responses.create({ model: 'm', input: [{ id }, user('and?')] });
    await expect(send(output[0]?.id ?? '')).resolves.toMatchObject({ output_text: 'hello' });
    const error = { status: 400, code: 'item_not_found', message: expect.stringContaining(kept[0]?.id ?? 'msg') };
    await expect(send(kept[0]?.id ?? '')).rejects.toMatchObject(error);
  });
});

describe('the response object', () => {
  it('repeats what was asked, so that clients find their settings again', async () => {
    const { openai } = open(['{}']);
    const format = { type: 'json_schema' as const, name: 'answer', schema: { type: 'object' } };
    const asked = { text: { format, verbosity: 'low' as const }, reasoning: { effort: 'low' as const }, user: 'u' };
    const response = await openai.responses.create({ model: 'm', input: 'hi', ...asked, store: false });
    expect(response).toMatchObject({ ...asked, store: false, truncation: 'disabled', background: false });
    expect(await openai.responses.create({ model: 'm', input: 'hi' })).toMatchObject({
      text: { format: { type: 'text' } },
      reasoning: { effort: null, summary: null },
      store: true,
      user: null,
    });
  });

  it.each([false, true])('has logprobs if they are included (stream: %s)', async (stream) => {
    const { openai, engine } = open(['hello there']);
    const body = { model: 'm', input: 'hi', include: ['message.output_text.logprobs' as const] };
    const response = stream ? await openai.responses.stream(body).finalResponse() : await openai.responses.create(body);
    const [message] = response.output;
    const [part] = message?.type === 'message' ? message.content : [];
    const logprobs = part?.type === 'output_text' ? part.logprobs : undefined;
    expect(logprobs?.map(({ logprob }) => logprob)).toEqual([...(engine.requests[0]?.completion?.logprobs ?? [])]);
    expect(logprobs?.map(({ token }) => token).join('')).toContain('hello there');
  });
});

describe('tools', () => {
  const agents = { type: 'namespace' as const, name: 'agents', description: 'Other agents.' };

  it.each([false, true])(
    'of a namespace are functions, and their calls have the namespace (stream: %s)',
    async (stream) => {
      const { openai, engine, finish } = open([callText('spawn'), 'done']);
      const tools = [ask('shell'), { ...agents, tools: [ask('spawn')] }];
      const send = async (input: OpenAI.Responses.ResponseInput) => {
        const body = { model: 'm', input, tools };
        return stream ? openai.responses.stream(body).finalResponse() : openai.responses.create(body);
      };
      const first = await send([user('go')]);
      const [call] = first.output;
      expect(call).toMatchObject({ type: 'function_call', name: 'spawn', namespace: 'agents', arguments: '{"a": 1}' });
      if (call?.type !== 'function_call') throw new Error('the answer is a call');
      const result = { type: 'function_call_output' as const, call_id: call.call_id, output: 'ok' };
      await send([user('go'), call, result]);
      expect(engine.requests[0]?.text).toContain('"name": "spawn"');
      expect(finish()).toMatchObject({ samples: [expect.anything()], stats: { forks: {}, foreignMessages: {} } });
    },
  );

  it('of one name in two namespaces are distinguished', async () => {
    const { openai, engine } = open([callText('b_run')]);
    const tools = ['a', 'b'].map((name) => ({ ...agents, name, tools: [ask('run')] }));
    const { output } = await openai.responses.create({ model: 'm', input: 'go', tools });
    expect(output).toMatchObject([{ name: 'run', namespace: 'b' }]);
    expect(engine.requests[0]?.text).toMatch(/"name": "a_run"[^]*"name": "b_run"/);
  });

  it('that a server would run are left out and counted, so that the default Codex works', async () => {
    const { openai, engine, finish } = open(['hello']);
    const tools = [ask('shell'), { type: 'web_search' as const }];
    await openai.responses.create({ model: 'm', input: 'hi', tools });
    expect(engine.requests[0]?.text).not.toContain('web_search');
    expect(finish().ignoredParameters).toEqual({ solver: { 'tools: web_search': 1 } });
  });

  it('that are neither functions nor text are refused by their type', async () => {
    const { openai } = open(['hello']);
    await expect(
      openai.responses.create({ model: 'm', input: 'hi', tools: [{ type: 'local_shell' }] }),
    ).rejects.toMatchObject({ status: 400, param: 'tools', message: expect.stringContaining("'local_shell'") });
  });

  it('may be limited to some of them', async () => {
    const { openai, engine } = open(['hello', callText('shell')]);
    const tools = [ask('shell'), ask('web')];
    const allowed = { type: 'allowed_tools' as const, tools: [{ type: 'function', name: 'shell' }] };
    await openai.responses.create({ model: 'm', input: 'hi', tools, tool_choice: { ...allowed, mode: 'auto' } });
    expect(engine.requests[0]?.text).toContain('"shell"');
    expect(engine.requests[0]?.text).not.toContain('"web"');
    const forced = { ...allowed, mode: 'required' as const };
    await openai.responses.create({ model: 'm', input: 'hi', tools, tool_choice: forced });
    expect(engine.requests[1]?.text).toMatch(/<tool_call>\s*\{"name":\s*"?$/);
  });

  it('may be limited in a chat completion too', async () => {
    const { openai, engine } = open(['hello']);
    const tools = ['shell', 'web'].map((name) => ({ type: 'function' as const, function: { name } }));
    await openai.chat.completions.create({
      model: 'm',
      messages: [user('hi')],
      tools,
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'web' } }] },
      },
    });
    expect(engine.requests[0]?.text).not.toContain('"shell"');
  });
});
