import { expect, it } from 'vitest';
import { countToolResults } from './tool-errors.js';

const call = { role: 'assistant', content: '' } as const;
const result = (content: string) => ({ role: 'tool', toolCallId: 'c', content }) as const;

it.each([
  ['Error: request failed with status code 401', 1],
  ['["Error: request failed with status code 401"]', 1],
  ['HTTP 503', 1],
  ['{"error": "no key"}', 1],
  ['{"error": null, "rows": 2}', 0],
  ['TypeError: x is not a function', 1],
  ['{"status": 503, "detail": "upstream"}', 1],
  ['{"ok":false}', 1],
  ['Service temporarily unavailable', 1],
  ['401 Unauthorized', 1],
  ['connection refused', 1],
  ['{"status": 200, "rows": []}', 0],
  ['{"code": 4012}', 0],
  ['404 apples are in the basket.', 0],
  ['The service was good, and no table was unavailable.', 0],
  ['12', 0],
  ['', 0],
  ['The page lists 404 errors of the year 1999.', 0],
])('the result of a tool %j has %i errors', (content, errors) => {
  expect(countToolResults({ messages: [call, result(content)] })).toEqual({
    results: 1,
    errors,
    ...(errors > 0 && { firstError: content }),
  });
});

it('counts only the results after the last answer, because earlier ones were counted before', () => {
  const messages = [call, result('Error: a'), call, result('1'), result('Error: b')];
  expect(countToolResults({ messages })).toEqual({ results: 2, errors: 1, firstError: 'Error: b' });
  expect(countToolResults({ messages: [{ role: 'user', content: 'Error: c' }] })).toEqual({ results: 0, errors: 0 });
});
