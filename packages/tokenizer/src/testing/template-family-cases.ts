import assert from 'node:assert/strict';
import type { AssistantMessage, ChatMessage, ContractCase } from '@agentjet/core';
import { textOfDeltas } from '../chat-template.js';
import { createChatTokenizer, type ChatTokenizerOptions } from '../chat-tokenizer.js';
import type { ChatTemplate, ParsedReply } from '../contract.js';
import type { TemplateFamily } from '../families/template-family.js';

export type TemplateFamilyOptions = {
  /** The tokenizer files of a model of the family, including its chat template. */
  readonly files: ChatTokenizerOptions;
  /** Replies in the style of the family's models, well-formed or not, with the expected result. */
  readonly replies: readonly { readonly text: string; readonly reply: ParsedReply }[];
};

const question: ChatMessage = { role: 'user', content: 'What is 1 + 2?' };
const tools = [
  {
    name: 'add',
    description: 'Adds numbers.',
    parameters: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'array' } } },
  },
];

/** Splits a string at every position, and into single characters. */
function chunkings(text: string): readonly (readonly string[])[] {
  const halves = Array.from({ length: text.length }, (_, at) => [text.slice(0, at), text.slice(at)]);
  return [...halves, text.split('')];
}

function streamed(template: ChatTemplate, pieces: readonly string[]) {
  const parser = template.createStreamParser((index) => `call_${index}`, { tools });
  const deltas = pieces.flatMap((piece) => parser.push(piece));
  const { deltas: last, reply } = parser.flush();
  return { deltas: [...deltas, ...last], reply };
}

function hasCalls({ callForm, openCall }: TemplateFamily): boolean {
  return callForm !== undefined || openCall !== undefined;
}

/** Returns what the template prints for an answer, after the prompt that asks for it. */
function printed(template: ChatTemplate, answer: AssistantMessage): string {
  const prompt = template.render([question], { tools, addGenerationPrompt: true });
  const whole = template.render([question, answer], { tools, addGenerationPrompt: false });
  assert.ok(whole.startsWith(prompt), 'The template does not print an answer right after the prompt that asks for it.');
  return whole.slice(prompt.length);
}

/**
 * The contract of every chat-template family, including those of other authors:
 * `for (const { name, run } of templateFamilyCases(family, options)) it(name, run)`.
 */
export function templateFamilyCases(
  family: TemplateFamily,
  { files, replies }: TemplateFamilyOptions,
): readonly ContractCase[] {
  const open = () => createChatTokenizer({ ...files, replyFormat: { toolCalls: family, reasoning: 'none' } });
  const named = (name: string, check: () => void): ContractCase => ({ name, run: async () => check() });
  return [
    named('recognizes its own template, and not a template without calls', () => {
      const source = files.chatTemplate ?? files.tokenizerConfig['chat_template'];
      assert.ok(typeof source === 'string' && family.recognizes(source));
      assert.ok(!family.recognizes('{% for message in messages %}{{ message.content }}{% endfor %}'));
    }),
    named('ends a turn with a token of the vocabulary', () => {
      const { template, tokenizer } = open();
      assert.ok(template.stopIds.length > 0);
      assert.ok(family.turnEnds.some((token) => tokenizer.idOf(token) !== undefined));
    }),
    named('reads the replies of its models', () => {
      for (const { text, reply } of replies) assert.deepEqual(open().template.parse(text, { tools }), reply);
      assert.ok(replies.some(({ reply }) => reply.toolCalls.length > 0 || !hasCalls(family)));
    }),
    named('reads the same however a reply is cut into pieces', () => {
      const { template } = open();
      for (const { text, reply } of replies)
        for (const pieces of chunkings(text)) {
          const { deltas, reply: found } = streamed(template, pieces);
          assert.deepEqual(found, reply, `Cut as ${JSON.stringify(pieces)}`);
          assert.equal(textOfDeltas(deltas), reply.content);
        }
    }),
    named('reads back the call that its template prints', () => {
      if (!hasCalls(family)) return;
      const { template } = open();
      const call = { name: 'add', arguments: '{"a": 1, "b": [2, "}"]}' };
      const text = printed(template, { role: 'assistant', content: '', toolCalls: [{ id: 'call12345', ...call }] });
      const end = family.turnEnds.map((token) => text.indexOf(token)).find((at) => at !== -1) ?? text.length;
      assert.deepEqual(template.parse(text.slice(0, end), { tools }).toolCalls, [call]);
    }),
  ];
}
