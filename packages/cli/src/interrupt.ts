import { setTimeout as sleep } from 'node:timers/promises';
import { AgentJetError } from '@agentjet/core';
import { closeBackbones } from '@agentjet/models/backbones';
import { failEpisodesThatExit } from '@agentjet/rollout/loading';
import { watchLauncher } from './watch-launcher.js';

/** The first Ctrl-C asks to stop, and the second ends the process. */
type Interrupt = {
  /** Aborts at the first signal. */
  readonly signal: AbortSignal;
  /** 130 after SIGINT, 143 after SIGTERM. Undefined if there was no signal. */
  exitCode(): number | undefined;
  signalName(): SignalName | undefined;
  /** True after the second signal. Later failures are not reported. */
  isExiting(): boolean;
  dispose(): void;
};

const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;
type SignalName = keyof typeof exitCodes;

const closeLimitMs = 1500;

/** Exits as soon as the backbone's thread has left native code. If that takes too long, the signal ends the process. */
async function exitNow(name: SignalName): Promise<void> {
  const isClosed = await Promise.race([closeBackbones().then(() => true), sleep(closeLimitMs, false)]);
  if (isClosed) return process.exit(exitCodes[name]);
  process.removeAllListeners(name);
  process.kill(process.pid, name);
}

/**
 * On a terminal, Ctrl-C reaches both npm and us, and npm passes it on. If npm's shell replaced itself with our process
 * (macOS, bash), we get it a second time, milliseconds later. People do not press so fast.
 */
function isEcho(msSinceFirst: number): boolean {
  return process.env['npm_lifecycle_event'] !== undefined && process.stdin.isTTY && msSinceFirst < 100;
}

function listenForInterrupt(onFirst: () => void): Interrupt {
  const controller = new AbortController();
  let code: number | undefined;
  let first: SignalName | undefined;
  let firstAt = 0;
  let isExiting = false;
  const onSignal = (name: SignalName): void => {
    if (code !== undefined) {
      if (isEcho(performance.now() - firstAt)) return;
      isExiting = true;
      return void exitNow(name);
    }
    code = exitCodes[name];
    first = name;
    firstAt = performance.now();
    onFirst();
    controller.abort(new Error(`stopped by ${name}`));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  const endWatch = watchLauncher(() => onSignal('SIGTERM'));
  return {
    signal: controller.signal,
    exitCode: () => code,
    signalName: () => first,
    isExiting: () => isExiting,
    dispose: () => {
      endWatch();
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}

/** Reports that the process ends although the command is not done. Otherwise this end would look like a success. */
function reportEarlyExit(): void {
  const code = Number(process.exitCode ?? 0); // 13 means that the event loop was empty
  console.error(
    code === 13
      ? 'error: The process ended before the work was done, because some code awaits a promise that never settles. Look at the top level of the modules that the YAML file names.'
      : `error: The process was ended by process.exit(${code}) before the work was done. Look at the modules that the YAML file names.`,
  );
  process.exitCode = code === 13 ? 1 : code || 1;
}

/**
 * Runs the work of a command and returns its exit code: the command's own, or that of the signal that ended it. `codes`
 * are the exit codes of signals that a command treats as a request for a graceful end.
 */
export async function runInterruptibly(
  onFirst: () => void,
  work: (signal: AbortSignal) => Promise<number>,
  { codes = {} }: { readonly codes?: Partial<Record<SignalName, number>> } = {},
): Promise<number> {
  failEpisodesThatExit();
  const interrupt = listenForInterrupt(onFirst);
  const codeOf = (name: SignalName | undefined): number | undefined =>
    name === undefined ? undefined : (codes[name] ?? exitCodes[name]);
  let isThrown = false; // Node itself then reports what ended the process
  const onThrown = (): void => void (isThrown = true);
  const onExit = (code: number): void => {
    if (!interrupt.isExiting() && !(isThrown && code !== 0)) reportEarlyExit();
  };
  process.on('uncaughtExceptionMonitor', onThrown);
  process.on('exit', onExit);
  try {
    const code = await work(interrupt.signal);
    return codeOf(interrupt.signalName()) ?? code;
  } catch (error) {
    const isStopped = interrupt.signal.aborted && error === interrupt.signal.reason;
    const isToldStop = interrupt.signal.aborted && error instanceof AgentJetError && error.code === 'aborted';
    if (isToldStop && !interrupt.isExiting()) console.error(error.message);
    if (interrupt.isExiting()) return interrupt.exitCode() ?? 1;
    if (isStopped || isToldStop) return codeOf(interrupt.signalName()) ?? 1;
    throw error;
  } finally {
    process.off('uncaughtExceptionMonitor', onThrown);
    process.off('exit', onExit);
    interrupt.dispose();
  }
}

/** Resolves once the signal aborts. Until then it keeps the process alive, because idle sockets of a server do not. */
export function untilAborted(signal: AbortSignal): Promise<undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const beat = setInterval(() => undefined, 60_000);
    signal.addEventListener(
      'abort',
      () => {
        clearInterval(beat);
        resolve(undefined);
      },
      { once: true },
    );
  });
}
