import { BackboneError } from '@agentjet/core';

/** Returns the code and the message of the BackboneError that some work fails with. Any other end is an error. */
export async function problemOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (thrown) {
    if (thrown instanceof BackboneError) return `${thrown.code}: ${thrown.message}`;
    throw thrown;
  }
  throw new Error('It did not fail.');
}
