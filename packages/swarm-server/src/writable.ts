/** An object that is written key by key: a spread of what may be there costs more, where a client waits. */
export type Writable<T> = { -readonly [Key in keyof T]: T[Key] };
