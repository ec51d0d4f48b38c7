import type { ChatMessage } from '@agentjet/core';
import { type ChatTokenizer, createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { expect, test } from 'vitest';
import { createContextTracker } from '../index.js';
import { createToyChatTokenizer } from '../testing.js';
import { createPlayer } from '../testing/play.js';

/**
 * What is learned about the tail of one history must not be taken for another one where the template looks at a
 * difference. Each case plays a history that teaches, then the one that could be taken for it.
 */
type Case = { readonly name: string; readonly chatTokenizer: ChatTokenizer; readonly taught: readonly Step[]; readonly asked: readonly Step[] };

/** A message that the agent adds, or `say`: a call and its answer. */
type Step = ChatMessage | { readonly say: string };

const user = (content: string): ChatMessage => ({ role: 'user', content });
const system = (content: string): ChatMessage => ({ role: 'system', content });
const result: ChatMessage = { role: 'tool', content: 'r', toolCallId: 'c' };
const call = '<tool_call>\n{"name": "f", "arguments": {"a":  1}}\n</tool_call>';
const thought = '<think>\nwhy\n</think>\n\n';
const response = user('<tool_response>\nr\n</tool_response>');

function withTemplate(chatTemplate: string): ChatTokenizer {
  return createChatTokenizer({ ...createChatTokenizerFiles('qwen3'), chatTemplate });
}

/** As Hermes 3 does: the last tool result ends in another way than one that is followed by something. */
const marksLastResult = withTemplate(`{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content }}{% for c in m.tool_calls or [] %}{{ '<tool_call>\\n{"name": "f", "arguments": ' + c.function.arguments + '}\\n</tool_call>' }}{% endfor %}{{ '\\n' if m.role == 'tool' and not loop.last else '' }}{{ '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`);

/** As SmolLM3 does: what the system message says decides how each turn is printed. */
const quickOrSlow = withTemplate(`{% set quick = '/quick' in messages[0].content %}{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + ('quickly: ' if quick else '') + m.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' + ('quickly: ' if quick else '') }}{% endif %}`);

/** As Gemma does: nothing but questions and answers in turns. */
const alternating = withTemplate(`{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`);

/** As Qwen3 does: thinking is left out before the last question, and a tool result in a user message is no question. */
const knowsResponses = withTemplate(`{% set s = namespace(at=-1) %}{% for m in messages %}{% if m.role == 'user' and not (m.content.startswith('<tool_response>') and m.content.endswith('</tool_response>')) %}{% set s.at = loop.index0 %}{% endif %}{% endfor %}{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + ('<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' if m.reasoning_content and loop.index0 > s.at else '') + m.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`);

const cases: readonly Case[] = [
  {
    name: 'thinking that an interrupting question has left out, and thinking that the next question leaves out',
    chatTokenizer: createToyChatTokenizer({ thinking: 'strip' }),
    taught: [user('q'), { say: thought + call }, result, user('stop'), { say: 'so' }, user('and'), { say: 'end' }],
    asked: [user('another'), { say: thought + call }, result, { say: 'so' }, user('and'), { say: 'end' }],
  },
  {
    name: 'a tool result in a user message, and a question that has its tags',
    chatTokenizer: knowsResponses,
    taught: [user('hello'), user('q'), { say: `${thought}look` }, response, { say: 'so' }, response, { say: 'end' }],
    asked: [user('hello'), user('another'), { say: `${thought}look` }, response, { say: 'so' }, user('what is a <tool_response>?'), { say: 'end' }],
  },
  {
    name: 'a call after a question, and a call after a tool result',
    chatTokenizer: marksLastResult,
    taught: [user('q'), { say: call }, result, user('and'), { say: `so${call}` }, result, { say: 'x' }],
    asked: [user('another'), { say: `so${call}` }, user('and'), { say: call }, result, { say: `so${call}` }, result, { say: 'x' }],
  },
  {
    name: 'two system messages',
    chatTokenizer: quickOrSlow,
    taught: [system('slow'), user('q'), { say: 'a' }, user('r'), { say: 'b' }],
    asked: [system('/quick'), user('q'), { say: 'a' }, user('r'), { say: 'b' }],
  },
];

function play(steps: readonly Step[], chatTokenizer: ChatTokenizer, player: ReturnType<typeof createPlayer>): void {
  const history: ChatMessage[] = [];
  for (const step of steps) {
    if (!('say' in step)) history.push(step);
    else {
      const turn = player.begin(history);
      expect(chatTokenizer.tokenizer.decode(turn.promptIds)).toBe(chatTokenizer.template.render(history, { addGenerationPrompt: true }));
      history.push(player.commit(turn, step.say).message);
    }
  }
}

test.each(cases)('$name', ({ chatTokenizer, taught, asked }) => {
  const player = createPlayer(createContextTracker({ episodeId: 'e', chatTokenizer }), chatTokenizer);
  play(taught, chatTokenizer, player);
  play(asked, chatTokenizer, player);
});

test('what the template refuses is refused, also where a shorter history of the same kinds was printed', () => {
  const player = createPlayer(createContextTracker({ episodeId: 'e', chatTokenizer: alternating }), alternating);
  play([user('q'), { say: 'a' }, user('r'), { say: 'b' }], alternating, player);
  const history: readonly ChatMessage[] = [user('p'), { role: 'assistant', content: 'x' }];
  const answer = player.say(history, 'y');
  expect(() => player.begin([...history, answer, user('r')])).toThrow('roles must alternate');
});
