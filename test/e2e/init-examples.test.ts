import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createProgram, frameworks } from '@agentjet/cli';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

const root = path.join(import.meta.dirname, '../..');
let dir = '';
beforeEach(() => {
  // Make the folder inside the repository, so that the projects find its packages.
  mkdirSync(path.join(root, 'saved_experiments'), { recursive: true });
  dir = mkdtempSync(path.join(root, 'saved_experiments/init-'));
  vi.spyOn(console, 'log').mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true, force: true });
});

type SolveProblem = (task: Task, tuner: Tuner) => Promise<WorkflowOutput>;

async function initProject(framework: string, settings: readonly string[]): Promise<SolveProblem> {
  await createProgram(() => undefined).parseAsync(['init', dir, '--framework', framework, ...settings], {
    from: 'user',
  });
  return ((await import(path.join(dir, 'workflow.ts'))) as { readonly solveProblem: SolveProblem }).solveProblem;
}

const task: Task = { taskId: 'a', mainQuery: 'What is left?', initMessages: [], metadata: { answer: 5 } };
const call = '<tool_call>\n{"name": "calculator", "arguments": {"expression": "9 - 4"}}\n</tool_call>';

it.each(frameworks)('shows a larger model solved problems with %s, as calls of the tool', async (framework) => {
  const solveProblem = await initProject(framework, ['--model', 'smollm2-135m']);
  const { tuner, engine } = openScriptedEpisode({ replies: [call, '5'] });
  expect(await solveProblem(task, tuner)).toMatchObject({ reward: 1, isSuccess: true });
  const prompt = engine.requests[0]?.text ?? '';
  expect(prompt).toMatch(/How many carrots are in a pile\?[^]*"expression": ?"24 \/ 3"[^]*\n8\n[^]*What is left\?/);
});

it('shows nano no solved problems, because it was made without', async () => {
  const solveProblem = await initProject('react', []);
  const { tuner, engine } = openScriptedEpisode({ replies: [call, '5'] });
  await solveProblem(task, tuner);
  expect(engine.requests[0]?.text).not.toContain('carrots');
});
