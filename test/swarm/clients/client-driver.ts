/** One client of the swarm, driven by name and arguments: a library, or a program such as curl. */
export interface ClientDriver {
  readonly name: string;
  /** Returns the answer, or the code of the error. The arguments have the names of the protocol. */
  ask(verb: Verb, args: Arguments): Promise<Outcome>;
  close(): Promise<void>;
}

export type Verb = 'server' | 'add_tasks' | 'claim' | 'heartbeat' | 'end' | 'abandon' | 'chat';
export type Arguments = Readonly<Record<string, unknown>>;
export type Outcome = { readonly ok: Readonly<Record<string, unknown>> } | { readonly error: string };

export type DriverOptions = { readonly url: string; readonly key: string; readonly client: string };

/** What the cases need to know about a claimed episode. */
export type SeenEpisode = {
  readonly episode_id: string;
  readonly task_id: string;
  readonly base_url: string;
  readonly key: string;
  readonly model: string;
  /** The targets of each policy, if there are several. */
  readonly policies?: Readonly<Record<string, readonly string[]>> | null;
};
