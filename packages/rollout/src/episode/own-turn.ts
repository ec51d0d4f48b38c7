/**
 * Turns of the event loop, handed out one at a time. An engine answers a batch of calls at once, and episodes begin together:
 * each goes on with some milliseconds of framework code, and promises alone would run them all before the loop gets back to
 * its sockets and timers. So a continuation waits for its own turn, and the loop looks around between two of them.
 */
const waiting: (() => void)[] = [];
let isScheduled = false;

function schedule(): void {
  if (isScheduled || waiting.length === 0) return;
  isScheduled = true;
  setImmediate(() => {
    isScheduled = false;
    const next = waiting.shift();
    schedule();
    next?.();
  });
}

/** Resolves in a turn of the event loop in which no other caller's promise resolves; in the order of the calls. */
export function ownTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    schedule();
  });
}
