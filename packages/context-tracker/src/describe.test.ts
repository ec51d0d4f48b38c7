import type { ChatMessage, Sample, ToolMessage } from '@agentjet/core';
import { type ChatTokenizer, createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ContextTracker, createContextTracker, packTurns, type TurnDescription } from './index.js';
import { createToyChatTokenizer } from './testing.js';
import { createPlayer } from './testing/play.js';
import { type Operation, programs, runProgram } from './testing/random-agent.js';

const qwen3 = createChatTokenizer(createChatTokenizerFiles('qwen3'));
const families: readonly (readonly [string, ChatTokenizer])[] = [
  ['toy', createToyChatTokenizer({ thinking: 'strip' })],
  ['Qwen2.5', createChatTokenizer(createChatTokenizerFiles('chatml'))],
  ['Qwen3', qwen3],
  ['Llama 3', createChatTokenizer(createChatTokenizerFiles('llama3'))],
];
const callText = '<tool_call>\n{"name": "calc", "arguments": {"a": 1}}\n</tool_call>';
const system: ChatMessage = { role: 'system', content: 's' };
const user: ChatMessage = { role: 'user', content: 'user' };

function start(chatTokenizer: ChatTokenizer) {
  const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
  return { tracker, ...createPlayer(tracker, chatTokenizer) };
}

/** Returns `author: text` of each part, decoded from its tokens. */
function saidBy(
  tracker: ContextTracker,
  { tokenizer }: ChatTokenizer,
  turn: TurnDescription | undefined,
): readonly string[] {
  const row = tracker.finish()[turn?.sample ?? -1];
  return (turn?.parts ?? []).map(
    ({ author, start: from, end, name }) =>
      `${author}${name === undefined ? '' : ` ${name}`}: ${tokenizer.decode(row?.ids.subarray(from, end) ?? [])}`,
  );
}

describe.each(families)('%s: who wrote the prompt', (_, chatTokenizer) => {
  test('is distinguished from the template, even if a message repeats its header', () => {
    const { say, tracker } = start(chatTokenizer);
    say(
      [system, user, { role: 'assistant', content: 'assistant é' }, { role: 'user', content: '\n two  lines\n' }],
      'a',
    );
    const [turn] = tracker.describe();
    const said = saidBy(tracker, chatTokenizer, turn);
    expect(said.map((text) => text.trimEnd())).toEqual([
      'system: s',
      'user: user',
      expect.stringMatching(/^foreign: (<think>\n\n<\/think>\n\n)?assistant é$/),
      expect.stringMatching(/^user: \s*two {2}lines$/),
    ]);
    expect(turn?.foreignMessages).toEqual({ unknown: 1 });
  });

  test('is found without decoding the printed text, with the same result', () => {
    const { textEnds: _textEnds, ...decoding } = chatTokenizer.tokenizer;
    const describedWith = (tokenizer: ChatTokenizer['tokenizer'], program: readonly Operation[]): unknown => {
      const played = { ...chatTokenizer, tokenizer };
      const tracker = createContextTracker({ episodeId: 'e', chatTokenizer: played });
      runProgram(program, tracker, played, { order: (count) => Array.from({ length: count }, (_none, at) => at) });
      return tracker.describe();
    };
    const property = fc.property(programs, (program) => {
      expect(describedWith(chatTokenizer.tokenizer, program)).toEqual(describedWith(decoding, program));
    });
    fc.assert(property, { numRuns: 30 });
  });

  test('is packed while the calls are made, as it is packed from the description', () => {
    const property = fc.property(programs, (program) => {
      const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
      runProgram(program, tracker, chatTokenizer, {
        order: (count) => Array.from({ length: count }, (_none, at) => at),
      });
      expect(tracker.packTurns()).toStrictEqual(packTurns(tracker.describe()));
    });
    fc.assert(property, { numRuns: 30 });
  });

  test('is described by each call for what it adds', () => {
    const { say, tracker } = start(chatTokenizer);
    const first = say([system, user], 'one');
    say([system, user, first, { role: 'user', content: 'the next' }], 'two');
    const [, second] = tracker.describe();
    expect(saidBy(tracker, chatTokenizer, second).at(-1)).toBe('user: the next');
    expect(second).toMatchObject({
      index: 1,
      turnId: 'e/1',
      agentName: 'agent',
      generatedTokens: 4,
      isTruncated: false,
      policyVersion: 3,
    });
  });
});

describe('a call', () => {
  test('with tool results: each belongs to its tool, and its own answer is not described again', () => {
    const { say, tracker } = start(qwen3);
    const first = say([system, user], `${callText}\n${callText}`);
    const results = (first.toolCalls ?? []).map(
      ({ id }, at): ToolMessage => ({ role: 'tool', content: `tool_response ${at}`, toolCallId: id, name: 'calc' }),
    );
    say([system, user, first, ...results], 'done');
    expect(saidBy(tracker, qwen3, tracker.describe()[1])).toEqual([
      'tool calc: tool_response 0',
      'tool calc: tool_response 1',
    ]);
  });

  test('that forks by the template: the answers printed again are the model’s, calls included', () => {
    const { say, tracker } = start(qwen3);
    const first = say([system, user], `<think>\nwhy\n</think>\n\n${callText}`);
    const result: ToolMessage = { role: 'tool', content: '1', toolCallId: first.toolCalls?.[0]?.id ?? '' };
    const second = say([system, user, first, result], '<think>\nso\n</think>\n\nIt is 1.');
    say([system, user, first, result, second, { role: 'user', content: 'next' }], 'ok');
    const third = tracker.describe()[2];
    expect(third).toMatchObject({ fork: 'template', foreignMessages: {} });
    expect(saidBy(tracker, qwen3, third)).toEqual([`model: ${callText}`, 'tool: 1', 'model: It is 1.', 'user: next']);
  });

  test('that continues after a foreign answer to a prompt of ours', () => {
    const { begin, commit, say, tracker } = start(qwen3);
    say([system, user], 'ours');
    const turn = begin([system, user, { role: 'assistant', content: 'theirs' }, { role: 'user', content: 'next' }]);
    commit(turn, 'x');
    expect(saidBy(tracker, qwen3, tracker.describe()[1])).toEqual(['foreign: theirs', 'user: next']);
  });

  test('that sends an answer back in another spelling names it, once', () => {
    const { say, tracker } = start(qwen3);
    say([system, user], 'zero');
    const first = say([system, { role: 'user', content: 'other' }], 'a1\n');
    const sent: ChatMessage[] = [system, { role: 'user', content: 'other' }, { ...first, content: 'a1' }, user];
    const second = say(sent, 'a2');
    say([...sent, second, user], 'a3');
    expect(tracker.describe().map(({ splices }) => splices)).toEqual([[], [], [{ turn: 1, cause: 'text' }], []]);
  });

  test('whose answer had to begin with a string, which the opening wrote', () => {
    const tracker = createContextTracker({ episodeId: 'e', chatTokenizer: qwen3 });
    const opening = qwen3.template.callOpening?.('add') ?? expect.fail();
    const ids = qwen3.tokenizer.encode(' {"a": 1}}\n</tool_call><|im_end|>');
    const turn = tracker.begin(
      { agentName: 'a', targetTag: 'a' },
      { messages: [user], tools: [{ name: 'add', parameters: {} }] },
      { opening },
    );
    turn.commit({ ids, logprobs: new Float32Array(ids.length), finishReason: 'stop', policyVersion: 0 });
    expect(saidBy(tracker, qwen3, tracker.describe()[0])).toEqual(['user: user', `opening: ${opening}`]);
  });

  test('that was not committed is left out, and the others are numbered without it', () => {
    const { begin, commit, tracker } = start(qwen3);
    const [one, , three] = ['1', '2', '3'].map((content) => begin([{ role: 'user', content }]));
    commit(three ?? expect.fail(), 'third');
    commit(one ?? expect.fail(), 'first', { isTruncated: true });
    expect(tracker.describe().map(({ index, turnId, isTruncated }) => [index, turnId, isTruncated])).toEqual([
      [0, 'e/0', true],
      [1, 'e/2', false],
    ]);
  });

  test('that sampled nothing has no row', () => {
    const { begin, tracker } = start(qwen3);
    begin([user]).commit({
      ids: new Int32Array(0),
      logprobs: new Float32Array(0),
      finishReason: 'stop',
      policyVersion: 0,
    });
    expect(tracker.describe()).toMatchObject([{ sample: null, generatedTokens: 0 }]);
    expect(tracker.finish()).toEqual([]);
  });
});

describe('two calls that sampled the same tokens from the same prompt', () => {
  test('are two turns, and the tokens of each are trained in a separate row', () => {
    const { begin, commit, tracker } = start(qwen3);
    const turns = [begin([user]), begin([user])];
    for (const turn of turns.toReversed()) commit(turn, 'same');
    const samples = tracker.finish();
    expect(samples.map(({ turnIndices }) => [...new Set(turnIndices)])).toEqual([
      [-1, 0],
      [-1, 1],
    ]);
    expect(samples.map(({ ids }) => [...ids])).toEqual([[...(samples[0]?.ids ?? [])], [...(samples[0]?.ids ?? [])]]);
  });
});

/** Returns the turn that sampled each token of a row, according to the descriptions, or -1. */
function turnsOf({ ids }: Sample, row: number, turns: readonly TurnDescription[]): Int32Array {
  const turnAt = new Int32Array(ids.length).fill(-1);
  for (const { sample, index, promptTokens, generatedTokens } of turns) {
    if (sample === row) turnAt.fill(index, promptTokens, promptTokens + generatedTokens);
  }
  return turnAt;
}

describe.each(families)('%s: for any behaviour of agents', (_, chatTokenizer) => {
  test('turns cover the trained tokens exactly, and parts only what their call added', () => {
    const property = fc.property(programs, (program) => {
      const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
      const calls = runProgram(program, tracker, chatTokenizer, { order: (count) => [...Array(count).keys()] });
      const samples = tracker.finish();
      const turns = tracker.describe();
      for (const [row, sample] of samples.entries()) {
        const turnAt = turnsOf(sample, row, turns);
        expect(turnAt).toEqual(sample.turnIndices);
        expect(turnAt.map((turn) => Number(turn >= 0))).toEqual(Int32Array.from(sample.lossMask));
      }
      expect(turns.map(({ index, generatedTokens }) => [index, generatedTokens])).toEqual(
        calls.map(({ completion }, index) => [index, completion.ids.length]),
      );
      for (const { parts, promptTokens } of turns) {
        const bounds = parts.flatMap(({ start: from, end }) => [from, end]);
        expect(bounds).toEqual(bounds.toSorted((left, right) => left - right));
        expect(parts.every(({ start: from, end }) => from >= 0 && from < end && end <= promptTokens)).toBe(true);
      }
    });
    fc.assert(property, { numRuns: 60 });
  });
});
