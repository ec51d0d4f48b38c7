import { expect, it } from 'vitest';
import { benchJudges } from './bench.js';

it('a judge that is often away gives no reward without a verdict, and is asked nothing twice', async () => {
  const { summary, details } = await benchJudges(90, () => {});
  expect(summary).toMatchObject({
    rewards_without_verdict: 0,
    candidate_text_outside_json: 0,
    verdicts_taken_from_candidate: 0,
    repeated_after_resume: 0,
  });
  expect(details).toMatchObject({ changed_after_resume: 0 });
  expect(details['rewarded']).toBeGreaterThan(40);
});
