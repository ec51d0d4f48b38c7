import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { printAudit } from './audit-reward.js';

const folder = mkdtempSync(path.join(tmpdir(), 'audit-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const workflow = (rule: string): string => `
export async function solve(task, tuner) {
  const model = tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
  const { message } = await model.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
  const said = message.content, answer = String(task.metadata.answer);
  return { reward: ${rule} };
}
`;

beforeAll(() => {
  const rows = Array.from({ length: 8 }, (_none, at) => ({
    task_id: `t${at}`,
    main_query: `What is ${at} + 40?`,
    metadata: { answer: at + 40 },
  }));
  writeFileSync(path.join(folder, 'tasks.jsonl'), rows.map((row) => JSON.stringify(row)).join('\n'));
  writeFileSync(path.join(folder, 'exact.mjs'), workflow('said.trim() === answer ? 1 : 0'));
  writeFileSync(path.join(folder, 'anywhere.mjs'), workflow('said.includes(answer) ? 1 : 0'));
  writeFileSync(path.join(folder, 'parts.mjs'), workflow('said.length > 99 ? 0.2 : 0'));
  writeFileSync(path.join(folder, 'none.mjs'), workflow('undefined'));
});

async function run(file: string, flags: Partial<Parameters<typeof printAudit>[0]> = {}) {
  const conf = path.join(folder, 'job.yaml');
  writeFileSync(
    conf,
    `ajet:\n  rollout:\n    user_workflow: ${file}.mjs->solve\n  task_reader:\n    type: jsonl_dataset_file\n    jsonl_dataset_file:\n      training: { file_path: tasks.jsonl }\n`,
  );
  const [out, err]: [string[], string[]] = [[], []];
  const onOut = vi.spyOn(process.stdout, 'write').mockImplementation((text) => Boolean(out.push(String(text))));
  const onErr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean(err.push(String(text))));
  try {
    const code = await printAudit({ conf, json: true, tasks: '8', ...flags }, []);
    return { code, json: JSON.parse(out.at(-1) ?? 'null') as Record<string, unknown>, text: err.join('') };
  } finally {
    onOut.mockRestore();
    onErr.mockRestore();
  }
}

it('exits with 0 for a reward that pays for the right answer alone', async () => {
  const { code, json, text } = await run('exact', { expected: 'answer', failOn: 'paid' });
  expect(code).toBe(0);
  expect(json).toMatchObject({
    tasks: 8,
    alarms: [],
    needs_threshold: false,
    right: { way: 'alone' },
    interrupted: false,
  });
  expect(text).toContain('other spellings, alone, paid: with spaces around it');
  expect(text).toContain('No alarm: none of these strategies is paid.');
});

it('names what is paid, and exits with 1 only with --fail-on paid', async () => {
  const { code, json, text } = await run('anywhere', { expected: 'answer', failOn: 'paid' });
  expect(code).toBe(1);
  expect(json['alarms']).toContainEqual(
    expect.objectContaining({ strategy: 'the right answer denied', mean_reward: 1 }),
  );
  expect(text).toMatch(/alarm: the right answer denied \(.*\): it is paid in 1\.00 of the episodes/);
  expect(text).toMatch(/task t\d+ paid 1 for: ".*\d+/);
  expect((await run('anywhere', { expected: 'answer' })).code).toBe(0);
});

it('asks for a threshold, and does not clear the reward without one', async () => {
  const { code, text } = await run('parts', { failOn: 'paid' });
  expect(code).toBe(1);
  expect(text).toContain('rewards seen: 0, 0.2. None of them counted as a success');
  expect(text).toContain('Name the lowest reward of a success: --success-from 0.2');
  expect(text).toMatch(/right answers +not tried, .* --expected names one of: answer$/m);
  expect((await run('parts', { failOn: 'paid', successFrom: '1' })).code).toBe(0);
});

it('says what is wrong with a flag, and with a workflow that gives no reward', async () => {
  await expect(run('exact', { failOn: 'alarm' })).rejects.toThrow('--fail-on is "alarm", not one of: paid.');
  await expect(run('exact', { tasks: 'all' })).rejects.toThrow('--tasks is "all"');
  await expect(run('exact', { successFrom: 'half' })).rejects.toThrow('--success-from is "half", not a number.');
  await expect(run('exact', { expected: 'gold' })).rejects.toThrow('Their metadata has: answer.');
  await expect(run('none')).rejects.toThrow(/No episode got a reward.*there is no judge/);
});
