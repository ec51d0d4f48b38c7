import { spawn } from 'node:child_process';

export type Ended = { readonly output: string; readonly seconds: number };

/**
 * Runs a line in the shell as a user would type it. `onLine` gets each line of both outputs, with the seconds since the
 * start. Rejects with the end of the output if the command fails.
 */
export async function runCommand(
  line: string,
  options: {
    readonly cwd: string;
    /** Variables added to the environment of this process. The value undefined removes a variable. */
    readonly env?: Readonly<Record<string, string | undefined>>;
    readonly onLine?: (line: string, seconds: number) => void;
  },
): Promise<Ended> {
  const startedAt = performance.now();
  const seconds = (): number => (performance.now() - startedAt) / 1000;
  const child = spawn(line, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    shell: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let open = '';
  const read = (text: string): void => {
    output += text;
    const lines = (open + text).split('\n');
    open = lines.pop() ?? '';
    for (const each of lines) options.onLine?.(each, seconds());
  };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', read);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`\`${line}\` in ${options.cwd} ended with ${code}:\n${output.slice(-4000)}`);
  return { output, seconds: seconds() };
}
