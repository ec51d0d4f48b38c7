export type LmdbStoreOptions = {
  /** Takes the store over even if its owner may still be alive. */
  readonly takeOver?: boolean;
  readonly isReadOnly?: boolean;
  /** Called if a heartbeat finds another owner or cannot be written. */
  readonly onLost?: (error: unknown) => void;
  /** The store has no room if the disk has fewer free bytes than this. Default: 256 MiB. */
  readonly minFreeBytes?: number;
  /** For tests: the number that identifies a file system on Linux (statfs). */
  readonly fileSystemType?: (dir: string) => number;
  /** For tests: identifies the boot of the machine. */
  readonly bootId?: string;
};
