/** Words for a broken promise. */
export class BrokenPromise extends Error {}
