import { setTimeout as delay } from 'node:timers/promises';
import { rejectOnAbort, toErrorMessage } from '@agentjet/core';
import { toOneLine } from '@agentjet/core/text';
import type { ServerAnswer, SwarmOperator } from '@agentjet/swarm-client';
import { runInterruptibly } from '../interrupt.js';
import { describeServer } from './describe-server.js';
import { openOperator, type OperatorFlags } from './swarm-operate.js';
import { TopTerminal } from './top-terminal.js';
import { serverOf } from '../program-parts.js';

/**
 * `ajet swarm top` shows the server and redraws with each change. If stdout is not a terminal, it prints a block of
 * lines for each new step and for each problem. With --json, it prints a line of JSON for each change.
 */
export async function watchSwarm(flags: OperatorFlags): Promise<number> {
  const operator = openOperator(flags);
  return runInterruptibly(
    () => {},
    async (signal) => {
      const left = new AbortController();
      const over = AbortSignal.any([signal, left.signal]);
      const screen = createScreen(flags, operator, () => left.abort());
      try {
        await watchChanges(operator, screen, over);
      } finally {
        screen.close();
      }
      return 0;
    },
  );
}

async function watchChanges(operator: SwarmOperator, screen: Screen, signal: AbortSignal): Promise<void> {
  let change: number | undefined;
  let isAway = false;
  while (!signal.aborted) {
    try {
      const server = await rejectOnAbort(operator.server(change), signal);
      change = server.change;
      isAway = false;
      screen.show(server);
      await delay(250, undefined, { signal }); // the state may change faster than a person can read
    } catch (error) {
      if (signal.aborted) return;
      if (isRefusal(error)) throw error;
      if (!isAway) screen.away(toErrorMessage(error));
      isAway = true;
      await delay(1000, undefined, { signal }).catch(() => undefined); // aborted
    }
  }
}

export type Screen = {
  readonly show: (server: ServerAnswer) => void;
  readonly away: (message: string) => void;
  readonly close: () => void;
};

function createScreen({ json, ...flags }: OperatorFlags, operator: SwarmOperator, leave: () => void): Screen {
  const { stdin, stdout } = process;
  const close = (): void => undefined;
  if (json === true)
    return {
      show: (server) => void stdout.write(`${JSON.stringify(server)}\n`),
      away: (message) => void process.stderr.write(`The server cannot be reached: ${message}\n`),
      close,
    };
  const rates = new Rates();
  if (stdout.isTTY && process.env['TERM'] !== 'dumb')
    return new TopTerminal({
      input: stdin,
      output: stdout,
      address: serverOf(flags),
      operator,
      leave,
      describeRates: (server) => rates.describe(server),
      now: Date.now,
    });
  let shown = '';
  return {
    show: (server) => {
      const news = newsOf(server);
      if (news === shown) return;
      shown = news;
      stdout.write(`${[...describeServer(server), rates.describe(server)].map(toOneLine).join('\n')}\n\n`);
    },
    away: (message) => void stdout.write(`The server cannot be reached: ${toOneLine(message)}\n`),
    close,
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
