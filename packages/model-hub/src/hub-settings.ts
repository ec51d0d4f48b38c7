import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { ConfigError } from '@agentjet/core';

/** The source of models, and the folder that keeps them. */
export type HubSettings = {
  /** The address, without a slash at its end. */
  readonly endpoint: string;
  /** If it is undefined, only public models can be downloaded. */
  readonly token: string | undefined;
  /** The folder that holds a folder for each model. */
  readonly cacheDir: string;
  /** True if no request may be sent to the hub. */
  readonly isOffline: boolean;
  /** A connection that is silent for this long is opened again. */
  readonly stallMs: number;
};

type Environment = Readonly<Record<string, string | undefined>>;

/** The folder for files that programs can make again: `XDG_CACHE_HOME`, or `~/.cache`. */
export function readCacheHome(env: Environment = process.env): string {
  const given = env['XDG_CACHE_HOME'] ?? '';
  return expandHome(given === '' ? path.join('~', '.cache') : given);
}

/**
 * Reads the variables of Hugging Face's own programs, so they share a cache with us. Throws ConfigError `bad_token`.
 */
export function readHubSettings(env: Environment = process.env): HubSettings {
  const given = (name: string): string | undefined => (env[name] === '' ? undefined : env[name]);
  const home = expandHome(given('HF_HOME') ?? path.join(readCacheHome(env), 'huggingface'));
  const cacheDir = given('HF_HUB_CACHE') ?? given('HUGGINGFACE_HUB_CACHE') ?? path.join(home, 'hub');
  const tokenFile = given('HF_TOKEN_PATH') ?? path.join(home, 'token');
  const seconds = Number(given('HF_HUB_DOWNLOAD_TIMEOUT'));
  return {
    endpoint: (given('HF_ENDPOINT') ?? 'https://huggingface.co').replace(/\/+$/, ''),
    token: checkToken(given('HF_TOKEN') ?? given('HUGGING_FACE_HUB_TOKEN') ?? readToken(expandHome(tokenFile))),
    cacheDir: path.resolve(expandHome(cacheDir)),
    isOffline: ['HF_HUB_OFFLINE', 'TRANSFORMERS_OFFLINE'].some((name) => isOn(given(name))),
    stallMs: seconds > 0 ? seconds * 1000 : 30_000,
  };
}

/** Trims the token. A token that cannot be sent is refused here, because the error of a request would show it. */
function checkToken(given: string | undefined): string | undefined {
  const token = given?.trim() ?? '';
  if (token === '') return undefined;
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new ConfigError(
    'bad_token',
    'The token for the model hub (HF_TOKEN, or the token that `hf auth login` stored) has a space or a character that no token has. Copy it again.',
  );
}

/** Reads the file of `hf auth login`. */
function readToken(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // most users have no such file
  }
}

function expandHome(folder: string): string {
  return folder.replace(/^~(?=$|[/\\])/, homedir());
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && /^(1|on|yes|true)$/i.test(value);
}
