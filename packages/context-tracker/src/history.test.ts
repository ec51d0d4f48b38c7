import type { AssistantMessage, ChatMessage, ToolMessage, ToolSpec } from '@agentjet/core';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { describe, expect, test } from 'vitest';
import {
  type ContextTracker,
  createContextTracker,
  type ForeignCause,
  type HistoryPolicy,
  type SpliceCause,
  type TrackerStats,
  type Turn,
} from './index.js';
import { createToyChatTokenizer } from './testing.js';
import { createPlayer, type Player } from './testing/play.js';
import { createStrictChatTokenizer } from './testing/strict-templates.js';

const chatTokenizer = createToyChatTokenizer({ thinking: 'keep' });
const system: ChatMessage = { role: 'system', content: 'S' };
const user: ChatMessage = { role: 'user', content: 'the U' };
const next: ChatMessage = { role: 'user', content: 'next' };
const tool: ToolSpec = { name: 'calc', parameters: { type: 'object' } };
/** A schema with which a framework may parse arguments: it drops unknown keys and fills in missing ones. */
const parsed: ToolSpec = {
  name: 'calc',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'boolean', default: true } } },
};

function writeCall(written = '{"a":  1.0, "zzz": 2}', name = 'calc'): string {
  return `<tool_call>\n{"name": "${name}", "arguments": ${written}}\n</tool_call>`;
}

function result(id: string | undefined, content = 'r'): ToolMessage {
  return { role: 'tool', content, toolCallId: id ?? '' };
}

function idOf(message: AssistantMessage, at = 0): string | undefined {
  return message.toolCalls?.[at]?.id;
}

function start(historyPolicy: HistoryPolicy = 'as_generated'): Player & { readonly tracker: ContextTracker } {
  const tracker = createContextTracker({ episodeId: 'e', chatTokenizer, historyPolicy });
  return { tracker, ...createPlayer(tracker, chatTokenizer) };
}

/** Returns whether the prompt continues exactly the prompt and answer of this call. */
function goesOnFrom({ log }: Player, turn: Turn, callIndex = 0): boolean {
  const call = log[callIndex];
  return call !== undefined && turn.promptIds.join().startsWith([...call.turn.promptIds, ...call.ids].join());
}

function countsOf({
  tracker,
}: ReturnType<typeof start>): Pick<TrackerStats, 'forks' | 'splices' | 'foreignMessages' | 'samples'> {
  const { forks, splices, foreignMessages, samples } = tracker.stats();
  return { forks, splices, foreignMessages, samples };
}

function textOf(turn: Turn): string {
  return chatTokenizer.tokenizer.decode(turn.promptIds);
}

describe('a turn of ours in another spelling is put back by its own ids', () => {
  test.each<readonly [string, string, (message: AssistantMessage) => AssistantMessage, SpliceCause]>([
    ['arguments printed again', writeCall(), (message) => withArguments(message, '{"a":1,"zzz":2}'), 'call_ids'],
    ['unknown keys dropped', writeCall(), (message) => withArguments(message, '{"a":1}'), 'call_ids'],
    ['defaults added', writeCall(), (message) => withArguments(message, '{"a":1,"zzz":2,"b":true}'), 'call_ids'],
    ['a number coerced to text', writeCall('{"a":1}'), (message) => withArguments(message, '{"a":"1"}'), 'call_ids'],
    [
      'arguments that were not an object',
      writeCall('{"a": 1, "b": '),
      (message) => withArguments(message, '{}'),
      'call_ids',
    ],
    [
      'reasoning dropped',
      `<think>\nwhy\n</think>\n\n${writeCall()}`,
      ({ reasoning: _dropped, ...message }) => message,
      'call_ids',
    ],
    [
      'only the last piece of reasoning kept',
      `<think>\nwhy\nthen\n</think>\n\n${writeCall()}`,
      (message) => ({ ...message, reasoning: 'then' }),
      'call_ids',
    ],
    [
      'reasoning moved into the text',
      '<think>\nwhy\n</think>\n\nso',
      ({ reasoning, ...message }) => ({ ...message, content: `<think>${reasoning}</think>\n${message.content}` }),
      'text',
    ],
    [
      'everything as raw text',
      `<think>\nwhy\n</think>\n\n${writeCall()}`,
      () => ({ role: 'assistant', content: `<think>\nwhy\n</think>\n\n${writeCall()}` }),
      'text',
    ],
    ['space trimmed', '  the answer \n', (message) => ({ ...message, content: message.content.trim() }), 'text'],
    ['a name added', 'answer', (message) => ({ ...message, name: 'agent' }), 'text'],
    [
      'new ids, the same calls',
      writeCall(),
      (message) => ({ ...message, toolCalls: (message.toolCalls ?? []).map((call) => ({ ...call, id: 'new' })) }),
      'text',
    ],
  ])('%s', (_, answer, respell, cause) => {
    const player = start();
    const request = { tools: [parsed] };
    const message = player.say([system, user], answer, { isOdd: true, request });
    const turn = player.begin([system, user, respell(message), next], { request });
    expect({ fork: turn.fork, isKept: goesOnFrom(player, turn) }).toEqual({ fork: undefined, isKept: true });
    player.commit(turn, 'done');
    player.say([system, user, respell(message), next, { role: 'assistant', content: 'done' }, next], 'again', {
      request,
    });
    expect(countsOf(player)).toEqual({
      splices: { agent: { [cause]: 1 } },
      foreignMessages: {},
      forks: {},
      samples: 1,
    });
  });

  test('an answer cut at the stop text that the caller asked for', () => {
    const player = start();
    player.say([system, user], 'Thought: x\nObservation: made up', {
      request: { sampling: { stop: ['\nObservation:'] } },
      isTruncated: true,
    });
    const turn = player.begin([system, user, { role: 'assistant', content: 'Thought: x' }, next]);
    expect([turn.fork, goesOnFrom(player, turn)]).toEqual([undefined, true]);
  });

  test('as_sent shows what was sent, and counts why it forked', () => {
    const player = start('as_sent');
    const message = player.say([system, user], writeCall());
    const turn = player.begin([system, user, withArguments(message, '{"a":1,"zzz":2}'), result(idOf(message))]);
    expect(turn.fork).toBe('rewritten');
    expect(textOf(turn)).toContain('"arguments": {"a":1,"zzz":2}}');
    player.commit(turn, 'done');
    expect(countsOf(player)).toEqual({
      forks: { agent: { rewritten: 1 } },
      splices: {},
      foreignMessages: {},
      samples: 2,
    });
  });

  test('as_sent keeps the ids if the template prints the sent message in the same way', () => {
    const player = start('as_sent');
    const message = player.say([system, user], '<think>\nwhy\n</think>\n\nso', { isOdd: true });
    const turn = player.begin([system, user, { role: 'assistant', content: '<think>\nwhy\n</think>\n\nso' }, next]);
    expect(message.reasoning).toBe('why');
    expect([turn.fork, goesOnFrom(player, turn)]).toEqual([undefined, true]);
    player.commit(turn, 'done');
    expect(countsOf(player)).toEqual({
      splices: { agent: { printed_alike: 1 } },
      foreignMessages: {},
      forks: {},
      samples: 1,
    });
  });

  test('as_sent keeps the ids of a call also under a template that refuses a question right after its result', () => {
    const mistral = createStrictChatTokenizer('mistral');
    const player = createPlayer(
      createContextTracker({ episodeId: 'e', chatTokenizer: mistral, historyPolicy: 'as_sent' }),
      mistral,
    );
    const message = player.say([user], writeCall(), { isOdd: true });
    const turn = player.begin([user, { ...message, name: 'agent' }, result(idOf(message))]);
    expect([turn.fork, goesOnFrom(player, turn)]).toEqual([undefined, true]);
  });

  test('as_sent shows space that was sent as reasoning if the template prints it only before a result', () => {
    const qwen3 = createChatTokenizer(createChatTokenizerFiles('qwen3'));
    const player = createPlayer(
      createContextTracker({ episodeId: 'e', chatTokenizer: qwen3, historyPolicy: 'as_sent' }),
      qwen3,
    );
    const message = player.say([user], writeCall());
    const sent: readonly ChatMessage[] = [user, { ...message, reasoning: '\n' }, result(idOf(message))];
    expect(qwen3.tokenizer.decode(player.begin(sent).promptIds)).toBe(
      qwen3.template.render(sent, { addGenerationPrompt: true }),
    );
  });

  test('as_sent shows reasoning that was sent in the text if the template leaves out only the reasoning field', () => {
    const strips = createToyChatTokenizer({ thinking: 'strip' });
    const player = createPlayer(
      createContextTracker({ episodeId: 'e', chatTokenizer: strips, historyPolicy: 'as_sent' }),
      strips,
    );
    player.say([system, user], '<think>\nwhy\n</think>\n\nso');
    const sent: readonly ChatMessage[] = [
      system,
      user,
      { role: 'assistant', content: '<think>\nwhy\n</think>\n\nso' },
      next,
    ];
    expect(strips.tokenizer.decode(player.begin(sent).promptIds)).toBe(
      strips.template.render(sent, { addGenerationPrompt: true }),
    );
  });
});

function withArguments(message: AssistantMessage, written: string): AssistantMessage {
  return { ...message, toolCalls: (message.toolCalls ?? []).map((call) => ({ ...call, arguments: written })) };
}

describe('a match that is not certain is a fork', () => {
  test.each<readonly [string, string, (message: AssistantMessage) => AssistantMessage, ForeignCause]>([
    ['arguments edited under our id', writeCall('{"a":1}'), (message) => withArguments(message, '{"a":2}'), 'edited'],
    [
      'another tool under our id',
      writeCall(),
      (message) => ({ ...message, toolCalls: (message.toolCalls ?? []).map((call) => ({ ...call, name: 'other' })) }),
      'edited',
    ],
    ['text edited next to our calls', `one\n${writeCall()}`, (message) => ({ ...message, content: 'two' }), 'edited'],
    ['text emptied next to our calls', `secret\n${writeCall()}`, (message) => ({ ...message, content: '' }), 'edited'],
    ['an argument added', writeCall('{}'), (message) => withArguments(message, '{"a":1000000}'), 'edited'],
    ['an argument taken out', writeCall('{"a":1,"c":5}'), (message) => withArguments(message, '{"a":1}'), 'edited'],
    [
      'unreadable arguments put right',
      writeCall('{"a": 1, "b": '),
      (message) => withArguments(message, '{"a":1}'),
      'edited',
    ],
    ['text edited', 'one', (message) => ({ ...message, content: 'two' }), 'unknown'],
    [
      'a call dropped',
      `${writeCall()}\n${writeCall('{"b":1}')}`,
      (message) => ({ ...message, toolCalls: (message.toolCalls ?? []).slice(0, 1) }),
      'edited',
    ],
    [
      'other arguments under foreign ids',
      writeCall('{"a":1,"b":2}'),
      (message) => ({
        ...withArguments(message, '{"a":1}'),
        toolCalls: [{ id: 'new', name: 'calc', arguments: '{"a":1}' }],
      }),
      'unknown',
    ],
  ])('%s', (_, answer, edit, cause) => {
    const player = start();
    const message = player.say([system, user], answer);
    const sent = [system, user, edit(message), next];
    const turn = player.begin(sent);
    expect(turn.fork).toBe('edited');
    expect(textOf(turn)).toBe(chatTokenizer.template.render(sent, { addGenerationPrompt: true }));
    player.commit(turn, 'done');
    expect(countsOf(player)).toMatchObject({
      forks: { agent: { edited: 1 } },
      foreignMessages: { agent: { [cause]: 1 } },
      samples: 2,
    });
    expect(countsOf(player).splices).toEqual({});
  });

  test('two answers that differ only in whitespace, and a message that could be either', () => {
    const player = start();
    player.say([system, user], 'yes');
    player.say([system, user], 'yes\n');
    const exact = player.begin([system, user, { role: 'assistant', content: 'yes\n' }, next]);
    expect([exact.fork, goesOnFrom(player, exact, 1)]).toEqual([undefined, true]);
    expect(player.begin([system, user, { role: 'assistant', content: ' yes' }, next]).fork).toBe('rewritten');
  });

  test('the same text after other messages is not spliced', () => {
    const player = start();
    player.say([system, user], 'the answer', { isOdd: true });
    const turn = player.begin([system, next, { role: 'assistant', content: 'the answer' }, next]);
    expect([...turn.promptIds]).toEqual([...chatTokenizer.tokenizer.encode(textOf(turn))]);
    expect(turn.fork).toBe('rewritten');
  });
});

test.each(['constructor', '__proto__', 'toString'])(
  'what happens to an agent called %s is counted like that of others',
  (agent) => {
    const player = start();
    const message = player.say([system, user], 'answer', { agent });
    player.say([system, user, { ...message, content: 'another' }, next], 'done', { agent });
    const { forks, foreignMessages } = player.tracker.stats();
    expect([Object.entries(forks), Object.entries(foreignMessages)]).toEqual([
      [[agent, { edited: 1 }]],
      [[agent, { unknown: 1 }]],
    ]);
    expect(Object.keys(Object.prototype)).toEqual([]);
  },
);

describe('why a call forks', () => {
  function playTwo(player: Player): readonly ChatMessage[] {
    const first = player.say([system, user], writeCall('{"a":1}'), { request: { tools: [tool] }, isOdd: true });
    const history = [system, user, first, result(idOf(first))];
    return [...history, player.say(history, 'the second', { request: { tools: [tool] } }), next];
  }

  test.each<
    readonly [
      string,
      string | undefined,
      (history: readonly ChatMessage[]) => readonly ChatMessage[],
      readonly ToolSpec[],
    ]
  >([
    ['nothing changed', undefined, (history) => history, [tool]],
    ['other tools', 'tools', (history) => history, [tool, { ...tool, name: 'more' }]],
    ['no tools', 'tools', (history) => history, []],
    [
      'another system message',
      'system',
      (history) => [{ role: 'system', content: 'other' }, ...history.slice(1)],
      [tool],
    ],
    ['no system message', 'system', (history) => history.slice(1), [tool]],
    ['the front cut off', 'rewritten', (history) => [system, ...history.slice(2)], [tool]],
    [
      'a question edited',
      'rewritten',
      (history) => [system, { role: 'user', content: 'edited' }, ...history.slice(2)],
      [tool],
    ],
    [
      'a tool result edited',
      'rewritten',
      (history) => [...history.slice(0, 3), { ...history[3], content: 'edited' } as ToolMessage, ...history.slice(4)],
      [tool],
    ],
    [
      'the answers summarised',
      'rewritten',
      (history) => [...history.slice(0, 2), { role: 'user', content: 'summary' }, next],
      [tool],
    ],
    [
      'an answer that continues with other words',
      'retokenized',
      (history) => [...history.slice(0, 4), { role: 'assistant', content: 'the second half' }, next],
      [tool],
    ],
    ['a new conversation', undefined, () => [system, next], [tool]],
    ['the same prompt again', undefined, (history) => history.slice(0, 2), [tool]],
    [
      'another question at the same place',
      undefined,
      (history) => [...history.slice(0, -1), { role: 'user', content: 'else' }],
      [tool],
    ],
  ])('%s: %s', (_, cause, change, tools) => {
    const player = start();
    const history = playTwo(player);
    const turn = player.begin(change(history), { request: { tools } });
    expect(turn.fork).toBe(cause);
    player.commit(turn, 'done');
    expect(player.tracker.stats().forks).toEqual(cause === undefined ? {} : { agent: { [cause]: 1 } });
    const after = player.begin([...change(history), { role: 'assistant', content: 'done' }, next], {
      request: { tools },
    });
    expect([after.fork, goesOnFrom(player, after, 2)]).toEqual([undefined, true]);
  });

  test('a turn that is certain by its call ids keeps the ids it was sampled with, also after other messages', () => {
    const player = start();
    const history = playTwo(player);
    const turn = player.begin([{ role: 'system', content: 'other' }, ...history.slice(1)], {
      request: { tools: [tool] },
    });
    expect(turn.promptIds.join()).toContain(player.log[0]?.ids.join());
  });

  test('a system message that is appended later is a message like any other', () => {
    const player = start();
    const first = player.say([system, user], 'a');
    expect(
      player.begin([system, user, first, { role: 'system', content: 'mind the time' }, next]).fork,
    ).toBeUndefined();
  });
});

describe('turns that a framework merged or dealt out', () => {
  function playThree(player: Player): {
    readonly history: readonly ChatMessage[];
    readonly answers: readonly AssistantMessage[];
  } {
    const history: ChatMessage[] = [system, user];
    const answers: AssistantMessage[] = [];
    for (const answer of [
      `one\n${writeCall('{"a":1}')}`,
      `${writeCall('{"b":1}')}\n${writeCall('{"c":1}')}`,
      'the end',
    ]) {
      const message = player.say(history, answer);
      answers.push(message);
      history.push(message, ...(message.toolCalls ?? []).map(({ id, arguments: written }) => result(id, written)));
    }
    return { history: [...history, next], answers };
  }

  const regroupings: readonly (readonly [
    string,
    (answers: readonly AssistantMessage[], results: readonly ChatMessage[]) => readonly ChatMessage[],
  ])[] = [
    [
      'all steps in one message',
      ([one, two, end], results) => [
        {
          role: 'assistant',
          content: `${one?.content}\n${end?.content}`,
          toolCalls: [...(one?.toolCalls ?? []), ...(two?.toolCalls ?? [])],
        },
        ...results,
      ],
    ],
    [
      'steps merged, the last answer apart',
      ([one, two, end], results) => [
        { role: 'assistant', content: 'one', toolCalls: [...(one?.toolCalls ?? []), ...(two?.toolCalls ?? [])] },
        ...results,
        { role: 'assistant', content: end?.content ?? '' },
      ],
    ],
    [
      'text and calls in separate messages',
      ([one, two, end], [r1, ...results]) => [
        { role: 'assistant', content: 'one' },
        { role: 'assistant', content: '', toolCalls: one?.toolCalls ?? [] },
        ...(r1 === undefined ? [] : [r1]),
        ...(two === undefined ? [] : [two]),
        ...results,
        ...(end === undefined ? [] : [end]),
      ],
    ],
    [
      'each parallel call with its own result',
      ([one, two, end], [r1, r2, r3]) =>
        [one, r1, withCalls(two, 0), r2, withCalls(two, 1), r3, end].filter((message) => message !== undefined),
    ],
  ];

  function withCalls(message: AssistantMessage | undefined, at: number): AssistantMessage {
    return { role: 'assistant', content: '', toolCalls: (message?.toolCalls ?? []).slice(at, at + 1) };
  }

  test.each(regroupings)('%s', (_, regroup) => {
    const player = start();
    const { history, answers } = playThree(player);
    const results = history.filter(({ role }) => role === 'tool');
    const turn = player.begin([system, user, ...regroup(answers, results), next]);
    expect([turn.fork, goesOnFrom(player, turn, 2)]).toEqual([undefined, true]);
    player.commit(turn, 'done');
    const { splices, ...others } = countsOf(player);
    expect([Object.keys(splices['agent'] ?? {}), others]).toEqual([
      ['regrouped'],
      { forks: {}, foreignMessages: {}, samples: 1 },
    ]);
  });

  test.each<readonly [string, (merged: AssistantMessage, results: readonly ChatMessage[]) => readonly ChatMessage[]]>([
    ['a result is missing', (merged, results) => [merged, ...results.slice(1)]],
    ['text was added', (merged, results) => [{ ...merged, content: `${merged.content} and more` }, ...results]],
    ['an argument was edited', (merged, results) => [withArguments(merged, '{"a":7}'), ...results]],
    ['a result belongs to nobody', (merged, results) => [merged, ...results, result('stranger')]],
  ])('stays as it was sent if %s', (_, edit) => {
    const player = start();
    const { history, answers } = playThree(player);
    const merged: AssistantMessage = {
      role: 'assistant',
      content: 'one',
      toolCalls: answers.flatMap(({ toolCalls }) => toolCalls ?? []),
    };
    const sent = [
      system,
      user,
      ...edit(
        merged,
        history.filter(({ role }) => role === 'tool'),
      ),
      next,
    ];
    const turn = player.begin(sent);
    expect(turn.fork).toBe('rewritten');
    expect(textOf(turn)).toBe(chatTokenizer.template.render(sent, { addGenerationPrompt: true }));
  });
});

describe('several agents', () => {
  test('the same first messages share tokens, and each agent continues from its own answer', () => {
    const player = start();
    player.say([system, user], 'yes', { agent: 'one' });
    player.say([system, user], 'yes', { agent: 'two', isOdd: true });
    const turn = player.begin([system, user, { role: 'assistant', content: 'yes' }, next], { agent: 'one' });
    expect(goesOnFrom(player, turn, 0)).toBe(true);
    player.commit(turn, 'a', { agent: 'one' });
    const samples = player.tracker.finish();
    expect(samples.map(({ agentName }) => agentName).sort()).toEqual(['one', 'two']);
  });

  test('two conversations of one agent that began with the same answer each continue separately', () => {
    const player = start();
    const first = player.say([system, user], 'yes');
    const second = player.say([system, user, first, next], 'on', { isOdd: true });
    player.say([system, user], 'yes', { isOdd: true });
    const turn = player.begin([system, user, first, next, second, next]);
    expect([turn.fork, goesOnFrom(player, turn, 1)]).toEqual([undefined, true]);
  });

  test('a conversation that is handed over continues, and each agent trains in a separate row', () => {
    const player = start();
    const first = player.say([system, user], 'a1', { agent: 'one' });
    const turn = player.begin([system, user, first, next], { agent: 'two' });
    expect([turn.fork, goesOnFrom(player, turn)]).toEqual([undefined, true]);
    player.commit(turn, 'a2', { agent: 'two' });
    const samples = player.tracker.finish();
    expect(
      samples
        .map(({ agentName, lossMask }) => [agentName, lossMask.reduce((sum, mask) => sum + mask, 0)])
        .toSorted(([a], [b]) => String(a).localeCompare(String(b))),
    ).toEqual([
      ['one', 3],
      ['two', 3],
    ]);
    expect(player.tracker.stats()).toMatchObject({ generatedTokens: 6, trainedTokens: 6 });
  });

  test('counts are by agent', () => {
    const player = start();
    for (const agent of ['one', 'two']) {
      const message = player.say([system, { role: 'user', content: agent }], 'a \n', { agent });
      player.say(
        [
          system,
          { role: 'user', content: agent },
          { ...message, content: 'a' },
          { role: 'assistant', content: 'not ours' },
          next,
        ],
        'b',
        { agent },
      );
    }
    player.say(
      [
        { role: 'system', content: 'other' },
        { role: 'user', content: 'two' },
        { role: 'assistant', content: 'a' },
        next,
      ],
      'c',
      { agent: 'two' },
    );
    const once = { one: { text: 1 }, two: { text: 1 } };
    const unknown = { one: { unknown: 1 }, two: { unknown: 1 } };
    expect(countsOf(player)).toEqual({
      splices: once,
      foreignMessages: unknown,
      forks: { two: { system: 1 } },
      samples: 3,
    });
  });
});
