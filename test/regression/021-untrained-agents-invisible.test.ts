import { asModel as asAiSdkModel } from '@agentjet/ai-sdk';
import { asModel as asLangGraphModel } from '@agentjet/langgraph';
import { asModel as asOpenAiClient } from '@agentjet/openai';
import { runEpisode, type Policy, type UntrainedCall, type WorkflowSource } from '@agentjet/rollout';
import type { LanguageModelV3 } from '@ai-sdk/provider';
import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { OpenAI } from 'openai';
import { expect, it } from 'vitest';

/** Agents that do not learn left no record, so the author of a game with two sides saw half of it. */

const policy: Policy = {
  kind: 'chat',
  model: { name: 'not asked', generate: () => Promise.reject(new Error('not asked')) },
};

async function callsOf(workflow: WorkflowSource): Promise<readonly UntrainedCall[]> {
  const episode = await runEpisode(
    { taskId: 't', mainQuery: '', initMessages: [], metadata: {} },
    {
      workflow,
      policy,
      sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 9 },
      timeoutMs: 30_000,
      trainableTargets: ['player'],
    },
    { episodeId: 'e', repeatIndex: 0, seed: 1 },
  );
  expect('error' in episode ? episode.error : undefined).toBeUndefined();
  expect(episode).toMatchObject({ status: 'completed' });
  return episode.untrainedCalls ?? [];
}

it('keeps what a LangChain model is asked and answers, invoked or streamed', async () => {
  const calls = await callsOf(async (_task, tuner) => {
    const debugModel = new FakeListChatModel({ responses: ['Guilty.', 'Streamed.'] });
    const model = asLangGraphModel(tuner, { agentName: 'villager', debugModel });
    await model.invoke([new SystemMessage('You vote.'), new HumanMessage('Who?')]);
    for await (const chunk of await model.stream('And now?')) expect(chunk).toBeDefined();
    return { reward: 1 };
  });
  expect(calls[0]).toMatchObject({
    agentName: 'villager',
    messages: [
      { role: 'system', content: 'You vote.' },
      { role: 'user', content: 'Who?' },
    ],
    answer: { role: 'assistant', content: 'Guilty.' },
  });
  expect(calls[1]).toMatchObject({
    messages: [{ role: 'user', content: 'And now?' }],
    answer: { role: 'assistant', content: 'Streamed.' },
  });
});

/** Makes OpenAI's own client for a server of Chat Completions. */
function createClient(): OpenAI {
  const head = { id: 'c', created: 1, model: 'm' };
  const message = { role: 'assistant', content: 'Whole.', refusal: null };
  const whole = { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] };
  const chunk = (content: string, finish_reason: 'stop' | null = null) =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason }] })}\n\n`;
  const fetch = (_url: unknown, init?: { readonly body?: unknown }): Promise<Response> => {
    const { stream, seed } = JSON.parse(String(init?.body)) as { readonly stream?: boolean; readonly seed?: number };
    if (seed === 404) return Promise.resolve(Response.json({ error: { message: 'no such model' } }, { status: 404 }));
    if (stream !== true) return Promise.resolve(Response.json(whole));
    const body = `${chunk('Piece')}${chunk(' by piece.', 'stop')}data: [DONE]\n\n`;
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  };
  return new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 });
}

it("keeps what OpenAI's client is asked and answers, whole, streamed, parsed or failed", async () => {
  const calls = await callsOf(async (_task, tuner) => {
    const client = asOpenAiClient(tuner, { agentName: 'mayor', debugModel: createClient() });
    const ask = (content: string) => ({ model: 'm', messages: [{ role: 'user' as const, content }] });
    await client.chat.completions.create(ask('one'));
    const stream = await client.chat.completions.create({ ...ask('two'), stream: true });
    const [left, right] = stream.tee();
    for await (const piece of left) expect(piece.object).toBe('chat.completion.chunk');
    for await (const piece of right) expect(piece.choices).toHaveLength(1);
    await client.chat.completions.stream(ask('three')).finalContent();
    await client.chat.completions.parse(ask('four'));
    await client.chat.completions.create(ask('five')).withResponse();
    await client.chat.completions.create({ ...ask('six'), seed: 404 }).catch(() => undefined);
    await client.chat.completions.create(ask('seven')).asResponse();
    return { reward: 1 };
  });
  expect(calls.map(({ messages, answer, error }) => [messages[0]?.content, answer?.content ?? error])).toEqual([
    ['one', 'Whole.'],
    ['two', 'Piece by piece.'],
    ['three', 'Piece by piece.'],
    ['four', 'Whole.'],
    ['five', 'Whole.'],
    ['six', '404 no such model'],
    ['seven', 'The episode ended before the answer was read.'],
  ]);
  for (const { agentName, beganMs, endedMs } of calls) {
    expect(agentName).toBe('mayor');
    expect(endedMs).toBeGreaterThan(beganMs);
  }
});

it('keeps what a model of the AI SDK is asked and answers, with its tool calls', async () => {
  const debugModel: LanguageModelV3 = {
    specificationVersion: 'v3',
    provider: 'test',
    modelId: 'test-model',
    supportedUrls: {},
    doGenerate: () =>
      Promise.resolve({
        content: [
          { type: 'text', text: 'Let me look.' },
          { type: 'tool-call', toolCallId: 'c1', toolName: 'look_up', input: '{"name":"Ann"}' },
        ],
        finishReason: { unified: 'tool-calls', raw: undefined },
        usage: {
          inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
          outputTokens: { total: 1, text: undefined, reasoning: undefined },
        },
        warnings: [],
      }),
    doStream: () => Promise.reject(new Error('not asked')),
  };
  const calls = await callsOf(async (_task, tuner) => {
    const model = asAiSdkModel(tuner, { agentName: 'seer', debugModel });
    await model.doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'Who is it?' }] }] });
    return { reward: 1 };
  });
  expect(calls).toMatchObject([
    {
      agentName: 'seer',
      model: 'test-model',
      messages: [{ role: 'user', content: 'Who is it?' }],
      answer: { content: 'Let me look.\nlook_up({"name":"Ann"})' },
    },
  ]);
});
