import type { ServerAnswer } from '@agentjet/swarm-client';
import { expect, it } from 'vitest';
import { serverAnswer as server } from '../testing/server-answer.js';
import { SwarmPrinter } from './swarm-printer.js';

const policy = { step: 3, version: 3, incarnation: 0, groups_open: 0, groups_pooled: 0, gate_wait_seconds: 0 };
const worker = { ...policy, state: 'failed' as const, account: {}, dropped_by_reason: {} };

function print(...answers: readonly ServerAnswer[]): readonly string[] {
  const lines: string[] = [];
  const printer = new SwarmPrinter((line) => void lines.push(line));
  for (const answer of answers) printer.onEvent({ type: 'server', server: answer });
  return lines;
}

it('says once why training stopped, and that it works again', () => {
  const stopped: ServerAnswer = { ...server, state: 'failed', problem: 'The device is gone.' };
  expect(print(server, stopped, { ...stopped, version: 4 }, { ...server, version: 4 })).toEqual([
    'step 3, rolling',
    'step 3, failed',
    'Training has stopped: The device is gone.',
    'step 4, failed',
    'step 4, rolling',
    'Training continues.',
  ]);
});

it('says which policy has stopped while the others continue', () => {
  const stopped: ServerAnswer = { ...server, policies: { worker: { ...worker, problem: 'The device is gone.' } } };
  const again: ServerAnswer = { ...server, policies: { worker: { ...worker, state: 'waiting' } } };
  expect(print(stopped, again)).toEqual([
    'step 3, rolling',
    'Training of the policy "worker" has stopped: The device is gone.',
    'Training of the policy "worker" continues.',
  ]);
});
