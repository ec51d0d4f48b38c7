import type { AssistantMessage, ChatMessage } from '@agentjet/core';
import type { ChatTemplate } from '../contract.js';
import { parseReply } from '../reply/reply-stream-parser.js';
import type { ReplyFormat, UnreadForm } from '../reply/reply-format.js';

const question: ChatMessage = { role: 'user', content: 'x' };
const name = 'name_of_a_tool';
const answer: AssistantMessage = {
  role: 'assistant',
  content: '',
  toolCalls: [{ id: 'call00001', name, arguments: '{"a": "b"}' }],
};
const tools = [{ name, description: 'y', parameters: { type: 'object', properties: { a: { type: 'string' } } } }];

/**
 * Prints a call and parses it. Returns the form of the call if it cannot be parsed. Returns undefined if it was parsed,
 * or if no call was printed.
 */
export function findUnreadForm(print: ChatTemplate['render'], format: ReplyFormat): UnreadForm | undefined {
  const said = printCall(print, format);
  const at = said?.indexOf(name) ?? -1;
  if (said === undefined || at === -1) return undefined;
  const reasoning = format.reasoning === 'open' ? 'think' : format.reasoning; // thinking that the prompt opens is not printed again
  const [call] = parseReply({ ...format, reasoning }, said, { tools }).toolCalls;
  if (call?.name === name) return undefined;
  const lead = said
    .slice(0, at)
    .replace(/<think>[^]*<\/think>/, '')
    .trimStart();
  return { mark: toMark(lead), example: `${lead}${name}`.trim().slice(0, 80) };
}

/**
 * Returns what the template prints for the answer. Returns undefined if the template refuses, or if the answer does not
 * follow the prompt.
 */
function printCall(print: ChatTemplate['render'], { reasoning }: ReplyFormat): string | undefined {
  try {
    const prompt = print([question], { tools, addGenerationPrompt: true });
    const whole = print([question, answer], { tools, addGenerationPrompt: false });
    const end = reasoning === 'open' ? prompt.lastIndexOf('<think>') : prompt.length; // `<think>` is not printed again before an answer
    const asked = prompt.slice(0, end).trimEnd();
    return whole.startsWith(asked) ? whole.slice(asked.length) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the first tag of a call, such as `[TOOL_CALLS]`. If there is no tag, returns everything before the call's
 * JSON.
 */
function toMark(lead: string): string {
  const [tag] = /^(<[^<>\s]+>|\[[^[\]\s{]+\])/.exec(lead) ?? [];
  return tag ?? lead.replace(/[{[][^]*$/, '').trim();
}
