export type LmdbStoreOptions = {
  /** Takes over from an owner that may still be alive. */
  readonly takeOver?: boolean;
  readonly isReadOnly?: boolean;
  /** Called if the heartbeat finds another owner, or cannot be written. */
  readonly onLost?: (error: unknown) => void;
  /** If fewer bytes are free, the store has no room. Default: 256 MiB. */
  readonly minFreeBytes?: number;
  /** For tests: the number that identifies a file system on Linux (statfs). */
  readonly fileSystemType?: (dir: string) => number;
  /** For tests: identifies the boot of the machine. */
  readonly bootId?: string;
};
