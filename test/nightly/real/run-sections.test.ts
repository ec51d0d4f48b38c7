import { expect, it } from 'vitest';
import type { NightlyOutcome } from '../nightly-job.js';
import { findShortfalls } from './find-shortfalls.js';
import { runSections } from './run-sections.js';

it('keeps what is known after each section, and names the sections that failed', async () => {
  const kept: NightlyOutcome[] = [];
  const outcome = await runSections(['json', 'langgraph'], {
    keep: (soFar) => void kept.push(soFar),
    findShortfalls: (summary) => findShortfalls(summary).filter((line) => /^(json|langgraph)/.test(line)),
    success: 'fine',
    bench: async ({ args: [, name = ''] }) =>
      name === 'json'
        ? { summary: { json: { before: 0.5, after: 1 } }, details: { missing: [], sections: { json: { load: [1] } } } }
        : { summary: {}, details: { missing: [name], sections: { [name]: { failure: 'no memory' } } } },
  });
  expect(kept.map(({ summary }) => summary)).toEqual(['langgraph was not measured', 'langgraph was not measured']);
  expect(kept[0]?.details).toEqual({
    json: { before: 0.5, after: 1 },
    missing: [],
    sections: { json: { load: [1] } },
  });
  expect(outcome).toMatchObject({ passed: false, details: { missing: ['langgraph'] } });
  expect(outcome.details['sections']).toMatchObject({ langgraph: { failure: 'no memory' } });
});
