import { expect, it } from 'vitest';
import { countTests, findWarnings } from './read-output.js';

it('counts the lines in which Node and npm warn, and no others', () => {
  const warnings = [
    '(node:13050) [DEP0205] DeprecationWarning: `module.register()` is deprecated.',
    '(node:14168) MaxListenersExceededWarning: Possible EventEmitter memory leak detected.',
    'Warning: Detected unsettled top-level await at file:///main.js:13',
    'npm warn Unknown project config "x".',
    '@agentjet/core:build: npm warn deprecated',
  ];
  const others = ['(Use `node --trace-warnings ...` to show it)', 'npm notice run start', 'AI SDK Warning System: off'];
  expect(findWarnings([...warnings, ...others].join('\n'))).toEqual(warnings);
});

it('reads the closing line of npm test, and takes a missing one for a failure', () => {
  expect(countTests({ code: 0, output: 'ok\n178 skipped\n5755 passed, 0 failed\n' })).toMatchObject({
    passed: 5755,
    failed: 0,
  });
  expect(countTests({ code: 1, output: ' FAIL  a.test.ts > b\n7 passed, 2 failed\n' })).toEqual({
    passed: 7,
    failed: 2,
    lines: [' FAIL  a.test.ts > b'],
  });
  expect(countTests({ code: 1, output: '7 passed, 0 failed\n' })).toMatchObject({ failed: 1 });
  expect(countTests({ code: null, output: 'Killed\n' })).toMatchObject({ passed: 0, failed: 1 });
});
