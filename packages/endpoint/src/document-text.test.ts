import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { startEndpointServer } from './index.js';

const text = (content: string) => ({ type: 'text', text: content });

async function post(content: readonly object[], toolResult?: readonly object[]) {
  const host = await startEndpointServer();
  const episode = openScriptedEpisode({ replies: ['fine'], endpointHost: host });
  const { baseUrl, apiKey } = episode.tuner.asOpenAIEndpoint({ agentName: 'reader' });
  const messages =
    toolResult === undefined
      ? [{ role: 'user', content }]
      : [
          { role: 'user', content: 'look' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'find', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: toolResult }] },
        ];
  const response = await fetch(`${baseUrl}/messages`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', max_tokens: 9, messages }),
  });
  const body: unknown = await response.json();
  await host.close();
  return { status: response.status, body, prompt: episode.engine.requests[0]?.text, record: episode.finish() };
}

const plain = { type: 'document', title: 'Terms', context: 'of 2026', source: { type: 'text', data: 'Pay at once.' } };
const parts = { type: 'document', source: { type: 'content', content: [text('one'), text('two')] } };
const found = { type: 'search_result', title: 'Oslo', source: 'https://oslo.example', content: [text('A city.')] };

it('documents and search results reach the model as text, also inside the result of a tool', async () => {
  const { status, prompt, record } = await post([{ ...plain, citations: { enabled: true } }, parts, text(' And?')]);
  expect(status).toBe(200);
  expect(prompt).toContain('Terms\nof 2026\nPay at once.one\ntwo And?');
  expect(record.ignoredParameters).toEqual({ reader: { 'messages[].content[].citations.enabled': 1 } });
  expect((await post([], [found])).prompt).toContain('Oslo (https://oslo.example)\nA city.');
});

it('a file is refused by the type of its block', async () => {
  const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' };
  const { status, body } = await post([{ type: 'document', source }]);
  expect(status).toBe(400);
  expect(JSON.stringify(body)).toContain("Content of type 'document' without");
});
