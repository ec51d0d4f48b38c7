import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import type { Task } from '@agentjet/core';
import { serveTunedModel } from '@agentjet/models';
import { createTracingReader } from '@agentjet/traces';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';

let scratch = '';
let served: Awaited<ReturnType<typeof serveTunedModel>>;
const folder = () => path.join(scratch, 'week');
beforeAll(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'deployed-'));
  served = await serveTunedModel('nano', { port: 0, maxTokens: 8, apiKey: 'k', seed: 1, conversations: folder() });
});
afterAll(async () => {
  await served.close();
  await rm(scratch, { recursive: true, force: true });
});

const post = async (body: unknown, key = 'k') => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(`${served.baseUrl}/feedback`, { method: 'POST', headers, body: JSON.stringify(body) });
  return [response.status, await response.json()] as const;
};

it('serves many users at one address, and what they say later by the id of their conversation trains the agent', async () => {
  const openai = new OpenAI({ baseURL: served.baseUrl, apiKey: 'k' });
  const anthropic = new Anthropic({ baseURL: served.baseUrl.replace(/\/v1$/, ''), apiKey: 'k' });
  const ask = async (person: number): Promise<void> => {
    const headers = { 'x-ajet-conversation': `p${person}` };
    const messages = [{ role: 'user' as const, content: `What is ${person} + 1?` }];
    if (person % 2 === 0) await openai.chat.completions.create({ model: 'any', messages }, { headers });
    else await anthropic.messages.create({ model: 'any', max_tokens: 8, messages }, { headers });
    const stream = await openai.chat.completions.create(
      { model: 'any', messages: [{ role: 'user', content: `And ${person} + 2?` }], stream: true },
      { headers },
    );
    for await (const _chunk of stream);
  };
  await Promise.all(Array.from({ length: 6 }, (_, person) => ask(person)));
  expect(await post({ conversation_id: 'p0', question: 1, correction: '1' })).toEqual([200, { id: 'p0/1' }]);
  expect(await post({ conversation_id: 'p1', thumb: 'up' })).toEqual([200, { id: 'p1/2' }]);
  expect(await post({ conversation_id: 'p2', reward: 0.25 })).toEqual([200, { id: 'p2/2' }]);
  const reader = createTracingReader({
    sources: [folder()],
    feedback: { filePath: null, goodFrom: 0.5 },
    filters: { keep: 'rated', rubric: null, model: {} as never },
    validation: { filePath: null },
    split: { evaluation: 0 },
    dir: path.join(scratch, 'kept'),
    onNotice: () => undefined,
  });
  const tasks: Task[] = [];
  for await (const task of reader.trainingTasks()) tasks.push(task);
  const known = tasks
    .toSorted((one, other) => one.mainQuery.localeCompare(other.mainQuery))
    .map(({ mainQuery, metadata: { conversation, answer, is_good: isGood } }) => {
      return [mainQuery, conversation, answer, isGood];
    });
  expect(known).toEqual([
    ['And 1 + 2?', 'p1', undefined, true],
    ['And 2 + 2?', 'p2', undefined, false],
    ['What is 0 + 1?', 'p0', '1', undefined],
  ]);
});

it('refuses feedback without the key, feedback that is wrong, and names that cannot be used', async () => {
  expect(await post({ conversation_id: 'p0', thumb: 'up' }, 'other')).toMatchObject([401, {}]);
  expect(await post({ conversation_id: 'nobody', thumb: 'up' })).toMatchObject([
    404,
    { error: { code: 'unknown_conversation', message: expect.stringContaining('does not know') } },
  ]);
  expect(await post({ conversation_id: 'p0' })).toMatchObject([400, { error: { code: 'invalid_feedback' } }]);
  const headers = { 'x-ajet-conversation': 'a b' };
  const client = new OpenAI({ baseURL: served.baseUrl, apiKey: 'k' });
  const asked = client.chat.completions.create(
    { model: 'any', messages: [{ role: 'user', content: 'x' }] },
    { headers },
  );
  await expect(asked).rejects.toThrow(/x-ajet-conversation is "a b"/);
});
