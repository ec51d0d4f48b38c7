import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, it } from 'vitest';

/** Runs the script in a separate process, because a stray error would end the test's process. */
function runScript(body: string): { readonly status: number | null; readonly stdout: string; readonly stderr: string } {
  const root = path.resolve(import.meta.dirname, '../../../..');
  const script = `
    import { runEpisode } from ${JSON.stringify(path.join(import.meta.dirname, 'run-episode.ts'))};
    import { failEpisodesThatExit } from ${JSON.stringify(path.join(import.meta.dirname, 'exit-guard.ts'))};
    const policy = { kind: 'chat', model: { name: 'none', generate: async () => { throw new Error('not asked'); } } };
    const run = (workflow, timeoutMs = 1000) => runEpisode({ taskId: 't', mainQuery: '', initMessages: [], metadata: {} }, { workflow, policy, sampling: {}, timeoutMs }, { episodeId: 'e', repeatIndex: 0, seed: 0 });
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    ${body}`;
  const env = { ...process.env, TSX_TSCONFIG_PATH: path.join(root, 'tsconfig.check.json'), NODE_OPTIONS: '' };
  return spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    cwd: root,
    env,
    encoding: 'utf8',
  });
}

it('fails the episode whose workflow lost an error, warns of one after its end, waits for hanging ones, and for debuggers', () => {
  const { status, stdout, stderr } = runScript(`
    const forever = new Promise(() => {});
    const lost = run(async () => { void Promise.reject(new Error('nobody awaited me')); return forever; }, 30000);
    const timer = run(async () => { setTimeout(() => { throw new Error('from a timer'); }, 5); return forever; }, 30000);
    const good = run(async () => { setTimeout(() => { throw new Error('too late'); }, 5); return { reward: 1 }; });
    for (const episode of await Promise.all([lost, timer, good])) console.log(episode.status, episode.error?.message ?? '');
    await pause(60);
    const { default: inspector } = await import('node:inspector');
    inspector.open(0, '127.0.0.1');
    console.log('with a debugger', (await run(() => pause(150).then(() => ({ reward: 1 })), 50)).status);
    inspector.close();
    console.log('without', (await run(() => new Promise(() => {}), 100)).error.code);`);
  const expected = [
    'failed The workflow threw Error: nobody awaited me',
    'failed The workflow threw Error: from a timer',
    'completed ',
    'with a debugger completed',
    'without timeout',
    '',
  ];
  expect({ status, stdout }, stderr).toEqual({ status: 0, stdout: expected.join('\n') });
  expect(stderr).toMatch(/Episode "e" lost an error after it had ended: Error: too late\. Is an await missing\?/);
});

it('leaves process.exit as it is, and says whose call ended the program', () => {
  const { status, stdout, stderr } = runScript(`
    const { exit } = process;
    await run(async () => ({ reward: 1 }));
    console.log(process.exit === exit);
    await run(async () => process.exit(0));
    console.log('not reached');`);
  expect({ status, stdout }, stderr).toEqual({ status: 1, stdout: 'true\n' });
  expect(stderr).toContain('error: The workflow called process.exit(0), which would end the whole run.');
});

it('in a program that asks for it, fails an episode that would end the program, and leaves that to the program', () => {
  const { status, stdout, stderr } = runScript(`
    failEpisodesThatExit();
    const leaving = await run(async () => process.exit(0));
    console.log(leaving.status, leaving.error.code, leaving.error.message);
    const later = await run(async () => { setTimeout(() => process.exit(0), 5); return new Promise(() => {}); });
    console.log(later.status, later.error.code);
    process.exit(7);`);
  const message =
    'The workflow called process.exit(0), which would end the whole run. Throw an error instead: it fails this episode alone.';
  expect({ status, stdout }, stderr).toEqual({
    status: 7,
    stdout: `failed process_exit ${message}\nfailed process_exit\n`,
  });
});

it('ends the program if a lost error is its own', () => {
  const { status, stdout, stderr } = runScript(`
    await run(async () => ({ reward: 1 }));
    void Promise.reject(new Error('my own bug'));
    await pause(50);
    console.log('not reached');`);
  expect(status).not.toBe(0);
  expect(stdout).toBe('');
  expect(stderr).toContain('my own bug');
});
