import { AgentJetError, toErrorMessage } from '@agentjet/core';
import type {
  AuditAnswer,
  ClientsAnswer,
  ConfigAnswer,
  EpisodesAnswer,
  KeyAnswer,
  KeyRequest,
  KeysAnswer,
  Operation,
  OperationAnswer,
  RunAnswer,
  ServerAnswer,
  SharesRequest,
} from '@agentjet/swarm-wire';
import { createSender, type Send } from './http-transport.js';
import type { SwarmClientOptions } from './swarm-client.js';
import { newId, systemClientHost, systemFetch, type ClientHost } from './host.js';

/** The key must belong to a commander. An observer's key is enough for reading. */
export type SwarmOperatorOptions = Pick<SwarmClientOptions, 'url' | 'key' | 'host' | 'fetch'>;

/**
 * The operations of a person on a server: read, change, stop, and issue keys. Each order has an id and is carried out
 * once.
 */
export class SwarmOperator {
  readonly #send: Send;
  readonly #host: ClientHost;

  constructor({ url, key, host = systemClientHost, fetch = systemFetch }: SwarmOperatorOptions) {
    this.#host = host;
    const send = createSender({ url, fetch, ...(key !== undefined && key !== '' && { key }) });
    this.#send = (...request) => send(...request).catch((error: unknown) => Promise.reject(toReachable(error, url)));
  }

  /**
   * Reads the server's state. With `after`, resolves once something has changed since that number, or after 20 seconds.
   */
  server = async (after?: number): Promise<ServerAnswer> =>
    (await this.#send('GET', after === undefined ? '/server' : `/server?after=${after}&wait=20`)) as ServerAnswer;

  /**
   * Begins a run on a server that waits for one, or checks that its run is this one. The keys are those of a server's
   * YAML file.
   */
  begin = async (config: Readonly<Record<string, unknown>>, run?: string): Promise<RunAnswer> =>
    (await this.#send('PUT', '/run', { config, ...(run !== undefined && { run }) })) as RunAnswer;

  /**
   * Ends the run of a server that waits for runs. The answer names the run, so you can continue it later with
   * `begin(config, run)`.
   */
  endRun = async (): Promise<RunAnswer> => (await this.#send('DELETE', '/run')) as RunAnswer;

  /** Sets the part of each share. The parts add up to 1, and apply from the step `from_step` of the answer. */
  share = async (parts: SharesRequest): Promise<ConfigAnswer> =>
    (await this.#send('PUT', '/shares', parts, { 'idempotency-key': newId(this.#host) })) as ConfigAnswer;

  /**
   * Changes settings such as `trainer_common.optim.lr`. Throws WireError `revision_conflict` if somebody else changed
   * them first.
   */
  async configure(changes: Readonly<Record<string, unknown>>): Promise<ConfigAnswer> {
    const { config_revision: revision } = await this.server();
    const body = { request_id: newId(this.#host), changes };
    return (await this.#send('PATCH', '/run/config', body, { 'if-match': String(revision) })) as ConfigAnswer;
  }

  operate = async (operation: Operation): Promise<OperationAnswer> => {
    const headers = { 'idempotency-key': newId(this.#host) };
    return (await this.#send('POST', `/run/${operation}`, undefined, headers)) as OperationAnswer;
  };

  operation = async (id: string): Promise<OperationAnswer> =>
    (await this.#send('GET', `/operations/${encodeURIComponent(id)}`)) as OperationAnswer;

  keys = async (): Promise<KeysAnswer> => (await this.#send('GET', '/keys')) as KeysAnswer;
  makeKey = async (request: KeyRequest): Promise<KeyAnswer> =>
    (await this.#send('POST', '/keys', request)) as KeyAnswer;
  /** Resolves with false if there is no such key. */
  deleteKey = async (name: string): Promise<boolean> => {
    const answer = await this.#send('DELETE', `/keys/${encodeURIComponent(name)}`);
    return (answer as { readonly deleted: boolean }).deleted;
  };

  episodes = async (query: Readonly<Record<string, string>> = {}): Promise<EpisodesAnswer> =>
    (await this.#send('GET', `/episodes?${new URLSearchParams(query).toString()}`)) as EpisodesAnswer;

  /** Drops episodes that were claimed with a key and are in no step yet. */
  dropEpisodes = async (key: string): Promise<{ readonly dropped: number }> =>
    (await this.#send('DELETE', `/episodes?${new URLSearchParams({ key }).toString()}`)) as {
      readonly dropped: number;
    };

  clients = async (): Promise<ClientsAnswer> => (await this.#send('GET', '/clients')) as ClientsAnswer;

  audit = async (): Promise<AuditAnswer> => {
    const entries: AuditAnswer['entries'][number][] = [];
    for (let after: number | undefined = 0; after !== undefined; ) {
      const page = (await this.#send('GET', `/audit?after=${after}`)) as AuditAnswer;
      entries.push(...page.entries);
      after = page.next;
    }
    return { entries };
  };
}

/**
 * Turns a failed connection into an error with the repair, because an operator does not wait for a server that is away.
 */
function toReachable(error: unknown, url: string): unknown {
  if (error instanceof AgentJetError) return error;
  const reason =
    error instanceof Error && error.cause !== undefined ? toErrorMessage(error.cause) : toErrorMessage(error);
  return new AgentJetError(
    'unreachable',
    `No server answers at ${url}: ${reason}. Start it, or correct the address; a tunnel to it may be closed.`,
    { cause: error },
  );
}
