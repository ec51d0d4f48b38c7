import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { expect, it } from 'vitest';

const watchdog = path.join(import.meta.dirname, 'watchdog.ts');

async function run(
  body: string,
): Promise<{ readonly code: number | null; readonly signal: string | null; readonly stderr: string }> {
  const script = `const { startWatchdog } = await import(${JSON.stringify(watchdog)}); const dog = startWatchdog({ limitMs: 1500, warnAfterMs: 1000 });
    const block = (ms) => { const end = performance.now() + ms; while (performance.now() < end); }; const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms)); await pause(300); ${body}`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { code, signal, stderr };
}

it.concurrent('ends a process whose main thread is blocked for too long, and says why', async () => {
  const { signal, stderr } = await run('block(20_000);');
  expect(signal).toBe('SIGKILL');
  expect(stderr).toMatch(/kept the process busy for \d+ s without awaiting anything/);
  expect(stderr).toMatch(/error: A workflow has blocked the process for \d+ s.*--resume/);
});

it.concurrent('leaves a process alone that awaits now and then, and one that was stopped as a whole', async () => {
  expect(await run('for (let i = 0; i < 6; i++) { block(300); await pause(300); } dog.stop();')).toEqual({
    code: 0,
    signal: null,
    stderr: '',
  });
  const stopped = `const { spawn } = await import('node:child_process'); const stopper = spawn('sh', ['-c', 'kill -STOP $0; sleep 2; kill -CONT $0', process.pid]); await new Promise((resolve) => stopper.once('exit', resolve)); await pause(500); dog.stop();`;
  expect(await run(stopped)).toEqual({ code: 0, signal: null, stderr: '' });
});
