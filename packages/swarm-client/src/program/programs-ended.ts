const running = new Set<Promise<unknown>>();

/**
 * Resolves once every program that was asked to end has ended. A program that does not end is killed after a few
 * seconds.
 */
export async function programsEnded(): Promise<void> {
  await Promise.allSettled(running);
}

/** Returns what a program gives. Until then, `programsEnded` waits for it. */
export async function untilEnded<T>(program: Promise<T>): Promise<T> {
  running.add(program);
  try {
    return await program;
  } finally {
    running.delete(program);
  }
}
