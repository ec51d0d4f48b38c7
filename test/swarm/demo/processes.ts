import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** The programs of the demo, each a process that can be killed. */

const root = path.resolve(import.meta.dirname, '../../..');
const tutorial = path.join(root, 'tutorial/swarm');

export type Program = {
  readonly kill: (signal: NodeJS.Signals) => Promise<number | null>;
  readonly exited: Promise<number | null>;
};

type Spawned = {
  readonly env?: Readonly<Record<string, string>>;
  readonly onLine: (line: string) => void;
  readonly onError?: (line: string) => void;
};

function start(command: string, args: readonly string[], { env = {}, onLine, onError = () => {} }: Spawned): Program {
  const child: ChildProcess = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.stdout !== null) createInterface({ input: child.stdout }).on('line', onLine);
  if (child.stderr !== null) createInterface({ input: child.stderr }).on('line', onError);
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  return {
    exited,
    kill: (signal) => {
      child.kill(signal);
      return exited;
    },
  };
}

export type Listening = { readonly url: string; readonly key: string | null; readonly run_dir: string };

/** Starts `ajet swarm serve`, and waits until it listens. */
export async function startServer(port: number, dir: string): Promise<Program & { readonly listening: Listening }> {
  const errors: string[] = [];
  let program: Program | undefined;
  const listening = await new Promise<Listening>((resolve, reject) => {
    program = start(
      process.execPath,
      [
        path.join(root, 'packages/cli/dist/main.js'),
        'swarm',
        'serve',
        '--json',
        '--conf',
        path.join(tutorial, 'demo.yaml'),
        '--port',
        String(port),
        `experiment_dir=${dir}`,
      ],
      { onLine: (line) => resolve(JSON.parse(line) as Listening), onError: (line) => errors.push(line) },
    );
    program.exited
      .then((code) => reject(new Error(`The server ended with code ${code}: ${errors.slice(-5).join('\n')}`)))
      .catch(reject);
  });
  if (program === undefined) throw new TypeError('There is a server by now.');
  return { ...program, listening };
}

export type Client = {
  readonly url: string;
  readonly key: string;
  readonly onEnd: (episodeId: string, reward: number) => void;
};

/** A line for each receipt: the id of the episode and its reward. */
const readReceipt =
  (onEnd: Client['onEnd']) =>
  (line: string): void => {
    const [, episodeId, reward] = /^(e[0-9a-f]{16}) ([0-9.]+)$/.exec(line) ?? [];
    if (episodeId !== undefined) onEnd(episodeId, Number(reward));
  };

export function startPython({ url, key, onEnd }: Client): Program {
  const env = {
    AJET_SWARM_KEY: key,
    PYTHONPATH: path.join(root, 'clients/python'),
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONUNBUFFERED: '1',
  };
  return start('python3', [path.join(tutorial, 'sums.py'), url, 'sums'], { env, onLine: readReceipt(onEnd) });
}

export function startBash({ url, key, onEnd }: Client): Program {
  const env = { AJET_SWARM_KEY: key };
  return start('bash', [path.join(tutorial, 'sums.sh'), url, 'sums'], { env, onLine: readReceipt(onEnd) });
}
