import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export type Usage = {
  readonly cpuMs: number;
  readonly rssMb: number;
  readonly heapMb: number;
  readonly longestStallMs: number;
  /** Open files, sockets and timers. */
  readonly handles: number;
};

type Kind = 'echo' | 'endpoint' | 'swarm' | 'guarded' | 'soak' | 'nano';

/**
 * The options of Node with which `deploy` starts a server. A soak does not use them, because a leak shows sooner with
 * Node's default.
 */
export const nodeFlags = ['--max-semi-space-size=64'];

const ownCheckout = path.resolve(import.meta.dirname, '../../..');

/** A server in a child process. It can be asked for its processor time, and killed. */
export class ServerProcess {
  readonly url: string;
  readonly key: string;
  readonly #child: ChildProcess;
  #numAsked = 0;
  #isWanted = true;
  #numExits = 0;

  private constructor(child: ChildProcess, { url, key }: { readonly url: string; readonly key: string }) {
    this.#child = child;
    child.once('exit', () => {
      if (this.#isWanted) this.#numExits++;
    });
    this.url = url;
    this.key = key;
  }

  /** `checkout` is the folder of the checkout whose code serves. Default: this one. */
  static async start(kind: Kind, dir: string, checkout = ownCheckout): Promise<ServerProcess> {
    const tsx = path.join(checkout, 'node_modules/tsx/dist/loader.mjs');
    const script = path.join(checkout, 'test/bench/swarm/server-child.ts');
    const flags = kind === 'soak' ? [] : nodeFlags;
    const child = spawn(process.execPath, [...flags, '--import', tsx, script, kind, dir], {
      cwd: checkout,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const ready = await new Promise<{ readonly url: string; readonly key: string }>((resolve, reject) => {
      child.once('message', (message) => resolve(message as { readonly url: string; readonly key: string }));
      child.once('exit', (code) => reject(new Error(`The server "${kind}" ended with code ${code}.`)));
    });
    return new ServerProcess(child, ready);
  }

  /** How often the process ended although it was not killed. */
  get numExits(): number {
    return this.#numExits;
  }

  /** Makes the next sync of its store fail. */
  failOnce = (): Promise<unknown> => this.#ask({ ask: 'fail' });
  usage = (): Promise<Usage> => this.#ask<Usage>({ ask: 'usage' });
  /** Milliseconds of processor time of all threads. On Linux the process itself does not take part in the answer. */
  async cpuMs(): Promise<number> {
    const tasks = `/proc/${this.#child.pid}/task`;
    if (!existsSync(tasks)) return (await this.usage()).cpuMs;
    const times = readdirSync(tasks).map((task) => readFileSync(`${tasks}/${task}/schedstat`, 'utf8'));
    return times.reduce((sum, text) => sum + Number(text.split(' ', 1)[0]), 0) / 1e6;
  }
  /**
   * Makes the process measure how long its event loop keeps a timer waiting, which `usage` then reports. This costs
   * some processor time.
   */
  lookForStalls = (): Promise<unknown> => this.#ask({ ask: 'stalls' });
  /** Opens episodes of an ordinary run, and ends the earlier ones. */
  openEpisodes = async (count: number): Promise<readonly { readonly url: string; readonly key: string }[]> =>
    (
      await this.#ask<{ readonly opened: readonly { readonly url: string; readonly key: string }[] }>({
        ask: 'open',
        count,
      })
    ).opened;
  fill = (episodes: number, calls: number): Promise<unknown> => this.#ask({ ask: 'fill', episodes, calls });

  /** Kills the process without warning, as a power cut or the kernel does. */
  kill(): Promise<void> {
    this.#isWanted = false;
    return new Promise((resolve) => {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) return resolve();
      this.#child.once('exit', () => resolve());
      this.#child.kill('SIGKILL');
    });
  }

  #ask<Answer>(question: object): Promise<Answer> {
    const id = this.#numAsked++;
    return new Promise((resolve) => {
      const listen = (message: unknown): void => {
        if ((message as { readonly id?: number }).id !== id) return;
        this.#child.off('message', listen);
        resolve(message as Answer);
      };
      this.#child.on('message', listen);
      this.#child.send({ ...question, id });
    });
  }
}
