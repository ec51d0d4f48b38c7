import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EndpointServer, startEndpointServer } from './index.js';

let server: EndpointServer;

beforeAll(async () => {
  server = await startEndpointServer();
});

afterAll(() => server.close());

async function ask(path: string, body: object) {
  const episode = openScriptedEpisode({ replies: ['ok'], endpointHost: server });
  const { baseUrl, apiKey } = episode.tuner.asOpenAIEndpoint({ agentName: 'solver' });
  const init = { method: 'POST', headers: { 'x-api-key': apiKey }, body: JSON.stringify({ model: 'm', ...body }) };
  const response = await fetch(baseUrl + path, init);
  expect(response.status, await response.text()).toBe(200);
  const { solver = {} } = episode.finish().ignoredParameters;
  return { prompt: episode.engine.requests[0]?.text ?? '', ignored: solver };
}

const user = { role: 'user', content: 'hi' };

it('blocks of other models never end a call of Anthropic’s Messages', async () => {
  const content = [
    { type: 'thinking', thinking: 'hm', signature: 's' },
    { type: 'redacted_thinking', data: 'EuY' },
    { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
    { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
    { type: 'text', text: 'I looked.' },
  ];
  const messages = [user, { role: 'assistant', content }, user];
  const { prompt, ignored } = await ask('/messages', { messages, max_tokens: 50 });
  expect(prompt).toContain('I looked.');
  expect(Object.keys(ignored)).toEqual([
    'messages: redacted_thinking',
    'messages: server_tool_use',
    'messages: web_search_tool_result',
  ]);
});

it('items of other models never end a call of Responses', async () => {
  const input = [
    user,
    { type: 'reasoning', id: 'r', summary: [], encrypted_content: 'EuY' },
    { type: 'web_search_call', id: 'w', status: 'completed' },
    { type: 'code_interpreter_call', id: 'c', code: '1', container_id: 'x' },
    { type: 'compaction', encrypted_content: 'EuY' },
    { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'I will not.' }, { type: 'image' }] },
    { type: 'function_call', call_id: 'x', name: 'look', arguments: '' },
    { type: 'function_call_output', call_id: 'x', output: 'nothing' },
    user,
  ];
  const { prompt, ignored } = await ask('/responses', { input });
  expect(prompt).toMatch(/I will not\..*"name": "look", "arguments": \{\}\}/s);
  expect(Object.keys(ignored)).toEqual([
    'input: web_search_call',
    'input: code_interpreter_call',
    'input: compaction',
    'input: image',
  ]);
});

it('parts of other models never end a call of Chat Completions', async () => {
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
    { type: 'image_url', image_url: { url: 'data:' } },
    { type: 'text', text: 'I looked.' },
  ];
  const { prompt, ignored } = await ask('/chat/completions', {
    messages: [user, { role: 'assistant', content }, user],
  });
  expect(prompt).toContain('I looked.');
  expect(ignored).toEqual({ 'messages: image_url': 1 });
});
