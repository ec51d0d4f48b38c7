import { isCountingChatModel, type ChatModel, type CountingChatModel } from '@agentjet/core';
import { expect, it } from 'vitest';
import { CallLedger } from './call-ledger.js';
import { createGuardedModel } from './guarded-model.js';

const plain: ChatModel = { name: 'm', generate: () => Promise.reject(new Error('not asked')) };
const counting: CountingChatModel = { ...plain, countPromptTokens: async ({ messages }) => messages.length };
const request = { messages: [{ role: 'user', content: 'Hi' }] } as const;

const guard = (model: ChatModel, signal: AbortSignal) =>
  createGuardedModel(model, { agentName: 'a', ledger: new CallLedger(), signal });

it('counts the tokens of prompts if its model does, until the episode ends', async () => {
  const ended = new AbortController();
  const model = guard(counting, ended.signal);
  if (!isCountingChatModel(model)) throw new Error('The guarded model lost the count.');
  expect(await model.countPromptTokens(request)).toBe(1);
  ended.abort(new Error('its episode has ended'));
  await expect(model.countPromptTokens(request)).rejects.toMatchObject({ code: 'closed' });
  expect(isCountingChatModel(guard(plain, ended.signal))).toBe(false);
});
