/** Refuses a task by the name of what cannot be honoured. */
export type Refuse = (what: string) => never;
