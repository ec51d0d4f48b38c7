import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openPythonTracker } from './python-tracker.js';

const hasPython = spawnSync('python3', ['--version']).status === 0;

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'python-tracker-'));
  vi.stubEnv('PYTHONPATH', dir);
  vi.stubEnv('AJET_TRACKER_PYTHON', 'python3');
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

const run = () => ({ runDir: dir, project: 'p', experiment: 'e' });
const row = (step: number) => ({ step, values: { 'train/reward_mean': step / 2 } });

/** A small library with wandb's interface, which writes what it gets to a file. */
const library = (log: string, finish = 'pass'): string => `
import json, os, signal, time
print("a library that talks")
class Run:
    def log(self, values, step):
        ${log}
        with open(os.path.join(${JSON.stringify(dir)}, "got"), "a") as file: file.write(json.dumps([step, values]) + "\\n")
    def finish(self):
        ${finish}
        with open(os.path.join(${JSON.stringify(dir)}, "got"), "a") as file: file.write("finished\\n")
def init(**options):
    with open(os.path.join(${JSON.stringify(dir)}, "options"), "a") as file: file.write(json.dumps(options) + "\\n")
    return Run()
`;

describe.skipIf(!hasPython)('a tracker in Python', () => {
  it('gives its library every row, and lets it finish', async () => {
    writeFileSync(path.join(dir, 'wandb.py'), library('print("and talks")'));
    const tracker = await openPythonTracker('wandb', run());
    await tracker.write([row(1), row(2)]);
    await tracker.write([row(3)]);
    await tracker.close();
    expect(readFileSync(path.join(dir, 'got'), 'utf8').split('\n')).toEqual([
      '[1, {"train/reward_mean": 0.5}]',
      '[2, {"train/reward_mean": 1}]',
      '[3, {"train/reward_mean": 1.5}]',
      'finished',
      '',
    ]);
  });

  it.each(['wandb', 'swanlab'])('continues the same experiment of %s when the run continues', async (name) => {
    writeFileSync(path.join(dir, `${name}.py`), library('pass'));
    for (const step of [1, 2]) {
      const tracker = await openPythonTracker(name, run());
      await tracker.write([row(step)]);
      await tracker.close();
    }
    const [first, second] = readFileSync(path.join(dir, 'options'), 'utf8').split('\n');
    expect(JSON.parse(first ?? '')).toMatchObject({ id: expect.stringMatching(/./) as unknown, resume: 'allow' });
    expect(second).toBe(first);
  });

  it('gives wandb an id that it takes, and shows the name of the experiment as it is', async () => {
    writeFileSync(path.join(dir, 'wandb.py'), library('pass'));
    const tracker = await openPythonTracker('wandb', { ...run(), experiment: 'team/lake: 50%?#\\' });
    await tracker.close();
    const options: unknown = JSON.parse(readFileSync(path.join(dir, 'options'), 'utf8'));
    expect(options).toMatchObject({
      name: 'team/lake: 50%?#\\',
      id: expect.stringMatching(/^team-lake- 50----[^/\\#?%:]+$/) as unknown,
    });
  });

  it('says that the library could not finish, and why', async () => {
    writeFileSync(path.join(dir, 'wandb.py'), library('pass', 'raise RuntimeError("the upload broke off")'));
    const tracker = await openPythonTracker('wandb', run());
    await tracker.write([row(1)]);
    await expect(tracker.close()).rejects.toThrow('RuntimeError: the upload broke off');
  });

  it('stops a library that does not finish, and says so', async () => {
    writeFileSync(path.join(dir, 'wandb.py'), library('pass', 'time.sleep(600)'));
    const tracker = await openPythonTracker('wandb', run(), { closeMs: 50 });
    await tracker.write([row(1)]);
    await expect(tracker.close()).rejects.toThrow(
      'it was stopped because it had not sent the rest 0.05 seconds after the end of the run',
    );
  });

  it('takes the last step of a run that is ended with Ctrl-C, which reaches it too', async () => {
    writeFileSync(path.join(dir, 'wandb.py'), library('os.kill(os.getpid(), signal.SIGINT)'));
    const tracker = await openPythonTracker('wandb', run());
    await tracker.write([row(1)]);
    await tracker.close();
    expect(readFileSync(path.join(dir, 'got'), 'utf8')).toMatch(/^\[1, .*\nfinished\n$/);
  });

  it('says that the library is missing, and how to get it', async () => {
    const tracker = await openPythonTracker('swanlab_that_is_not_there', run());
    await expect(tracker.write([row(1)])).rejects.toThrow('python3 -m pip install swanlab_that_is_not_there');
    await tracker.close();
  });

  it('passes on why the library failed', async () => {
    writeFileSync(path.join(dir, 'wandb.py'), library('raise RuntimeError("no key")'));
    const tracker = await openPythonTracker('wandb', run());
    await expect(tracker.write([row(1)])).rejects.toThrow('RuntimeError: no key');
    await tracker.close();
  });
});

it('says that there is no Python', async () => {
  vi.stubEnv('AJET_TRACKER_PYTHON', path.join(dir, 'no-python'));
  const tracker = await openPythonTracker('wandb', run());
  await expect(tracker.write([row(1)])).rejects.toThrow('name an interpreter in AJET_TRACKER_PYTHON');
  await tracker.close();
});
