/**
 * Turns of the event loop, handed out one at a time. An engine answers a batch of calls at once, and episodes begin together:
 * each goes on with some milliseconds of framework code, and promises alone would run them all before the loop gets back to
 * its sockets and timers. So a continuation waits for its own turn, and the loop looks around between two of them.
 */
const waiting: (() => void)[] = [];
/** Somebody has gone on in this turn of the loop already, or is due in the next. */
let isTaken = false;

function takeTurn(): void {
  isTaken = true;
  setImmediate(() => {
    isTaken = false;
    const next = waiting.shift();
    if (next === undefined) return;
    takeTurn();
    next();
  });
}

/**
 * Resolves in a turn of the event loop in which no other caller's promise resolves, in the order of the calls; at once if nobody
 * else has gone on in this turn.
 */
export function ownTurn(): Promise<void> {
  if (isTaken) return new Promise((resolve) => void waiting.push(resolve));
  takeTurn();
  return Promise.resolve();
}
