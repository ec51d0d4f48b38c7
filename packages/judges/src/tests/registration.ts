import { setting, z } from '@agentjet/core';
import { defineJudge } from '@agentjet/rollout/inputs';
import { answerSource } from '../answer-source.js';

export const tests = defineJudge({
  name: 'tests',
  summary: "the task's tests run against the program of the answer, in a sandbox",
  section: z.strictObject({
    language: setting(
      z.enum(['javascript', 'python']),
      'javascript',
      'python needs bubblewrap, so it runs on Linux only',
    ),
    tests_field: setting(
      z.string().min(1),
      'tests',
      "field of the task's metadata: code that throws, { stdin, stdout }, or a list of them",
    ),
    ...answerSource,
    seconds: setting(z.number().positive().max(600), 5, 'for one test'),
    megabytes: setting(z.number().int().min(16).max(65_536), 256, 'for one test'),
  }),
  async open({ seconds, megabytes, ...section }) {
    const [{ openCodeRunner }, { createTestsJudge }] = await Promise.all([
      import('@agentjet/sandbox'),
      import('./tests-judge.js'),
    ]);
    return createTestsJudge(openCodeRunner(section.language), { ...section, limits: { seconds, megabytes } });
  },
});
