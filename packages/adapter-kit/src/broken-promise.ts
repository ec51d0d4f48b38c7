/** The message says how the promise was broken. */
export class BrokenPromise extends Error {}
