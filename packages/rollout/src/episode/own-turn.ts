/**
 * Hands out turns of the event loop one at a time. An engine answers a batch of calls at once, and episodes begin
 * together. Each of them then runs some milliseconds of framework code, and promises alone would run all of them before
 * the loop returns to its sockets and timers. So each continuation waits for its own turn, and the loop can look around
 * in between.
 */
const waiting: (() => void)[] = [];
/** True if a caller has already continued in this turn of the loop or will do so in the next one. */
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
 * Resolves in a turn of the event loop in which no other caller's promise resolves, in the order of the calls. It
 * resolves at once if no other caller has continued in this turn.
 */
export function ownTurn(): Promise<void> {
  if (isTaken) return new Promise((resolve) => void waiting.push(resolve));
  takeTurn();
  return Promise.resolve();
}
