import type { AssistantMessage, ChatMessage } from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createContextTracker } from './index.js';
import { createToyChatTokenizer } from './testing.js';
import {
  type Answer,
  answers,
  type BegunCall,
  follow,
  type Operation,
  programs,
  runProgram,
  sample,
} from './testing/random-agent.js';
import { mergeTurns, respell, spellings } from './testing/respell.js';
import { chatFamilies } from './testing/chat-families.js';

const families = chatFamilies(150, 100);

const question: ChatMessage = { role: 'user', content: 'x' };

function toMessage(text: string, { template }: ChatTokenizer): AssistantMessage {
  const { content, reasoning, toolCalls } = template.parse(text);
  return {
    role: 'assistant',
    content,
    ...(reasoning === undefined ? {} : { reasoning }),
    toolCalls: toolCalls.map((call, at) => ({ id: `${at}`, ...call })),
  };
}

/**
 * Returns whether the template prints the parsed answer exactly as it was written, both last and before a tool result.
 */
function isRoundTrip(answer: Answer, chatTokenizer: ChatTokenizer): boolean {
  const { template, tokenizer } = chatTokenizer;
  const { ids } = sample(answer, chatTokenizer);
  const text = tokenizer.decode(ids.filter((id) => !template.stopIds.includes(id)));
  const message = toMessage(text, chatTokenizer);
  const seen = template.render([question], { addGenerationPrompt: true }) + text;
  const results: ChatMessage[] = [[], [{ role: 'tool', content: 'r', toolCallId: '0' }] as ChatMessage[]].flat();
  return [[], results].every((after) => {
    try {
      const rendered = template.render([question, message, ...after], { addGenerationPrompt: false });
      return withoutEmptyThoughts(rendered).startsWith(`${withoutEmptyThoughts(seen)}<|`);
    } catch {
      return false;
    }
  });
}

const plain: Answer = { kind: 'text', text: 'x', isTruncated: false, isOdd: true };

/** Removes empty thinking blocks. Qwen3's template puts one before an answer that is the last message. */
function withoutEmptyThoughts(text: string): string {
  return text.replaceAll('<think>\n\n</think>\n\n', '');
}

function onlyRoundTrips(program: readonly Operation[], chatTokenizer: ChatTokenizer): readonly Operation[] {
  return program.map((step) =>
    step.kind === 'call'
      ? { ...step, opening: '', answer: isRoundTrip(step.answer, chatTokenizer) ? step.answer : plain }
      : step,
  );
}

describe.each(families)('%s', (_, chatTokenizer, numRuns) => {
  const { tokenizer, template } = chatTokenizer;

  test('the prompt equals what the template prints for the sent messages, letter by letter', () => {
    const property = fc.property(programs, (program) => {
      const tracker = createContextTracker({ episodeId: 'e', chatTokenizer, historyPolicy: 'as_sent' });
      const onBegin = ({ turn, conversation: { messages, tools } }: BegunCall): void => {
        const rendered = template.render(messages, {
          addGenerationPrompt: true,
          ...(tools.length === 0 ? {} : { tools }),
        });
        expect(withoutEmptyThoughts(tokenizer.decode(turn.promptIds))).toBe(withoutEmptyThoughts(rendered));
      };
      runProgram(onlyRoundTrips(program, chatTokenizer), tracker, chatTokenizer, {
        order: (count) => Array.from({ length: count }, (__, at) => at),
        onBegin,
      });
    });
    fc.assert(property, { numRuns });
  });
});

const frameworks: readonly (readonly [string, (history: readonly ChatMessage[]) => readonly ChatMessage[]])[] = [
  ['nothing', (history) => history],
  ['copies', (history) => structuredClone(history)],
  ...spellings.map(
    (how) => [how, (history: readonly ChatMessage[]) => history.map((message) => respell(message, how))] as const,
  ),
  ['merge', mergeTurns],
  ['merge and json', (history) => mergeTurns(history).map((message) => respell(message, 'json'))],
];

describe.each(frameworks)('a framework that does this to history: %s', (name, send) => {
  const isMerging = name.startsWith('merge');

  test.each(['none', 'keep'] as const)('every call continues the previous one (thinking: %s)', (thinking) => {
    const chatTokenizer = createToyChatTokenizer({ thinking });
    const property = fc.property(fc.array(answers, { minLength: 1, maxLength: 12 }), (drawn) => {
      // A merged message has no trace of an answer without text, so that answer cannot be restored.
      const list = isMerging
        ? drawn.filter(
            ({ kind, text }) =>
              kind !== 'empty' && (text.trim() !== '' || !['bytes', 'thought', 'empty thought'].includes(kind)),
          )
        : drawn;
      const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
      const history: ChatMessage[] = [
        { role: 'system', content: 'S' },
        { role: 'user', content: 'the U' },
      ];
      let seen = '';
      for (const answer of list) {
        const turn = tracker.begin({ agentName: 'a', targetTag: 't' }, { messages: send(history) });
        expect({ fork: turn.fork, isKept: turn.promptIds.join(' ').startsWith(seen) }).toEqual({
          fork: undefined,
          isKept: true,
        });
        const completion = sample(answer, chatTokenizer);
        const { message } = turn.commit(completion);
        history.push(message, ...follow(message));
        seen = [...turn.promptIds, ...completion.ids].join(' ');
      }
      expect(tracker.finish()).toHaveLength(
        list.some((answer) => sample(answer, chatTokenizer).ids.length > 0) ? 1 : 0,
      );
      const { foreignMessages, forks } = tracker.stats();
      expect({ foreignMessages, forks }).toEqual({ foreignMessages: {}, forks: {} });
    });
    fc.assert(property, { numRuns: 50 });
  });
});
