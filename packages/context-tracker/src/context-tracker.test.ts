import {
  AgentJetError,
  type AssistantMessage,
  type ChatDelta,
  type ChatMessage,
  EngineError,
  type ToolSpec,
} from '@agentjet/core';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { describe, expect, test } from 'vitest';
import { createContextTracker } from './index.js';
import { createToyChatTokenizer } from './testing.js';
import { createPlayer, showRow, toCompletion } from './testing/play.js';

const chatTokenizer = createToyChatTokenizer();
const { tokenizer, template } = chatTokenizer;
const agent = { agentName: 'agent', targetTag: 'agent' };
const user: ChatMessage = { role: 'user', content: 'the U' };
const callText = '<tool_call>\n{"name": "calc", "arguments": {"a": 1}}\n</tool_call>';

function create(episodeId = 'e') {
  const tracker = createContextTracker({ episodeId, chatTokenizer });
  return { tracker, ...createPlayer(tracker, chatTokenizer) };
}

function problemOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof AgentJetError) return `${error.name} ${error.code} ${error.message}`;
    throw error;
  }
  return 'nothing was thrown';
}

describe('a reply', () => {
  test('is parsed, and its calls get ids that we mint', () => {
    const { begin, commit } = create();
    const { message, finishReason, malformedToolCalls, tokenTexts } = commit(
      begin([user]),
      `so\n${callText}\n${callText}`,
    );
    const ids = message.toolCalls?.map(({ id }) => id) ?? [];
    expect(message).toMatchObject({
      role: 'assistant',
      content: 'so',
      toolCalls: [{ name: 'calc', arguments: '{"a": 1}' }, { name: 'calc' }],
    });
    expect(ids.every((id) => /^[0-9A-Za-z]{9}$/.test(id)) && new Set(ids).size === 2).toBe(true);
    expect([finishReason, malformedToolCalls]).toEqual(['tool_calls', 0]);
    expect(tokenTexts.join('')).toBe(`so\n${callText}\n${callText}<|im_end|>`);
  });

  test.each<readonly [string, string, boolean, string]>([
    ['stop', 'done', false, 'stop'],
    ['length', 'done', true, 'length'],
    ['length, though calls were whole', callText, true, 'length'],
    ['stop, with an unreadable call', '<tool_call>\n{"name": \n</tool_call>', false, 'stop'],
  ])('ends with %s', (_, answer, isTruncated, reason) => {
    const { begin, commit } = create();
    expect(commit(begin([user]), answer, { isTruncated }).finishReason).toBe(reason);
  });

  test('ends with stop if a stop string ended it: there is no stop token, and none is trained', () => {
    const { tracker, say } = create();
    const turn = tracker.begin(agent, { messages: [user], sampling: { stop: ['END'] } });
    const { finishReason, message } = turn.commit(toCompletion(tokenizer.encode('a END')));
    say([user, message, user], 'b');
    expect(finishReason).toBe('stop');
    const turns = tracker.describe().map(({ isTruncated, hasStopToken }) => ({ isTruncated, hasStopToken }));
    expect(turns).toEqual([{ isTruncated: false, hasStopToken: false }, { isTruncated: false }]);
    expect(showRow(tracker.finish()[0] ?? expect.fail(), chatTokenizer)).toContain('assistant\n[a END]<|im_end|>\n');
  });

  test('call ids differ between calls and episodes, and are the same in the same run', () => {
    const idsOf = (episodeId: string): readonly (string | undefined)[] => {
      const { say } = create(episodeId);
      return [say([user], callText), say([user], callText)].map(({ toolCalls }) => toolCalls?.[0]?.id);
    };
    expect(new Set([...idsOf('e1'), ...idsOf('e2')]).size).toBe(4);
    expect(idsOf('e1')).toEqual(idsOf('e1'));
  });

  test.each(['chatml', 'qwen3', 'llama3'] as const)('streams what commit returns (%s)', (family) => {
    const real = createChatTokenizer(createChatTokenizerFiles(family));
    const answers = [
      'plain é😀',
      `text\n${callText}`,
      '<think>\nwhy\n</think>\n\nso',
      '{"name": "calc", "parameters": {"a": 1}}',
    ];
    for (const answer of answers) {
      const deltas: ChatDelta[] = [];
      const turn = createContextTracker({ episodeId: 'e', chatTokenizer: real }).begin(agent, { messages: [user] });
      const completion = toCompletion(Int32Array.of(...real.tokenizer.encode(answer), real.template.stopIds[0] ?? 0));
      const stream = turn.createStream((delta) => deltas.push(delta));
      for (const id of completion.ids) stream.push(id);
      stream.flush();
      expect(joinDeltas(deltas)).toEqual(turn.commit(completion).message);
    }
  });
});

function joinDeltas(deltas: readonly ChatDelta[]): AssistantMessage {
  const textOf = (type: 'content' | 'reasoning'): string =>
    deltas.map((delta) => (delta.type === type ? delta.text : '')).join('');
  const toolCalls = deltas.flatMap((delta) => (delta.type === 'tool_call' ? [delta.toolCall] : []));
  const reasoning = textOf('reasoning');
  return {
    role: 'assistant',
    content: textOf('content'),
    ...(reasoning === '' ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}

describe('wrong use is refused with a clear error', () => {
  test('a turn is committed once', () => {
    const { begin, commit, tracker } = create();
    const turn = begin([user]);
    commit(turn, 'a');
    expect(() => commit(turn, 'b')).toThrow(/e\/0 was committed before/);
    expect(tracker.stats()).toMatchObject({ calls: 1, generatedTokens: 2 });
  });

  test('nothing is committed or begun after finish, which can be asked again', () => {
    const { begin, commit, say, tracker } = create();
    say([user], 'a');
    const late = begin([user]);
    const samples = tracker.finish();
    expect(() => commit(late, 'b')).toThrow(AgentJetError);
    expect(() => commit(late, 'b')).toThrow(/after its episode had finished/);
    expect(() => begin([user])).toThrow(EngineError);
    expect(tracker.finish()).toBe(samples);
  });

  test.each<readonly [string, unknown, RegExp]>([
    ['no messages', [], /has no messages/],
    ['messages that are not a list', undefined, /has no messages/],
    ['a message that is nothing', [null], /Message 0 has the role undefined/],
    ['an unknown role', [{ role: 'developer', content: 'x' }], /Message 0 has the role "developer"/],
    [
      'parts instead of a string',
      [
        { role: 'user', content: 'x' },
        { role: 'user', content: [{ type: 'text', text: 'x' }] },
      ],
      /message 1 \(user\) is a list of parts/,
    ],
    ['a number instead of a string', [{ role: 'user', content: 7 }], /is of type number/],
  ])('%s', (_, messages, wording) => {
    const { tracker } = create();
    const begin = () => tracker.begin(agent, { messages: messages as ChatMessage[] });
    expect(begin).toThrow(EngineError);
    expect(begin).toThrow(wording);
  });

  test('a message without a role, even with the text of an answer with calls', () => {
    const { begin, say } = create();
    const { content } = say([user], 'a\n<tool_call>\n{"name": "calc", "arguments": {}}\n</tool_call>');
    expect(problemOf(() => begin([user, { content } as ChatMessage, user]))).toContain(
      'EngineError bad_request Message 1 has the role undefined.',
    );
  });

  test('absent text is the empty text', () => {
    const { begin } = create();
    const absent = [user, { role: 'assistant', content: null }, { role: 'user' }] as unknown as ChatMessage[];
    const empty: ChatMessage[] = [user, { role: 'assistant', content: '' }, { role: 'user', content: '' }];
    expect([...begin(absent).promptIds]).toEqual([...begin(empty).promptIds]);
  });

  test.each<readonly [string, object, string]>([
    [
      'arguments as an object',
      { toolCalls: [{ id: 'x', name: 'calc', arguments: { a: 1 } }] },
      'The arguments of tool call 0 of message 1 ("calc") are of type object, not a string. Send the JSON',
    ],
    [
      'a call of another shape',
      { toolCalls: [{ id: 'x', function: { name: 'calc', arguments: '{}' } }] },
      'The name of tool call 0 of message 1 is of type undefined. A call is { id, name, arguments }.',
    ],
    ['a call that is null', { toolCalls: [null] }, 'The name of tool call 0 of message 1 is of type undefined.'],
    ['calls that are not a list', { toolCalls: 'calc' }, 'The toolCalls of message 1 are of type string, not a list.'],
    [
      'reasoning that is not a string',
      { reasoning: 7 },
      'The reasoning of message 1 (assistant) is of type number, not a string.',
    ],
  ])('an answer sent back with %s', (_, fields, problem) => {
    const { begin, say } = create();
    say([user], 'a');
    expect(
      problemOf(() => begin([user, { role: 'assistant', content: 'a', ...fields } as ChatMessage, user])),
    ).toContain(`EngineError bad_request ${problem}`);
  });

  test.each<readonly [string, unknown, string]>([
    ['no list', { calc: {} }, 'The tools of the request are of type object, not a list.'],
    ['without a name', [{ parameters: {} }], 'Tool 0 of the request has the name undefined.'],
    ['not JSON', [{ name: 'calc', parameters: { least: 1n } }], 'The tools of the request cannot be written as JSON'],
  ])('tools that are %s', (_, tools, problem) => {
    const { begin } = create();
    expect(problemOf(() => begin([user], { request: { tools: tools as ToolSpec[] } }))).toContain(
      `EngineError bad_request ${problem}`,
    );
  });

  test.each([
    [
      'a logprob that is not a number',
      Int32Array.of(5, 6),
      Float32Array.of(-1, Number.NaN),
      'Token 1 of a completion has the id 6 and the logprob NaN.',
    ],
    [
      'a logprob that no token can have',
      Int32Array.of(5),
      Float32Array.of(-Infinity),
      'Token 0 of a completion has the id 5 and the logprob -Infinity.',
    ],
    [
      'an id below 0',
      Int32Array.of(-1),
      Float32Array.of(-1),
      'Token 0 of a completion has the id -1 and the logprob -1.',
    ],
  ])('an engine that returns %s', (_, ids, logprobs, problem) => {
    const { begin, tracker } = create();
    const turn = begin([user]);
    expect(problemOf(() => turn.commit({ ids, logprobs, finishReason: 'stop', policyVersion: 0 }))).toContain(
      `AgentJetError bad_completion ${problem}`,
    );
    expect(tracker.finish()).toEqual([]);
  });

  test('an engine that returns ids without logprobs', () => {
    const { begin, tracker } = create();
    const turn = begin([user]);
    const bad = { ...toCompletion(Int32Array.of(65, 66)), logprobs: new Float32Array(1) };
    expect(() => turn.commit(bad)).toThrow(/2 ids and 1 logprobs/);
    expect(tracker.stats().calls).toBe(0);
    expect(turn.commit(toCompletion(Int32Array.of(65))).message.content).toBe('A');
  });
});

describe('callers keep their objects', () => {
  test('messages that change after a call change nothing that was recorded', () => {
    const { begin, say } = create();
    const question = { role: 'user' as const, content: 'one' };
    const first = say([question], 'a');
    const before = begin([{ role: 'user', content: 'one' }, first, user]);
    question.content = 'two';
    expect([begin([question, first, user]).fork, before.fork]).toEqual(['rewritten', undefined]);
    expect(begin([{ role: 'user', content: 'one' }, first, user]).reusedTokens).toBe(before.reusedTokens);
  });

  test('a completion that changes after its commit changes no sample', () => {
    const { begin, tracker } = create();
    const turn = begin([user]);
    const prompt = [...turn.promptIds];
    const completion = toCompletion(Int32Array.of(65, 66));
    turn.commit(completion);
    completion.ids.fill(0);
    completion.logprobs.fill(0);
    const [sample] = tracker.finish();
    expect([...(sample?.ids ?? [])]).toEqual([...prompt, 65, 66]);
    expect(sample?.logprobs.at(-1)).toBeLessThan(0);
  });

  test('a prompt does not change while other turns are committed', () => {
    const { begin, commit, say } = create();
    const first = say([user], 'a');
    const turns = ['x', 'y', 'z'].map((content) => begin([user, first, { role: 'user', content }]));
    const prompts = turns.map(({ promptIds }) => promptIds.join());
    for (const turn of turns.toReversed()) commit(turn, 'long enough to run over what the others hold');
    expect(turns.map(({ promptIds }) => promptIds.join())).toEqual(prompts);
  });
});

describe('what is reused', () => {
  test('contains all tokens that are already known, even if no message is shared', () => {
    const { begin, say } = create();
    say([user], 'a');
    expect(begin([user]).reusedTokens).toBe(begin([user]).promptIds.length);
    const other = begin([{ role: 'user', content: 'the V' }]);
    expect(tokenizer.decode(other.promptIds.subarray(0, other.reusedTokens))).toBe('<|im_start|>user\nthe ');
  });

  test('an answer that sampled nothing is a call without a row', () => {
    const { begin, tracker } = create();
    begin([user]).commit(toCompletion(new Int32Array(0), true));
    expect(tracker.finish()).toEqual([]);
    expect(tracker.stats()).toMatchObject({ calls: 1, generatedTokens: 0, trainedTokens: 0, samples: 0 });
  });

  test("another stop token takes the place of the template's own", () => {
    const { begin, say, tracker } = create();
    const { message } = begin([user]).commit(toCompletion(Int32Array.of(65, tokenizer.idOf('<|endoftext|>') ?? 0)));
    say([user, message, user], 'b');
    expect(template.stopIds).toHaveLength(2);
    expect(showRow(tracker.finish()[0] ?? expect.fail(), chatTokenizer)).toContain(
      '[A<|endoftext|>]\n<|im_start|>user',
    );
  });
});
