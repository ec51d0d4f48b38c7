import type { AssistantMessage, ChatMessage, ToolMessage } from '@agentjet/core';
import { describe, expect, test } from 'vitest';
import { createContextTracker } from './index.js';
import { createToyChatTokenizer } from './testing.js';
import { createPlayer, type Player, showRow } from './testing/play.js';

/**
 * Nine episodes on which merging by text fails, with the rows that this tracker makes. Rows show trained text in
 * brackets; `S` and `U` are turns of the system and the user, and `|` ends a turn.
 */

const system: ChatMessage = { role: 'system', content: 'S' };
const user: ChatMessage = { role: 'user', content: 'U' };
const callA = '<tool_call>\n{"name": "A", "arguments": {}}\n</tool_call>';
const callB = '<tool_call>\n{"name": "B", "arguments": {}}\n</tool_call>';

function result({ toolCalls = [] }: AssistantMessage, content: string): ToolMessage {
  return { role: 'tool', content, toolCallId: toolCalls[0]?.id ?? '' };
}

type Example = {
  readonly name: string;
  readonly play: (player: Player) => void;
  readonly thinking?: 'strip';
  readonly rows: readonly string[];
  readonly forks?: object;
  readonly splices?: object;
  readonly foreignMessages?: object;
};

const examples: readonly Example[] = [
  {
    name: '1. linear: one row, every answer trained',
    play: ({ say }) => {
      const history: ChatMessage[] = [system, user];
      history.push(say(history, 'a1'), { role: 'user', content: 't' });
      history.push(say(history, 'a2'), { role: 'user', content: 't' });
      say(history, 'a3');
    },
    rows: ['S|U|[a1|]t|[a2|]t|[a3|]'],
  },
  {
    name: '2. one prompt, two calls of different tools without text: both trained',
    play: ({ say }) => {
      say([system, user], callA);
      say([system, user], callB);
    },
    rows: ['S|U|[A|]', 'S|U|[B|]'],
  },
  {
    name: '3. a retry calls another tool: its result follows its own call',
    play: ({ say }) => {
      say([system, user], callA);
      const second = say([system, user], callB);
      say([system, user, second, result(second, 'r')], 'a3');
    },
    rows: ['S|U|[A|]', 'S|U|[B|]r|[a3|]'],
  },
  {
    name: '4. the long conversation first, its beginning later: one row',
    play: ({ say }) => {
      say([system, user, { role: 'assistant', content: 'a1' }, user], 'a2');
      say([system, user], 'a1');
    },
    rows: ['S|U|[a1|]U|[a2|]'],
    foreignMessages: { agent: { unknown: 1 } },
  },
  {
    name: '4b. the same, each sampled twice: each sampling counts',
    play: ({ begin, commit, say }) => {
      const early = begin([system, user]);
      const first = say([system, user], 'a1');
      say([system, user, first, user], 'a2');
      commit(early, 'a1');
      say([system, user, first, user], 'a2');
    },
    rows: ['S|U|[a1|]U|[a2|]', 'S|U|[a1|]U|[a2|]'],
  },
  {
    name: '5. a template that strips thinking: a branch for each question, shared up to the stripped answer',
    thinking: 'strip',
    play: ({ say }) => {
      const history: ChatMessage[] = [system, user];
      history.push(say(history, '<think>\nx\n</think>\n\na1'), user);
      history.push(say(history, '<think>\ny\n</think>\n\na2'), user);
      say(history, '<think>\nz\n</think>\n\na3');
    },
    rows: ['S|U|[<think>x</think>a1|]', 'S|U|a1|U|[<think>y</think>a2|]', 'S|U|a1|U|a2|U|[<think>z</think>a3|]'],
    forks: { agent: { template: 2 } },
  },
  {
    name: '6. the client strips a newline: the turn is recognised',
    play: ({ say }) => {
      const first = say([system, user], 'a1\n');
      say([system, user, { ...first, content: 'a1' }, user], 'a2');
    },
    rows: ['S|U|[a1|]U|[a2|]'],
    splices: { agent: { text: 1 } },
  },
  {
    name: '7. an error message comes and goes on the retry: two rows',
    play: ({ say }) => {
      const error: ChatMessage = { role: 'user', content: 'error' };
      const bad = say([system, user], 'bad');
      const good = say([system, user, bad, error], 'good');
      say([system, user, good, user], 'a3');
    },
    rows: ['S|U|[bad|]error|[good|]', 'S|U|good|U|[a3|]'],
    forks: { agent: { rewritten: 1 } },
  },
  {
    name: '8. a tree: the shared turns are trained in one row',
    play: ({ say }) => {
      const first = say([system, user], 'p');
      for (const branch of ['x', 'y', 'z']) say([system, user, first, { role: 'user', content: branch }], branch);
    },
    rows: ['S|U|[p|]x|[x|]', 'S|U|p|y|[y|]', 'S|U|p|z|[z|]'],
  },
  {
    name: '9. a truncated answer: its end token is shown, not trained',
    play: ({ say }) => {
      const first = say([system, user], 'a1', { isTruncated: true });
      say([system, user, first, user], 'a2');
    },
    rows: ['S|U|[a1]|U|[a2|]'],
  },
];

/** Removes the strings that every turn has, so that a row is readable. */
function shorten(row: string): string {
  return row
    .replaceAll(/<tool_call>\n\{"name": "(\w)".*?\n<\/tool_call>/g, '$1')
    .replaceAll(/<\|im_start\|>\w+\n/g, '')
    .replaceAll('<|im_end|>', '|')
    .replaceAll('\n', '');
}

describe('worked examples', () => {
  test.each(examples)('$name', ({ play, thinking, rows, forks = {}, splices = {}, foreignMessages = {} }) => {
    const chatTokenizer = createToyChatTokenizer(thinking === undefined ? {} : { thinking });
    const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
    play(createPlayer(tracker, chatTokenizer));
    expect(tracker.finish().map((sample) => shorten(showRow(sample, chatTokenizer)))).toEqual(rows);
    const stats = tracker.stats();
    expect([stats.forks, stats.splices, stats.foreignMessages]).toEqual([forks, splices, foreignMessages]);
    expect(stats.trainedTokens).toBe(stats.generatedTokens);
  });
});
