import { expect, it } from 'vitest';
import { skipPassed, type Task } from '../../.ci/long-tests-runner.mjs';

const test = (name: string, mode = 'run'): Task => ({ type: 'test', name, mode });
const suite = (name: string, ...tasks: Task[]): Task & { tasks: Task[] } => ({
  type: 'suite',
  name,
  mode: 'run',
  tasks,
});

it('leaves what has not passed, and skips suites without such tests', () => {
  const [old, fresh, never, alone] = [test('a'), test('b'), test('c', 'skip'), test('d')];
  const [mixed, done] = [suite('mixed', old, fresh, never), suite('done', alone)];
  const file = suite('file', mixed, done);
  const passed = new Set(['mixed a', 'done d']);
  expect(skipPassed(file, (name) => passed.has(name))).toBe(true);
  const modes = [file, mixed, old, fresh, never, done, alone].map(({ mode }) => mode);
  expect(modes).toEqual(['run', 'run', 'skip', 'run', 'skip', 'skip', 'skip']);
});

it('skips a file whose tests have all passed', () => {
  const file = suite('file', test('a'), suite('s', test('b')));
  expect(skipPassed(file, () => true)).toBe(false);
  expect(file.mode).toBe('skip');
});
