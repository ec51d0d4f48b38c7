import { setting, z } from '@agentjet/core';
import { defineJudge } from '../../judge.js';

export const judgeProtocol = defineJudge({
  name: 'customized_protocol',
  summary: 'the judge that judge_protocol names',
  isFlat: true,
  section: z.strictObject({
    judge_protocol: setting(
      z.string().min(1).nullable(),
      null,
      'path/file.ts->Export, an object or class with judge(task, output), which is asked if a workflow returns no reward',
      { path: 'module' },
    ),
  }),
  async open({ judgeProtocol: reference }) {
    if (reference === null) return undefined;
    const [{ importUserModule }, { createJudge }] = await Promise.all([
      import('../../user-module.js'),
      import('../../judge.js'),
    ]);
    return createJudge(
      await importUserModule(reference, process.cwd(), 'task_judge.judge_protocol'),
      `task_judge.judge_protocol ${reference}`,
    );
  },
});
