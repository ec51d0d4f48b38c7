/**
 * Hands out turns of the event loop one at a time. An engine answers a batch of calls at once, and many episodes begin
 * at the same time. Each of them then runs some milliseconds of framework code. With promises alone, the event loop
 * would run the code of all episodes before it handles sockets and timers again. So each episode waits for a turn, and
 * the loop handles sockets and timers between two turns.
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
 * Waits for a turn of the event loop in which no other caller continues. Callers continue in the order of their calls.
 * If no other caller has continued in this turn, the promise resolves at once.
 */
export function ownTurn(): Promise<void> {
  if (isTaken) return new Promise((resolve) => void waiting.push(resolve));
  takeTurn();
  return Promise.resolve();
}
