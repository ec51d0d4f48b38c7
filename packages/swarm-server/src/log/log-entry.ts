export type LogLevel = 'info' | 'warn' | 'error';

/** A log line. The ids say what the line is about. */
export type LogEntry = {
  readonly level: LogLevel;
  readonly message: string;
  readonly run?: string | undefined;
  readonly policy?: string | undefined;
  readonly episode?: string | undefined;
  readonly client?: string | undefined;
  /** The name of the key. */
  readonly key?: string | undefined;
  /** The id of the request. The answer has it as the header `x-request-id`. */
  readonly request?: string | undefined;
  /** The code of the error. */
  readonly code?: string | undefined;
};

export type Log = (entry: LogEntry) => void;

/** A message for the operator. Default level: `info`. */
export type Notice = (message: string, level?: LogLevel) => void;
