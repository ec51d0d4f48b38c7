import { setting, z } from '@agentjet/core';
import { defineJudge } from '@agentjet/rollout/inputs';
import { answerSource } from '../shared-settings.js';

export const tests = defineJudge({
  name: 'tests',
  summary: "runs the task's tests against the program of the answer, in a sandbox",
  section: z.strictObject({
    language: setting(
      z.enum(['javascript', 'python']),
      'javascript',
      'python needs bubblewrap (Linux), or docker or podman',
    ),
    sandbox: setting(
      z.enum(['auto', 'bubblewrap', 'container']),
      'auto',
      'sandbox of python; auto: bubblewrap if it runs here, otherwise a container',
    ),
    image: setting(
      z.string().min(1),
      'python:3.12-slim',
      'image of the container, which must already be on this machine',
    ),
    tests_field: setting(
      z.string().min(1),
      'tests',
      "field of the task's metadata that holds code that throws, { stdin, stdout }, or a list of them",
    ),
    ...answerSource,
    seconds: setting(z.number().positive().max(600), 5, 'time limit of one test'),
    megabytes: setting(z.number().int().min(16).max(65_536), 256, 'memory limit of one test'),
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
