/** An object that is written key by key: spreading optional keys costs more, and a client is waiting here. */
export type Writable<T> = { -readonly [Key in keyof T]: T[Key] };
