import { spawn, type ChildProcess } from 'node:child_process';

type Place = { readonly cwd: string; readonly env?: Readonly<Record<string, string>> };

/**
 * Starts a server with Node and these arguments, runs `work`, and then ends the server properly. `Address` is the
 * object that the server prints when it listens.
 */
export async function serveWhile<Address, Result>(
  args: readonly string[],
  { cwd, env }: Place,
  work: (server: Address) => Promise<Result>,
): Promise<Result> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4000)));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  try {
    const died = ended.then((code) => Promise.reject(new Error(`The server ended with ${code}:\n${errors}`)));
    died.catch(() => undefined); // after the work, the end of the server is expected
    return await Promise.race([readAddress<Address>(child.stdout).then(work), died]);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

function readAddress<Address>(stdout: NonNullable<ChildProcess['stdout']>): Promise<Address> {
  let text = '';
  return new Promise((resolve) => {
    stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const line = text.split('\n').find((each) => each.startsWith('{') && each.endsWith('}'));
      if (line !== undefined) resolve(JSON.parse(line) as Address);
    });
  });
}
