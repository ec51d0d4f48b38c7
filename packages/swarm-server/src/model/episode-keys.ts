import { hash, timingSafeEqual } from 'node:crypto';
import { LatestMap } from '@agentjet/endpoint';
import { keptSecret } from '@agentjet/run-folder';

const prefix = 'sk-ajet-';

/**
 * Keys of episodes. Each one allows the model calls of one episode and nothing else. They are signed with a secret in
 * the run folder that only its owner can read, so they stay valid after a restart of the server.
 */
export class EpisodeKeys {
  readonly #inner: Buffer;
  readonly #outer: Buffer;
  /**
   * Recently issued or received keys by episode. They are kept because every model call of an episode sends the same
   * key. Each takes about 150 bytes.
   */
  readonly #known = new LatestMap<string>(20_000);

  /** `secret` has at most 64 bytes. */
  constructor(secret: Buffer) {
    const padded = Buffer.alloc(blockBytes);
    secret.copy(padded);
    this.#inner = padded.map((byte) => byte ^ 0x36) as Buffer;
    this.#outer = padded.map((byte) => byte ^ 0x5c) as Buffer;
  }

  /** Reads the secret, or makes one. Throws AgentJetError `bad_secret` if the file contains anything else. */
  static open(file: string): EpisodeKeys {
    const secret = keptSecret(file, 'then the keys of running episodes are void, and new ones are made.');
    return new EpisodeKeys(Buffer.from(secret, 'hex'));
  }

  keyOf(episodeId: string): string {
    const key = this.#known.get(episodeId) ?? `${prefix}${episodeId}.${this.#sign(episodeId)}`;
    this.#known.set(episodeId, key);
    return key;
  }

  /** Whether the key belongs to this episode. */
  opens(key: string, episodeId: string): boolean {
    const known = this.#known.get(episodeId) ?? `${prefix}${episodeId}.${this.#sign(episodeId)}`;
    const expected = Buffer.from(known);
    const given = Buffer.from(key);
    const isRight = expected.length === given.length && timingSafeEqual(expected, given);
    if (isRight) this.#known.set(episodeId, known);
    return isRight;
  }

  /** Computes HMAC-SHA-256 (RFC 2104) without `createHmac`, because creating its object takes 40 microseconds. */
  #sign(episodeId: string): string {
    const inner = hash('sha256', Buffer.concat([this.#inner, Buffer.from(episodeId)]), 'buffer');
    return hash('sha256', Buffer.concat([this.#outer, inner]), 'base64url');
  }
}

/** The block size of SHA-256 in bytes. */
const blockBytes = 64;
