import { ConfigError } from '@agentjet/core';

/** One key of a provider. Its value never appears in a message, a record or a log. */
export type Key = {
  /** If it is empty, no key is sent. */
  readonly value: string;
  /** The name of the variable or setting that contains the key, for messages. */
  readonly name: string;
  readonly isBackup: boolean;
  /** Default: `Bearer`. */
  readonly scheme?: 'Basic';
};

/** Used for a server that needs no key. */
const noKey: Key = { value: '', name: 'the configuration', isBackup: false };

type State = {
  readonly key: Key;
  inFlight: number;
  /** The value of the ring's use counter at the last use of this key. 0 means never. */
  lastUse: number;
  restsUntil: number;
  retiredAt: number | null;
};

export type KeyNames = {
  /** Names of environment variables. Null means the variable of the server's provider, see `nameOfProvider`. */
  readonly keys: readonly string[] | null;
  readonly backupKeys: readonly string[];
};

const dashScope = 'DASHSCOPE_API_KEY';

/**
 * Returns `DASHSCOPE_API_KEY` for a server of Alibaba Cloud and `OPENAI_API_KEY` otherwise, so a key is never sent to
 * another provider.
 */
function nameOfProvider({ hostname }: URL): string {
  return hostname === 'aliyuncs.com' || hostname.endsWith('.aliyuncs.com') ? dashScope : 'OPENAI_API_KEY';
}

/**
 * Reads keys from environment variables by name. Several keys in one variable are separated by `|`. The optional
 * variable `<NAME>_BACKUP` contains backup keys. Throws ConfigError if no variable has a key.
 */
export function readKeys(
  { keys, backupKeys }: KeyNames,
  environment: Readonly<Record<string, string | undefined>>,
  url: URL,
): readonly Key[] {
  const names = keys ?? [nameOfProvider(url)];
  const read = (name: string, isBackup: boolean): readonly Key[] =>
    (environment[name] ?? '')
      .split('|')
      .map((value) => value.trim())
      .filter((value) => value !== '')
      .map((value) => ({ value, name, isBackup }));
  const first = names.flatMap((name) => read(name, false));
  const backups = [...names.map((name) => `${name}_BACKUP`), ...backupKeys].flatMap((name) => read(name, true));
  const all = [...first, ...backups];
  const unique = all.filter(({ value }, at) => all.findIndex((key) => key.value === value) === at);
  if (unique.length > 0) return unique;
  const asked = [...names, ...backupKeys];
  const other = !asked.includes(dashScope) && read(dashScope, false).length > 0;
  const hint = other ? ` ${dashScope} is set: if it is for ${url.host}, name it with keys: [${dashScope}].` : '';
  throw new ConfigError(
    'missing_key',
    `No key: ${asked.join(', ')} ${asked.length === 1 ? 'is' : 'are'} not set. Set the environment variable to a key of the provider.${hint}`,
  );
}

const shortestSecret = 6;

/**
 * Shares the load between keys. Backup keys are used only while no other key can be used. A key is retired if it was
 * refused or its quota is used up. If all keys are retired, each further question tries the one that was retired first,
 * so that an account with new credit is noticed.
 */
export class KeyRing {
  readonly #states: readonly State[];
  #numUses = 0;

  constructor(keys: readonly Key[]) {
    this.#states = (keys.length > 0 ? keys : [noKey]).map((key) => ({
      key,
      inFlight: 0,
      lastUse: 0,
      restsUntil: 0,
      retiredAt: null,
    }));
  }

  /** How long until a key can be used, in ms. 0 means now. */
  restMs(now: number): number {
    const usable = this.#states.filter(({ retiredAt }) => retiredAt === null);
    return usable.length === 0 ? 0 : Math.max(0, Math.min(...usable.map(({ restsUntil }) => restsUntil)) - now);
  }

  /** Returns the key to use now, or the time until one can be used, in ms. */
  take(now: number): { readonly key: Key } | { readonly waitMs: number } {
    const usable = this.#states.filter(({ retiredAt }) => retiredAt === null);
    const able = usable.filter(({ restsUntil }) => restsUntil <= now);
    const first = able.filter(({ key }) => !key.isBackup);
    const chosen = leastBusy(first.length > 0 ? first : able);
    if (chosen !== undefined) return this.#use(chosen);
    if (usable.length > 0) return { waitMs: this.restMs(now) };
    const oldest = this.#states.toSorted((a, b) => (a.retiredAt ?? 0) - (b.retiredAt ?? 0))[0];
    return oldest === undefined ? { waitMs: 0 } : this.#use(oldest);
  }

  #use(state: State): { readonly key: Key } {
    state.inFlight++;
    state.lastUse = ++this.#numUses;
    return { key: state.key };
  }

  /** Called when the server has answered a request with this key. */
  succeed(key: Key): void {
    this.#change(key, (state) => {
      state.retiredAt = null;
    });
  }

  /** Keeps the key from being used before `until`. */
  rest(key: Key, until: number): void {
    this.#change(key, (state) => {
      state.restsUntil = Math.max(state.restsUntil, until);
    });
  }

  retire(key: Key, now: number): void {
    this.#change(key, (state) => {
      state.retiredAt = now;
    });
  }

  /** Called when a question ended without information about its key. */
  release(key: Key): void {
    this.#change(key, () => {});
  }

  get areAllRetired(): boolean {
    return this.#states.every(({ retiredAt }) => retiredAt !== null);
  }

  /**
   * Removes all keys from the text, because some servers repeat the key that they refuse. Short words such as `none`
   * remain, because they are keys of local servers and not secret.
   */
  redact(text: string): string {
    const secrets = this.#states.map(({ key }) => key.value).filter(({ length }) => length >= shortestSecret);
    return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[key]'), text);
  }

  get names(): readonly string[] {
    return [...new Set(this.#states.map(({ key }) => key.name))];
  }

  #change(key: Key, change: (state: State) => void): void {
    const state = this.#states.find((candidate) => candidate.key === key);
    if (state === undefined) return;
    state.inFlight--;
    change(state);
  }
}

/** Among equally busy keys, returns the one that was used longest ago, so consecutive questions share the load too. */
function leastBusy(states: readonly State[]): State | undefined {
  return states.toSorted((a, b) => a.inFlight - b.inFlight || a.lastUse - b.lastUse)[0];
}
