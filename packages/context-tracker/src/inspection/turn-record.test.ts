import { snakeKeys } from '@agentjet/core';
import { expect, test } from 'vitest';
import type { TurnDescription } from '../contract.js';
import { readTurnRecords, toTurnRecord } from './turn-record.js';

const turn: Required<TurnDescription> = {
  turnId: 'e/0',
  index: 0,
  agentName: 'solver',
  targetTag: 'math',
  promptTokens: 12,
  reusedTokens: 3,
  generatedTokens: 4,
  policyVersion: 2,
  isTruncated: false,
  hasStopToken: false,
  isTrained: false,
  fork: 'edited',
  sample: 0,
  splices: [{ turn: 0, cause: 'text' }],
  foreignMessages: { edited: 1 },
  parts: [{ author: 'user', name: 'Ann', start: 3, end: 9 }],
  times: { beganMs: 10, waitedMs: 0.1, promptMs: 2, samplingMs: 30.5, endedMs: 43 },
};
const { hasStopToken: _hasStopToken, isTrained: _isTrained, times: _times, ...trained } = turn;

test.each([
  ['that is not trained', turn],
  ['that is trained', trained],
])('the record of a turn %s has all of its keys in snake_case, and is read back as it was', (_what, described) => {
  expect(toTurnRecord(described)).toStrictEqual(snakeKeys(described));
  expect(readTurnRecords([toTurnRecord(described)])).toStrictEqual([described]);
});
