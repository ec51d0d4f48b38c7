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

/** An error on its way between two processes. Its class and code decide what becomes of its episode. */
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

/** The error as its own process threw it; an EngineError `failed` for one of somebody else's, as a model call rejects. */
export function fromSentError({ kind, code, message, stack }: SentError): AgentJetError {
  const Kind = Object.hasOwn(kinds, kind) ? kinds[kind as keyof typeof kinds] : EngineError;
  const error = new Kind(code, message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
