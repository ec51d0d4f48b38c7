import { appendFile, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ChatMessage, ChatRequest, ChatResponse, JsonObject } from '@agentjet/core';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openConversationLog } from './conversation-log.js';

let dir = '';
beforeEach(async () => {
  dir = path.join(await mkdtemp(path.join(tmpdir(), 'conversations-')), 'week');
});
afterEach(() => rm(path.dirname(dir), { recursive: true, force: true }));

const user = (content: string): ChatMessage => ({ role: 'user', content });
const says = (content: string, more: Partial<ChatResponse> = {}): ChatResponse => ({
  id: 'r',
  model: 'm',
  message: { role: 'assistant', content },
  finishReason: 'stop',
  usage: { promptTokens: 1, completionTokens: 1 },
  ...more,
});
const calls = (content = ''): ChatResponse =>
  says(content, { message: { role: 'assistant', content, toolCalls: [{ id: 'a', name: 'add', arguments: '{}' }] } });

async function linesOf(name: string): Promise<readonly JsonObject[]> {
  const text = await readFile(path.join(dir, name), 'utf8');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as JsonObject);
}

type Log = Awaited<ReturnType<typeof openConversationLog>>;

/** Asks the model as a client does: with a history and a name, or without a name. */
async function ask(
  log: Log,
  conversation: string | undefined,
  messages: readonly ChatMessage[],
  response: ChatResponse,
) {
  const request: ChatRequest = { messages };
  await log.onCall({ conversation, request })(response);
  return [...messages, response.message];
}

it('keeps a line for each question, and numbers the questions of a conversation', async () => {
  const log = await openConversationLog(dir);
  const first = await ask(log, 'ann', [{ role: 'system', content: 's' }, user('2 + 2?')], says('4'));
  await ask(log, 'ann', [...first, user('and 1?')], says('5'));
  await ask(log, 'bob', [user('2 + 2?')], says('four', { finishReason: 'length' }));
  const lines = await linesOf('transcripts.jsonl');
  expect(lines.map(({ id, conversation_id: conversation }) => [id, conversation])).toEqual([
    ['ann/1', 'ann'],
    ['ann/2', 'ann'],
    ['bob/1', 'bob'],
  ]);
  // Each answer is imitated once, and not if it was cut off.
  const weights = lines.map(({ messages }) => (messages as readonly JsonObject[]).map(({ weight }) => weight));
  expect(weights).toEqual([
    [undefined, undefined, undefined],
    [undefined, undefined, 0, undefined, undefined],
    [undefined, 0],
  ]);
});

it('takes the calls of an agent with tools for one question', async () => {
  const log = await openConversationLog(dir);
  const asked = await ask(log, 'ann', [user('2 + 2?')], calls());
  await ask(log, 'ann', [...asked, { role: 'tool', content: '4', toolCallId: 'a' }], says('4'));
  const lines = await linesOf('transcripts.jsonl');
  expect(
    lines.map(({ id, messages }) => [id, (messages as readonly JsonObject[]).map(({ role }) => role).join()]),
  ).toEqual([['ann/1', 'user,assistant,tool,assistant']]);
});

it('finds the conversation that a request continues if it names none; a second continuation is another conversation', async () => {
  const log = await openConversationLog(dir);
  const first = await ask(log, undefined, [user('hi')], says('hello'));
  await ask(log, undefined, [user('hi')], says('hello there'));
  await ask(log, undefined, [...first, user('a')], says('A'));
  await ask(log, undefined, [...first, user('b')], says('B'));
  const ids = (await linesOf('transcripts.jsonl')).map(({ conversation_id: conversation }) => conversation);
  expect(ids[2]).toBe(ids[0]);
  expect(new Set(ids).size).toBe(3);
});

it('keeps feedback on the newest question or on a named one, also after a restart', async () => {
  const log = await openConversationLog(dir);
  await ask(log, 'ann', [user('1?')], says('1'));
  await ask(log, 'ann', [user('2?')], says('2'));
  expect(await log.onFeedback({ conversation_id: 'ann', thumb: 'up' })).toEqual({ id: 'ann/2' });
  await writeFile(path.join(dir, 'transcripts.jsonl'), '{"conversation_id": "ann", "id": "an', { flag: 'a' });
  const again = await openConversationLog(dir);
  await again.onFeedback({ conversation_id: 'ann', question: 1, reward: 0.5, correction: 'one', comment: 'hm' });
  expect(await linesOf('feedback.jsonl')).toMatchObject([
    { id: 'ann/2', thumb: 'up' },
    { id: 'ann/1', score: 0.5, correction: 'one', comment: 'hm' },
  ]);
  await ask(again, 'ann', [user('3?')], says('3'));
  expect(await again.onFeedback({ conversation_id: 'ann', score: 1 })).toEqual({ id: 'ann/3' });
});

it('keeps a question that was never answered once a user comments on it', async () => {
  const log = await openConversationLog(dir);
  await ask(log, 'ann', [user('2 + 2?')], calls());
  expect(await linesOf('transcripts.jsonl')).toEqual([]);
  await log.onFeedback({ conversation_id: 'ann', thumb: 'down', correction: '4' });
  await log.onFeedback({ conversation_id: 'ann', correction: '4' });
  expect(await linesOf('transcripts.jsonl')).toMatchObject([{ id: 'ann/1', answer: '(no answer)' }]);
});

it('leaves calls out that are marked as not part of the task', async () => {
  const log = await openConversationLog(dir);
  await log.onCall({ conversation: 'ann', request: { messages: [user('title?')], isTrained: false } })(says('Sums'));
  expect(await linesOf('transcripts.jsonl')).toEqual([]);
});

it.each([
  [[], 400, /not a JSON object/],
  [{ thumb: 'up' }, 400, /conversation_id is missing/],
  [{ conversation_id: 'ann' }, 400, /has no feedback/],
  [{ conversation_id: 'ann', thumb: 'yes' }, 400, /thumb is "yes", not "up" or "down"/],
  [{ conversation_id: 'ann', score: '1' }, 400, /score is "1", not a number/],
  [{ conversation_id: 'ann', score: 1, reward: 1 }, 400, /the same/],
  [{ conversation_id: 'ann', rating: 1 }, 400, /"rating" is unknown. There are conversation_id, question/],
  [{ conversation_id: 'eve', thumb: 'up' }, 404, /"eve", which this server does not know/],
  [{ conversation_id: 'ann', question: 2, thumb: 'up' }, 404, /which has 1 questions, not 2/],
])('refuses feedback such as %j', async (body, status, message) => {
  const log = await openConversationLog(dir);
  await ask(log, 'ann', [user('1?')], says('1'));
  const refused = await log.onFeedback(body).catch((error: unknown) => error);
  expect(refused).toMatchObject({ status, message: expect.stringMatching(message) });
});

it('says once that answers cannot be kept, and lets the agent answer', async () => {
  const notices: string[] = [];
  const log = await openConversationLog(dir, { onNotice: (message) => void notices.push(message) });
  await rm(dir, { recursive: true });
  await ask(log, 'ann', [user('1?')], says('1'));
  await ask(log, 'ann', [user('2?')], says('2'));
  expect(notices).toEqual([expect.stringMatching(/^Conversations are not kept: ENOENT/)]);
  await writeFile(dir, '');
  await expect(openConversationLog(dir)).rejects.toThrow(/Conversations cannot be kept in/);
});

it('removes the incomplete last lines that a crash left, says so, and continues after them', async () => {
  const log = await openConversationLog(dir);
  await ask(log, 'ann', [user('1?')], says('1'));
  await log.onFeedback({ conversation_id: 'ann', thumb: 'up' });
  for (const name of ['transcripts.jsonl', 'feedback.jsonl'])
    await appendFile(path.join(dir, name), '{"id": "ann/2", "x');
  const notices: string[] = [];
  const again = await openConversationLog(dir, { onNotice: (message) => void notices.push(message) });
  await ask(again, 'ann', [user('2?')], says('2'));
  await again.onFeedback({ conversation_id: 'ann', thumb: 'down' });
  expect((await linesOf('transcripts.jsonl')).map(({ id }) => id)).toEqual(['ann/1', 'ann/2']);
  expect((await linesOf('feedback.jsonl')).map(({ id }) => id)).toEqual(['ann/1', 'ann/2']);
  expect(notices).toEqual([
    expect.stringMatching(/transcripts\.jsonl ended with an incomplete line/),
    expect.stringMatching(/feedback\.jsonl ended with an incomplete line/),
  ]);
});

it('writes long answers to several users at once without mixing their lines', async () => {
  const log = await openConversationLog(dir);
  const long = 'a'.repeat(3 << 20);
  await Promise.all(['ann', 'bob', 'eve'].map((name) => ask(log, name, [user('?')], says(`${name} ${long}`))));
  expect((await linesOf('transcripts.jsonl')).map(({ id }) => id)).toEqual(['ann/1', 'bob/1', 'eve/1']);
});

it.runIf(process.env['AJET_LONG_TESTS'] === '1')('continues a file that is too long for one string', async () => {
  await openConversationLog(dir);
  const file = path.join(dir, 'transcripts.jsonl');
  await truncate(file, 513 * 2 ** 20); // sparse, so that it takes no space
  await appendFile(file, `\n${JSON.stringify({ id: 'ann/7', conversation_id: 'ann' })}\n`);
  const log = await openConversationLog(dir);
  expect(await log.onFeedback({ conversation_id: 'ann', thumb: 'up' })).toEqual({ id: 'ann/7' });
});
