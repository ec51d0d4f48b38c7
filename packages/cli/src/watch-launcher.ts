import { readFileSync } from 'node:fs';

const everyMs = 1000;

/**
 * Returns the parent of this process and, on Linux, the parent's parent: npx starts a command through a shell, which
 * may remain between them.
 */
export function readParents(pid: number = process.ppid): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return `${pid} ${stat.slice(stat.lastIndexOf(')')).split(' ')[2]}`;
  } catch {
    return String(pid); // this is another system, or the parent has just ended
  }
}

type Launch = {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly parents?: () => string;
  readonly everyMs?: number;
};

/**
 * Calls `onGone` once if npx started this command and ends before it. A signal that kills npx does not always reach us,
 * and a server without its npx would keep its port. Returns a function that ends the watch.
 */
export function watchLauncher(
  onGone: () => void,
  { env = process.env, parents = readParents, everyMs: pause = everyMs }: Launch = {},
): () => void {
  if (env['npm_command'] !== 'exec') return () => undefined;
  const first = parents();
  const timer = setInterval(() => {
    if (parents() === first) return;
    clearInterval(timer);
    onGone();
  }, pause).unref();
  return () => clearInterval(timer);
}
