import type { ChatMessage } from '@agentjet/core';
import type { ChatTemplate } from '@agentjet/tokenizer';
import { tryRender } from '../prompt/turn-marks.js';

/**
 * The string that a template always prints right before the text of a message, by role, such as `<|im_start|>user\n`.
 * Empty if it is unknown.
 */
export type MessageLeads = Readonly<Record<'system' | 'user' | 'tool', string>>;

const known = new WeakMap<ChatTemplate, MessageLeads>();

export function findMessageLeads(template: ChatTemplate): MessageLeads {
  const leads = known.get(template) ?? {
    system: findLead(template, systems),
    user: findLead(template, users),
    tool: findLead(template, results),
  };
  known.set(template, leads);
  return leads;
}

const sentinel = 'text-of-the-message';
const question: ChatMessage = { role: 'user', content: 'x' };
const call: ChatMessage = {
  role: 'assistant',
  content: '',
  toolCalls: ['000000001', '000000002'].map((id) => ({ id, name: 'f', arguments: '{}' })),
};
const first: ChatMessage = { role: 'tool', content: 'y', toolCallId: '000000001' };

/** Conversations that surround the sentinel in different ways. */
const systems: readonly (readonly ChatMessage[])[] = [[{ role: 'system', content: sentinel }, question]];
const users: readonly (readonly ChatMessage[])[] = [
  [{ role: 'user', content: sentinel }],
  [question, { role: 'assistant', content: 'y' }, { role: 'user', content: sentinel }],
];
const results: readonly (readonly ChatMessage[])[] = [
  [question, call, { ...first, content: sentinel }],
  [question, call, first, { role: 'tool', content: sentinel, toolCallId: '000000002' }],
];

function findLead(template: ChatTemplate, conversations: readonly (readonly ChatMessage[])[]): string {
  const before = conversations.flatMap((messages) => {
    const rendered = tryRender(template, messages);
    const at = rendered?.indexOf(sentinel) ?? -1;
    return rendered === undefined || at === -1 ? [] : [rendered.slice(0, at)];
  });
  return before.length === 0 ? '' : before.reduce(commonEnd);
}

function commonEnd(left: string, right: string): string {
  let length = 0;
  while (length < Math.min(left.length, right.length) && left.at(-1 - length) === right.at(-1 - length)) length++;
  return length === 0 ? '' : left.slice(-length);
}
