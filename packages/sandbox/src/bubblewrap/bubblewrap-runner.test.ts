import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { pythonPrograms } from '../testing/programs.js';
import { runnerCases } from '../testing/runner-cases.js';
import { createBubblewrapRunner, findPrograms } from './bubblewrap-runner.js';

const programs = findPrograms();
const missing = typeof programs === 'string' ? programs : null;

describe.skipIf(missing !== null)(`bubblewrap${missing === null ? '' : ` (${missing})`}`, () => {
  beforeAll(() => {
    process.env['SECRET'] = 'of the host';
  });
  const open = () => {
    if (typeof programs === 'string') throw new Error(programs);
    return createBubblewrapRunner(programs);
  };
  for (const { name, run } of runnerCases(open, pythonPrograms)) it(name, run);

  it('ends the processes that the code started', async () => {
    const code = 'import subprocess\nsubprocess.Popen(["/usr/bin/sleep", "31.4159"])\nprint("started")';
    expect((await open().run(code, { language: 'python' })).stdout).toBe('started\n');
    const running = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && commandOf(name).includes('31.4159'));
    expect(running).toEqual([]);
  });

  it('takes nothing that code says for a failure of the sandbox', async () => {
    const code = 'import sys\nsys.stderr.write("bwrap: Creating new namespace failed\\n")\nsys.exit(1)';
    expect(await open().run(code, { language: 'python' })).toMatchObject({
      error: 'bwrap: Creating new namespace failed',
      limit: null,
    });
  });

  it('takes no file outside of its folder', async () => {
    const run = open().run('print(1)', { language: 'python', files: { '../out.txt': 'x' } });
    await expect(run).rejects.toThrow('"../out.txt" is not a file of a sandbox');
  });
});

it('says what is missing if it cannot run', () => {
  if (missing === null) expect(programs).toMatchObject({ bwrap: expect.stringContaining('bwrap') });
  else expect(missing).toMatch(/bubblewrap|prlimit|python3/);
});

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
