import { type EndpointServer, startEndpointServer } from '@agentjet/endpoint';
import { asModel as asGoogle } from '@agentjet/google';
import { asModel as asLangChainModel } from '@agentjet/langgraph';
import { asModel as asAiSdkModel } from '@agentjet/ai-sdk';
import { asModel as asAgentsModel } from '@agentjet/openai-agents';
import { asModel as asAnthropic } from '@agentjet/anthropic';
import { asModel as asOpenAI } from '@agentjet/openai';
import { asModel as asChatModel } from '@agentjet/react';
import type { Tuner } from '@agentjet/rollout';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { HumanMessage } from '@langchain/core/messages';
import { afterAll, beforeAll, expect, it } from 'vitest';

/** If content has a kind that no message can have, the request is refused with an error that names the kind. */

let server: EndpointServer;

beforeAll(async () => {
  server = await startEndpointServer();
});

afterAll(() => server.close());

const named = { agentName: 'solver' };
const contents: readonly unknown[] = [5, true, { text: 'hi' }, [5], [null], [{ type: 5 }], [{ type: 'text', text: 5 }]];

const post = async (tuner: Tuner, path: string, body: object): Promise<unknown> => {
  const { baseUrl, apiKey } = tuner.asOpenAIEndpoint(named);
  const init = { method: 'POST', headers: { 'x-api-key': apiKey }, body: JSON.stringify(body) };
  const answer = await fetch(`${baseUrl}/${path}`, init);
  if (answer.ok) return answer.text();
  throw Object.assign(new Error(await answer.text()), { status: answer.status });
};
const overHttp = (path: string, toBody: (content: unknown) => object) => (tuner: Tuner, content: unknown) =>
  post(tuner, path, { model: 'm', ...toBody(content) });

const roles = ['user', 'system', 'assistant', 'tool'] as const;
const message = (role: string, content: unknown) => ({
  role,
  content,
  ...(role === 'tool' && { tool_call_id: 'c', toolCallId: 'c' }),
});

const senders: Readonly<Record<string, (tuner: Tuner, content: unknown) => Promise<unknown>>> = {
  ...Object.fromEntries(
    roles.map((role) => [
      `chat, ${role}`,
      overHttp('chat/completions', (content) => ({
        messages: [{ role: 'user', content: 'x' }, message(role, content)],
      })),
    ]),
  ),
  ...Object.fromEntries(
    roles.map((role) => [
      `react, ${role}`,
      async (tuner: Tuner, content: unknown) =>
        asChatModel(tuner, named).generate({
          messages: [{ role: 'user', content: 'x' }, message(role, content) as never],
          responseFormat: { type: 'json_object' },
        }),
    ]),
  ),
  messages: overHttp('messages', (content) => ({ max_tokens: 5, messages: [{ role: 'user', content }] })),
  'messages, system': overHttp('messages', (content) => ({
    max_tokens: 5,
    system: content,
    messages: [{ role: 'user', content: 'x' }],
  })),
  'messages, a result': overHttp('messages', (content) => ({
    max_tokens: 5,
    messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content }] }],
  })),
  responses: overHttp('responses', (content) => ({ input: [{ type: 'message', role: 'user', content }] })),
  'responses, a result': overHttp('responses', (output) => ({
    input: [{ type: 'function_call_output', call_id: 'c', output }],
  })),
  openai: async (tuner, content) =>
    asOpenAI(tuner, named).chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: content as never }],
    }),
  anthropic: async (tuner, content) =>
    asAnthropic(tuner, named).messages.create({
      model: 'm',
      max_tokens: 5,
      messages: [{ role: 'user', content: content as never }],
    }),
  google: async (tuner, content) =>
    asGoogle(tuner, named).models.generateContent({
      model: 'm',
      contents: [{ role: 'user', parts: content as never }],
    }),
  'gemini, text': overHttp('../v1beta/models/m:generateContent', (text) => ({
    contents: [{ role: 'user', parts: [{ text }] }],
  })),
  'gemini, a result': overHttp('../v1beta/models/m:generateContent', (response) => ({
    contents: [{ role: 'user', parts: [{ functionResponse: { name: 'f', response: [response] } }] }],
  })),
  'ai-sdk': async (tuner, content) =>
    asAiSdkModel(tuner, named).doGenerate({ prompt: [{ role: 'user', content: content as never }] }),
  'openai-agents': async (tuner, content) =>
    asAgentsModel(tuner, named).getResponse({
      input: [{ role: 'user', content: content as never }],
      modelSettings: {},
      tools: [],
      handoffs: [],
      outputType: 'text',
      tracing: false,
    }),
  langgraph: async (tuner, content) =>
    asLangChainModel(tuner, named).invoke([new HumanMessage({ content: content as never })]),
};

it.each(Object.entries(senders))('%s: each kind of content is refused in words', async (_name, send) => {
  for (const content of contents) {
    const { tuner } = openScriptedEpisode({ replies: ['hello'], endpointHost: server });
    const error = await send(tuner, content).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    const what = JSON.stringify(content);
    expect(error, what).toBeInstanceOf(Error);
    const { name, message: words, status } = error as Error & { status?: number };
    expect([what, name, words]).not.toEqual([what, 'TypeError', words]);
    expect(words, what).not.toMatch(/is not a function|Cannot read|is not iterable|Cannot use 'in'|cannot convert/i);
    if (status !== undefined) expect([what, status]).toEqual([what, 400]);
  }
});
