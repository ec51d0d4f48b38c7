import { setTimeout as sleep } from 'node:timers/promises';
import { closeBackbones } from 'agentjet';

/** Ctrl-C once asks to stop, twice ends the process. */
type Interrupt = {
  /** Aborts at the first signal. */
  readonly signal: AbortSignal;
  /** 130 after SIGINT, 143 after SIGTERM; undefined when there was none. */
  exitCode(): number | undefined;
  /** After the second signal: whatever fails from then on is no news. */
  isExiting(): boolean;
  dispose(): void;
};

const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;
type SignalName = keyof typeof exitCodes;

const closeLimitMs = 1500;

/** Exits as soon as the backbone's thread is out of native code; dies by the signal itself if that takes too long. */
async function exitNow(name: SignalName): Promise<void> {
  const isClosed = await Promise.race([closeBackbones().then(() => true), sleep(closeLimitMs, false)]);
  if (isClosed) process.exit(exitCodes[name]);
  process.removeAllListeners(name);
  process.kill(process.pid, name);
}

function listenForInterrupt(onFirst: () => void): Interrupt {
  const controller = new AbortController();
  let code: number | undefined;
  let isExiting = false;
  const onSignal = (name: SignalName): void => {
    if (code !== undefined) {
      isExiting = true;
      return void exitNow(name);
    }
    code = exitCodes[name];
    onFirst();
    controller.abort(new Error(`stopped by ${name}`));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    exitCode: () => code,
    isExiting: () => isExiting,
    dispose: () => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}

/** Runs a command's work and gives its exit code: its own, or that of the signal that ended it. */
export async function runInterruptibly(onFirst: () => void, work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const interrupt = listenForInterrupt(onFirst);
  try {
    const code = await work(interrupt.signal);
    return interrupt.exitCode() ?? code;
  } catch (error) {
    if (interrupt.isExiting()) return interrupt.exitCode() ?? 1;
    throw error;
  } finally {
    interrupt.dispose();
  }
}
