import { setting, z } from '@agentjet/core';
import { defineJudge } from '@agentjet/rollout/inputs';
import { answerSource } from '../answer-settings.js';

export const tests = defineJudge({
  name: 'tests',
  summary: "the task's tests run against the program of the answer, in a sandbox",
  section: z.strictObject({
    language: setting(
      z.enum(['javascript', 'python']),
      'javascript',
      'python needs bubblewrap (Linux), or docker or podman',
    ),
    sandbox: setting(
      z.enum(['auto', 'bubblewrap', 'container']),
      'auto',
      'of python; auto: bubblewrap where it runs, or else a container',
    ),
    image: setting(z.string().min(1), 'python:3.12-slim', 'of a container; it has to be on this machine already'),
    tests_field: setting(
      z.string().min(1),
      'tests',
      "field of the task's metadata: code that throws, { stdin, stdout }, or a list of them",
    ),
    ...answerSource,
    seconds: setting(z.number().positive().max(600), 5, 'for one test'),
    megabytes: setting(z.number().int().min(16).max(65_536), 256, 'for one test'),
  }),
  async open({ seconds, megabytes, sandbox, image, ...section }) {
    const [{ openCodeRunner }, { createTestsJudge }] = await Promise.all([
      import('@agentjet/sandbox'),
      import('./tests-judge.js'),
    ]);
    return createTestsJudge(openCodeRunner(section.language, { sandbox, image }), {
      ...section,
      limits: { seconds, megabytes },
    });
  },
});
