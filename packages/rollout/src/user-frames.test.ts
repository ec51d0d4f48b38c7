import path from 'node:path';
import { expect, it } from 'vitest';
import { failureFrames, failurePlace } from './user-frames.js';

const users = '    at ask (/home/me/agent.ts:3:5)';
const frameworks = '    at request (/home/me/node_modules/openai/src/core/error.ts:73:14)';
const ours = `    at generate (${path.resolve(import.meta.dirname, '../../../adapters/react/src/agent.ts')}:9:1)`;

it('places a failure at the innermost line of the user, below frameworks and packages of ours', () => {
  const stack = ['Error: 400', frameworks, ours, users, '    at later (/home/me/agent.ts:9:1)'].join('\n');
  expect(failurePlace({ code: 'workflow_failed', stack })).toBe(users);
  expect(failureFrames({ code: 'timeout', stack })).toEqual([users, '    at later (/home/me/agent.ts:9:1)']);
});

it('takes only a line that names a place', () => {
  const stack = `Error: bad\n${ours}\n    at async Promise.all (index 0)\n    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)`;
  expect(failurePlace({ code: 'bad_output', stack })).toBeUndefined();
  expect(failurePlace({ code: 'workflow_failed', stack })).toBe(ours);
  expect(failurePlace({ code: 'workflow_failed' })).toBeUndefined();
});
