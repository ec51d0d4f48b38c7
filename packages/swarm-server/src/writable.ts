/**
 * The type of an object while its keys are set one by one. Spreading optional keys would take longer, and a client is
 * waiting.
 */
export type Writable<T> = { -readonly [Key in keyof T]: T[Key] };
