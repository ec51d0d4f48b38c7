import {
  AgentJetError,
  BackboneError,
  ConfigError,
  EngineError,
  JudgeError,
  TaskError,
  toErrorMessage,
  WorkflowError,
} from '@agentjet/core';

/** An error that is sent between two processes. Its class and code decide how its episode is counted. */
export type SentError = {
  readonly kind: string;
  readonly code: string;
  readonly message: string;
  readonly stack?: string;
};

const kinds = { BackboneError, ConfigError, EngineError, JudgeError, TaskError, WorkflowError } as const;

export function toSentError(error: unknown): SentError {
  const stack = error instanceof Error ? error.stack : undefined;
  return {
    kind: error instanceof AgentJetError ? error.name : '',
    code: error instanceof AgentJetError ? error.code : 'failed',
    message: toErrorMessage(error),
    ...(stack !== undefined && { stack }),
  };
}

/**
 * Restores the error that was thrown in the other process. An error of an unknown class becomes an EngineError
 * `failed`, as in a rejected model call.
 */
export function fromSentError({ kind, code, message, stack }: SentError): AgentJetError {
  const Kind = Object.hasOwn(kinds, kind) ? kinds[kind as keyof typeof kinds] : EngineError;
  const error = new Kind(code, message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
