import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { createProgram } from './program.js';

async function errorOf(...args: readonly string[]): Promise<string> {
  const written: string[] = [];
  const program = createProgram(() => {});
  for (const command of [program, ...program.commands])
    command.exitOverride().configureOutput({ writeErr: (text) => void written.push(text) });
  await expect(program.parseAsync(['node', 'ajet', ...args])).rejects.toThrow();
  return written.join('');
}

it('says that a setting has no dashes', async () => {
  expect(await errorOf('--conf', 'a.yaml', '--trainer_common.optim.lr=1e-4')).toBe(
    "error: unknown option '--trainer_common.optim.lr=1e-4'. A setting has no dashes: trainer_common.optim.lr=1e-4\n",
  );
  expect(await errorOf('eval', '--conf', 'a.yaml', '--rollout.top_k', '5')).toContain(
    'A setting has no dashes: rollout.top_k=VALUE\n',
  );
});

it('leaves other errors as they are', async () => {
  expect(await errorOf()).toBe('error: name the job with --conf <file.yaml>; `ajet --help` shows examples.\n');
  expect(await errorOf('--conf', 'a.yaml', '--verbose')).toBe("error: unknown option '--verbose'\n");
  expect(await errorOf('inspect')).toBe("error: missing required argument 'run'\n");
});

it('reads the flags of a swarm server before it serves', async () => {
  const serve = (...flags: readonly string[]) =>
    createProgram(() => {}).parseAsync(['node', 'ajet', 'swarm', 'serve', '--conf', 'not-there.yaml', ...flags]);
  await expect(serve('--drain-seconds', 'soon')).rejects.toThrow('--drain-seconds is "soon", not a number from 0.');
});

it('looks at what a program needs before its first episode', async () => {
  const run = (...args: readonly string[]) =>
    createProgram(() => {}).parseAsync(['node', 'ajet', 'swarm', 'run', '--no-keys', ...args, '--', process.execPath]);
  await expect(run('--folder', 'not-there')).rejects.toThrow('--folder is "not-there", which is not a folder.');
  await expect(run('--folder', import.meta.filename)).rejects.toThrow('which is not a folder');
  await expect(run('--task', 'a.json', '--tasks', 'a.jsonl')).rejects.toThrow(
    'Set either --tasks, a file with one task per line, or --task',
  );
});

it('`swarm run` refuses to run its workflow in several processes, and says what to do', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'ajet-program-'));
  try {
    const conf = path.join(dir, 'job.yaml');
    writeFileSync(conf, 'ajet: { rollout: { user_workflow: ./agent.ts, workflow_processes: 4 } }\n');
    const args = [
      'node',
      'ajet',
      'swarm',
      'run',
      '--conf',
      conf,
      '--no-keys',
      '--json',
      '--server',
      'http://127.0.0.1:9',
    ];
    await expect(createProgram(() => {}).parseAsync(args)).rejects.toThrow(
      'rollout.workflow_processes is 4, and `ajet swarm run` runs workflows in its own process.',
    );
  } finally {
    rmSync(dir, { recursive: true });
  }
});
