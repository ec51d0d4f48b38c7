/** Thrown if an adapter breaks a promise. The message says how. */
export class BrokenPromise extends Error {}
