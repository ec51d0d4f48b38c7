import { setTimeout as delay } from 'node:timers/promises';
import { rejectOnAbort, toErrorMessage } from '@agentjet/core';
import type { ServerAnswer } from '@agentjet/swarm-client';
import { runInterruptibly } from '../interrupt.js';
import { describeServer, openOperator, type OperatorFlags } from './swarm-operate.js';

/**
 * `ajet swarm top` shows the server and redraws with each change. If stdout is not a terminal, it prints a block of
 * lines for each new step and for each problem. With --json, it prints a line of JSON for each change.
 */
export async function watchSwarm(flags: OperatorFlags): Promise<number> {
  const operator = openOperator(flags);
  const screen = createScreen(flags);
  return runInterruptibly(
    () => {},
    async (signal) => {
      let change: number | undefined;
      let isAway = false;
      while (!signal.aborted) {
        try {
          const server = await rejectOnAbort(operator.server(change), signal);
          change = server.change;
          isAway = false;
          screen.show(server);
          await delay(250, undefined, { signal }); // the state may change faster than people can read
        } catch (error) {
          if (signal.aborted) break;
          if (isRefusal(error)) throw error;
          if (!isAway) screen.away(toErrorMessage(error));
          isAway = true;
          await delay(1000, undefined, { signal }).catch(() => undefined); // aborted
        }
      }
      return 0;
    },
  );
}

type Screen = { readonly show: (server: ServerAnswer) => void; readonly away: (message: string) => void };

function createScreen({ json }: OperatorFlags): Screen {
  const { stdout } = process;
  if (json === true)
    return {
      show: (server) => void stdout.write(`${JSON.stringify(server)}\n`),
      away: (message) => void process.stderr.write(`The server cannot be reached: ${message}\n`),
    };
  const rates = new Rates();
  if (stdout.isTTY && process.env['TERM'] !== 'dumb') {
    const draw = (lines: readonly string[]): void => void stdout.write(`\u001b[H\u001b[2J${lines.join('\n')}\n`);
    return {
      show: (server) =>
        draw([...describeServer(server), rates.describe(server), '', 'Press Ctrl-C to leave; the server continues.']),
      away: (message) => draw([`The server cannot be reached: ${message}`, 'Waiting for it.']),
    };
  }
  let shown = '';
  return {
    show: (server) => {
      const news = newsOf(server);
      if (news === shown) return;
      shown = news;
      stdout.write(`${[...describeServer(server), rates.describe(server)].join('\n')}\n\n`);
    },
    away: (message) => void stdout.write(`The server cannot be reached: ${message}\n`),
  };
}

/** Describes a new step, or the reason why no step was made. */
function newsOf({ step, problem, policies = {} }: ServerAnswer): string {
  return JSON.stringify([step, problem, Object.values(policies).map((policy) => policy.problem)]);
}

/** The speed in the last minute. */
class Rates {
  #seen: { readonly ms: number; readonly ended: number; readonly step: number }[] = [];

  describe({ account, step }: ServerAnswer): string {
    const now = { ms: performance.now(), ended: account['acknowledged'] ?? 0, step };
    this.#seen = [...this.#seen.filter(({ ms }) => now.ms - ms < 60_000), now];
    const [first = now] = this.#seen;
    const minutes = (now.ms - first.ms) / 60_000;
    if (minutes < 0.02) return 'episodes and steps per minute: not known yet';
    return `${((now.ended - first.ended) / minutes).toFixed(0)} episodes and ${((now.step - first.step) / minutes).toFixed(1)} steps per minute`;
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof Error && 'status' in error && typeof error.status === 'number' && error.status < 500;
