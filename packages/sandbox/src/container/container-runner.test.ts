import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containerPrograms } from '../testing/programs.js';
import { runnerCases } from '../testing/runner-cases.js';
import { createContainerRunner } from './container-runner.js';
import { findContainer } from './find-container.js';

/** An image with python3, sh and timeout that this machine already has, such as python:3.12-slim. */
const image = process.env['AJET_TEST_IMAGE'];
const engine = image === undefined ? 'AJET_TEST_IMAGE is not set' : findContainer(image);

describe.skipIf(typeof engine === 'string')(`a container${typeof engine === 'string' ? ` (${engine})` : ''}`, () => {
  beforeAll(() => {
    process.env['SECRET'] = 'of the host';
  });
  const open = () => {
    if (typeof engine === 'string') throw new Error(engine);
    return createContainerRunner(engine);
  };
  for (const { name, run } of runnerCases(open, containerPrograms)) it(name, run);
});

const folder = mkdtempSync(path.join(tmpdir(), 'engines-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A replacement for docker: `run` gets the script of the container as $script, and its folder as $given. */
function standIn(run: string): string {
  const file = path.join(mkdtempSync(path.join(folder, 'bin-')), 'docker');
  const words = [
    '#!/bin/sh',
    'echo "$*" | cut -c 1-60 >> "$0.log"',
    'for word; do case $word in type=bind,*) given=${word#*source=}; given=${given%%,target*};; esac; script=$word; done',
    `case $1 in image) exit 0;; run) ${run};; esac`,
  ];
  writeFileSync(file, `${words.join('\n')}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** Reports that it is ready, as the script would. */
const ready = 'echo "a warning" >&2; echo "$script" | sed "s/.*echo \\(ready-[^ ]*\\).*/\\1/" >&2';

describe.skipIf(process.platform === 'win32')('an engine for containers', () => {
  const run = (commands: string, seconds = 5) =>
    createContainerRunner({ program: standIn(commands), image: 'i' }).run('print(1)', {
      language: 'python',
      stdin: 'said\n',
      limits: { seconds },
    });

  it('gets the code as a file, and its input; its own warnings are not the code’s', async () => {
    const result = await run(`${ready}; cat "$given/main.py" -; echo oops >&2; exit 3`);
    const output = { stdout: 'print(1)said\n', value: undefined, error: 'oops' };
    expect(result).toEqual({ ...output, limit: null, mechanism: 'container' });
  });

  it('that cannot start is a failure of the sandbox, not of the code', async () => {
    await expect(run('echo "Cannot connect to the Docker daemon" >&2; exit 125')).rejects.toThrow(
      'docker cannot start a container of i: Cannot connect to the Docker daemon',
    );
    const missing = createContainerRunner({ program: '/no/docker', image: 'i' });
    await expect(missing.run('print(1)', { language: 'python' })).rejects.toThrow('docker cannot start');
  });

  it('takes no time of the code to start, and ends what takes too long', async () => {
    expect(await run(`sleep 1.2; ${ready}; echo on`, 1)).toMatchObject({ stdout: 'on\n', limit: null });
    expect(await run(`${ready}; exec sleep 30`, 0.1)).toMatchObject({ limit: 'time' });
  });

  it('says with its status that memory ran out', async () => {
    expect(await run(`${ready}; exit 137`)).toMatchObject({ limit: 'memory' });
  });

  it('is found if it has the image; else the repair is named', () => {
    expect(findContainer('i', [path.dirname(standIn(':'))])).toMatchObject({ image: 'i' });
    expect(findContainer('i', [folder])).toBe('neither docker nor podman is installed');
    const without = standIn(':');
    writeFileSync(without, '#!/bin/sh\necho "Error: No such image: i" >&2\nexit 1\n');
    expect(findContainer('i', [path.dirname(without)])).toBe('docker does not have the image i: `docker pull i`');
  });
});
