/** An object that is written key by key, because spreading optional keys costs more and a client is waiting. */
export type Writable<T> = { -readonly [Key in keyof T]: T[Key] };
