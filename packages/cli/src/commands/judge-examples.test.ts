import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { judgeExamples } from './judge-examples.js';

const folder = mkdtempSync(path.join(tmpdir(), 'judge-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function run(yaml: string, lines: readonly object[]) {
  const conf = path.join(folder, 'job.yaml');
  const examples = path.join(folder, 'labelled.jsonl');
  writeFileSync(conf, yaml);
  writeFileSync(examples, lines.map((line) => JSON.stringify(line)).join('\n'));
  const written: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => Boolean(written.push(String(text))));
  const quiet = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
  try {
    const code = await judgeExamples({ conf, examples, json: true }, []);
    return { code, json: JSON.parse(written.at(-1) ?? 'null') as unknown };
  } finally {
    write.mockRestore();
    quiet.mockRestore();
  }
}

const example = (answer: string, score: number) => ({ main_query: '2 + 2?', metadata: { answer: 4 }, answer, score });

it('prints one line of JSON: how well the judge agrees with people', async () => {
  const yaml = 'ajet:\n  task_judge:\n    judge_type: answer\n    answer: { compare: number }\n';
  const { code, json } = await run(yaml, [example('4', 1), example('5', 0), example('4.0', 0), example('2', 0)]);
  expect(code).toBe(0);
  expect(json).toMatchObject({ examples: 4, failed: 0, agreement: 0.75, vote_spread: null, calls: 0 });
});

it('reads the answer that the agent marks, and a field that the workflow returned', async () => {
  const yaml = 'ajet:\n  task_judge:\n    judge_type: answer\n    answer: { compare: number, agent: solver }\n';
  const returned = { ...example('I am done', 1), output_metadata: { answer: 4 } };
  const { json } = await run(yaml, [
    example('so 4', 1),
    example('First 5. The answer is 4.', 1),
    example('It makes 4.', 0),
    example('4, no, 5', 0),
    returned,
  ]);
  expect(json).toMatchObject({ examples: 5, failed: 0, agreement: 1 });
});

it('says that there is no judge', async () => {
  await expect(run('ajet: {}\n', [example('4', 1)])).rejects.toThrow(/names no judge/);
});
