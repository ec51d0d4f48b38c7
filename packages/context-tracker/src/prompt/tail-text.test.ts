import { type ChatMessage, EngineError } from '@agentjet/core';
import { type ChatTokenizer, createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createContextTracker } from '../index.js';
import { createToyChatTokenizer } from '../testing.js';
import { createPlayer } from '../testing/play.js';
import { createStrictChatTokenizer, strictFamilies } from '../testing/strict-templates.js';

/**
 * The tracker must not apply what it learned about the tail of one history to another one if the template sees a
 * difference. Each case plays a history to learn from, then one that could be mistaken for it.
 */
type Case = {
  readonly name: string;
  readonly chatTokenizer: ChatTokenizer;
  readonly taught: readonly Step[];
  readonly asked: readonly Step[];
};

/** A message that the agent adds. A step with `say` calls the model, which answers with this text. */
type Step = ChatMessage | { readonly say: string };

const user = (content: string): ChatMessage => ({ role: 'user', content });
const system = (content: string): ChatMessage => ({ role: 'system', content });
const result: ChatMessage = { role: 'tool', content: 'r', toolCallId: 'c' };
const call = '<tool_call>\n{"name": "f", "arguments": {"a":  1}}\n</tool_call>';
const thought = '<think>\nwhy\n</think>\n\n';
const response = user('<tool_response>\nr\n</tool_response>');

/**
 * As in Qwen3, thinking is left out before the last question, and a tool result in a user message is not a question.
 */
const knowsResponses = createChatTokenizer({
  ...createChatTokenizerFiles('qwen3'),
  chatTemplate: `{% set s = namespace(at=-1) %}{% for m in messages %}{% if m.role == 'user' and not (m.content.startswith('<tool_response>') and m.content.endswith('</tool_response>')) %}{% set s.at = loop.index0 %}{% endif %}{% endfor %}{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + ('<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' if m.reasoning_content and loop.index0 > s.at else '') + m.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`,
});

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
    asked: [
      user('hello'),
      user('another'),
      { say: `${thought}look` },
      response,
      { say: 'so' },
      user('what is a <tool_response>?'),
      { say: 'end' },
    ],
  },
  {
    name: 'a call after a question, and a call after a tool result',
    chatTokenizer: createStrictChatTokenizer('hermes'),
    taught: [user('q'), { say: call }, result, user('and'), { say: `so\n${call}` }, result, { say: 'x' }],
    asked: [
      user('another'),
      { say: `so\n${call}` },
      user('and'),
      { say: call },
      result,
      { say: `so\n${call}` },
      result,
      { say: 'x' },
    ],
  },
  {
    name: 'two system messages',
    chatTokenizer: createStrictChatTokenizer('smollm'),
    taught: [system('S'), user('q'), { say: 'a' }, user('r'), { say: 'b' }],
    asked: [system('the S'), user('q'), { say: 'a' }, user('r'), { say: 'b' }],
  },
];

/** Plays a conversation, which ends at a message that the template refuses. */
function play(
  steps: readonly Step[],
  { template, tokenizer }: ChatTokenizer,
  player: ReturnType<typeof createPlayer>,
): void {
  const history: ChatMessage[] = [];
  for (const step of steps) {
    if (!('say' in step)) {
      history.push(step);
      continue;
    }
    const rendered = tryRender(template, history);
    if (rendered === undefined) {
      expect(() => player.begin(history)).toThrow(EngineError);
      return;
    }
    const turn = player.begin(history);
    expect(tokenizer.decode(turn.promptIds)).toBe(rendered);
    history.push(player.commit(turn, step.say).message);
  }
}

function tryRender(template: ChatTokenizer['template'], history: readonly ChatMessage[]): string | undefined {
  try {
    return template.render(history, { addGenerationPrompt: true });
  } catch {
    return undefined;
  }
}

test.each(cases)('$name', ({ chatTokenizer, taught, asked }) => {
  const player = createPlayer(createContextTracker({ episodeId: 'e', chatTokenizer }), chatTokenizer);
  play(taught, chatTokenizer, player);
  play(asked, chatTokenizer, player);
});

test('a history that the template refuses is refused, even if it printed a shorter one of the same kinds', () => {
  const alternating = createStrictChatTokenizer('gemma');
  const player = createPlayer(createContextTracker({ episodeId: 'e', chatTokenizer: alternating }), alternating);
  play([user('q'), { say: 'a' }, user('r'), { say: 'b' }], alternating, player);
  const history: readonly ChatMessage[] = [user('p'), { role: 'assistant', content: 'x' }];
  const answer = player.say(history, 'y');
  expect(() => player.begin([...history, answer, user('r')])).toThrow('questions and answers must take turns');
});

const families: readonly (readonly [string, ChatTokenizer])[] = [
  ['toy that strips thinking', createToyChatTokenizer({ thinking: 'strip' })],
  ['a template that knows tool results in user messages', knowsResponses],
  ['ChatML (Qwen2.5)', createChatTokenizer(createChatTokenizerFiles('chatml'))],
  ...strictFamilies.map((family) => [family, createStrictChatTokenizer(family)] as const),
];

/** Answers that the template prints unchanged, so that each prompt continues the last one. */
const said = ['so', call, `so\n${call}`, thought + call, `${thought}so`];
const messages: readonly ChatMessage[] = [
  user('q'),
  user('the r'),
  user(''),
  response,
  user('what is a <tool_response>?'),
  system('mind'),
  { role: 'assistant', content: 'x' },
];

/** Makes mostly regular conversations, with results after calls and questions after other messages. */
function toSteps({
  opening,
  turns,
}: {
  readonly opening: readonly ChatMessage[];
  readonly turns: readonly (readonly [string, number, readonly ChatMessage[]])[];
}): readonly Step[] {
  const follow = ([say, numResults, added]: (typeof turns)[number]): readonly Step[] => {
    const results = say.endsWith(call) ? Array.from({ length: numResults }, () => result) : [];
    return [{ say }, ...results, ...(results.length + added.length === 0 ? [user('and')] : added)];
  };
  return [...opening, user('q'), ...turns.flatMap(follow)];
}

const conversation = fc
  .record({
    opening: fc.constantFrom<ChatMessage[][]>(
      [],
      [],
      [system('S')],
      [system('the S')],
      [user('hello')],
      [system('S'), user('hello'), user('there')],
    ),
    turns: fc.array(
      fc.tuple(
        fc.constantFrom(...said),
        fc.integer({ min: 1, max: 2 }),
        fc.oneof(
          { weight: 3, arbitrary: fc.constant<readonly ChatMessage[]>([]) },
          fc.subarray([...messages], { maxLength: 2 }),
        ),
      ),
      { maxLength: 7 },
    ),
  })
  .map(toSteps);

describe('after any conversations, each prompt is what the template prints', () => {
  test.each(families)('%s', (_, chatTokenizer) => {
    const isPrintedAsSaid = (step: Step): boolean => !('say' in step) || isRoundTrip(step.say, chatTokenizer);
    const property = fc.property(fc.array(conversation, { minLength: 2, maxLength: 5 }), (conversations) => {
      const player = createPlayer(createContextTracker({ episodeId: 'e', chatTokenizer }), chatTokenizer);
      for (const steps of conversations)
        play(
          steps.map((step) => (isPrintedAsSaid(step) ? step : { say: 'so' })),
          chatTokenizer,
          player,
        );
    });
    fc.assert(property, { numRuns: 40 });
  });
});

/** Returns whether the template prints the parsed answer as it was written. */
function isRoundTrip(text: string, { template }: ChatTokenizer): boolean {
  const { content, reasoning, toolCalls } = template.parse(text);
  const answer: ChatMessage = {
    role: 'assistant',
    content,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls: toolCalls.map((read) => ({ id: '000000000', ...read })) }),
  };
  const before = template.render([user('q')], { addGenerationPrompt: true });
  return template.render([user('q'), answer], { addGenerationPrompt: false }).startsWith(`${before}${text}<|`);
}
