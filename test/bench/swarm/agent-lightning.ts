import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lastLine } from '../../releases/run-node.js';
import { inParallel } from '../in-parallel.js';
import { Requests } from './requests.js';
import { freePort } from '../../swarm/free-port.js';

/**
 * Runs the server of agent-lightning under the same requests: tasks, claims, rewards and ends. By default, its store is
 * in memory.
 */

export const agentLightningVersion = '0.3.0';

export type AgentLightning = {
  readonly cpuMs: { readonly claim: number; readonly end: number };
  /** How many of 1,000 acknowledged results remain after the server was killed and started again. */
  readonly leftAfterKill: number;
};

const venv = process.env['AJET_BENCH_AGENTLIGHTNING'] ?? path.join(homedir(), '.cache/ajet-bench/agentlightning-0.3.0');
const agl = path.join(venv, 'bin/agl');

/** Installs agent-lightning into a separate folder. If this fails, returns the reason. */
export function installAgentLightning(report: (line: string) => void): string | undefined {
  if (existsSync(agl)) return undefined;
  report(`installing agentlightning ${agentLightningVersion} into ${venv}`);
  const steps = [
    ['python3', ['-m', 'venv', venv]],
    [path.join(venv, 'bin/pip'), ['install', '--quiet', `agentlightning==${agentLightningVersion}`]],
  ] as const;
  for (const [command, args] of steps) {
    const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8', timeout: 15 * 60_000 });
    if (status !== 0) return `${command} ${args.join(' ')}: ${error?.message ?? lastLine(stderr)}`;
  }
  return existsSync(agl) ? undefined : `${agl} is missing after the installation`;
}

/** Runs one server at a time; `measure` may be called between other measurements. */
export class AgentLightningServer {
  readonly #requests = new Requests(16);
  readonly #child: ChildProcess;
  readonly #url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#url = url;
  }

  static async start(): Promise<AgentLightningServer> {
    const port = await freePort();
    const args = ['store', '--host', '127.0.0.1', '--port', String(port), '--log-level', 'ERROR'];
    const child = spawn(agl, args, { stdio: ['ignore', 'ignore', 'ignore'] });
    const url = `http://127.0.0.1:${port}/v1/agl`;
    for (let tries = 0; ; tries++) {
      const isUp = await fetch(`${url}/health`)
        .then(({ ok }) => ok)
        .catch(() => false);
      if (isUp) return new AgentLightningServer(child, url);
      if (tries > 600 || child.exitCode !== null) throw new Error(`agl store did not start (code ${child.exitCode}).`);
      await sleep(200);
    }
  }

  /** Returns the CPU time of all its threads. */
  cpuMs(): number {
    const fields = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * 10; // 100 ticks a second
  }

  /** Makes one claim and one end for each task. */
  async play(count: number): Promise<AgentLightning['cpuMs']> {
    const rollouts = Array.from({ length: count }, (_none, index) => ({
      input: { question: `What is ${index}?` },
      mode: 'train',
    }));
    await this.#requests.post(`${this.#url}/queues/rollouts/enqueue`, { rollouts });
    const start = this.cpuMs();
    const claimed = await inParallel(rollouts, 16, () => this.#claim());
    const between = this.cpuMs();
    await inParallel(claimed, 16, (rollout) => this.#end(rollout));
    const done = this.cpuMs();
    return { claim: (between - start) / count, end: (done - between) / count };
  }

  async countSucceeded(): Promise<number> {
    const search = { status_in: ['succeeded'], limit: 1 };
    const { total } = await this.#requests.post(`${this.#url}/rollouts/search`, search);
    return Number(total);
  }

  kill(): Promise<void> {
    this.#requests.close();
    return new Promise((resolve) => {
      this.#child.once('exit', () => resolve());
      this.#child.kill('SIGKILL');
    });
  }

  async #claim(): Promise<Rollout> {
    const answer = await this.#requests.post(`${this.#url}/queues/rollouts/dequeue`, { limit: 1, worker_id: 'bench' });
    const [rollout] = answer as unknown as readonly Rollout[];
    if (rollout === undefined) throw new Error('agent-lightning gave no rollout.');
    return rollout;
  }

  /** Ends a rollout. In agent-lightning the reward is a span, and the attempt ends with a status. */
  async #end({ rollout_id, attempt }: Rollout): Promise<void> {
    const now = Date.now() / 1000;
    const ids = { rollout_id, attempt_id: attempt.attempt_id, sequence_id: 1 };
    const span = {
      ...ids,
      trace_id: '0'.repeat(31) + '1',
      span_id: '0'.repeat(15) + '1',
      parent_id: null,
      name: 'agentlightning.annotation',
      status: { status_code: 'OK' },
      attributes: { 'agentlightning.reward.0.name': 'primary', 'agentlightning.reward.0.value': 1 },
      events: [],
      links: [],
      start_time: now,
      end_time: now,
      context: null,
      parent: null,
      resource: { attributes: {}, schema_url: '' },
    };
    await this.#requests.post(`${this.#url}/spans`, span);
    await this.#requests.post(`${this.#url}/rollouts/${rollout_id}/attempts/${attempt.attempt_id}`, {
      status: 'succeeded',
    });
  }
}

type Rollout = { readonly rollout_id: string; readonly attempt: { readonly attempt_id: string } };
