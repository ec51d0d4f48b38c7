import { describe, expect, it } from 'vitest';
import { restoreTurn } from './kept-turn.js';
import { groupByTurn } from './split-merged-turns.js';

describe('parts of turns', () => {
  const group = (...turns: readonly (string | undefined)[]) =>
    groupByTurn(
      turns.map((turn, at) => ({ turn, at })),
      ({ turn }) => turn,
    ).map((parts) => parts.map(({ at }) => at));

  it('stay together by their turn', () => {
    expect(group('a', 'a', 'b', 'b')).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  it('without a turn never join one that has a turn', () => {
    expect(group(undefined, 'a', 'a', undefined, undefined, 'a')).toEqual([[0], [1, 2], [3, 4], [5]]);
  });
});

describe('a kept turn', () => {
  const call = { id: 'c', name: 'add', arguments: '{"a":  1}' };
  const kept = { role: 'assistant', content: 'So: ', reasoning: '\nhm\n', toolCalls: [call] };
  const shown = { content: 'So:', toolCalls: [{ id: 'c', name: 'add', arguments: { a: 1 } }] };

  it.each([undefined, 'hm', '\nhm\n'])('comes back as the model wrote it, with thinking shown as %j', (reasoning) => {
    expect(restoreTurn(kept, { ...shown, reasoning })).toEqual(kept);
  });

  it('comes back without the thinking that was taken out, and with the thinking that was edited', () => {
    const { reasoning: _reasoning, ...others } = kept;
    expect(restoreTurn(kept, { ...shown, reasoning: '' })).toEqual(others);
    expect(restoreTurn(kept, { ...shown, reasoning: 'other' })).toEqual({ ...others, reasoning: 'other' });
  });

  it('does not come back if its words or calls say something else', () => {
    expect(restoreTurn(kept, { ...shown, content: 'No:' })).toBeUndefined();
    expect(restoreTurn(kept, { ...shown, toolCalls: [] })).toBeUndefined();
  });
});
