import type { JsonObject } from '@agentjet/core';

/**
 * A document of the Agent Trajectory Interchange Format (ATIF), version 1.8. The types have the fields that this
 * package reads or writes. Everything of ours without a place in the format is in `extra.agentjet`.
 */
export type AtifDocument = {
  readonly schema_version: string;
  readonly session_id?: string;
  readonly trajectory_id?: string;
  readonly agent: AtifAgent;
  /** At least one. */
  readonly steps: readonly AtifStep[];
  readonly final_metrics?: JsonObject;
  readonly continued_trajectory_ref?: string;
  readonly subagent_trajectories?: readonly AtifDocument[];
  readonly extra?: JsonObject;
};

export type AtifAgent = {
  readonly name: string;
  readonly version: string;
  readonly model_name?: string;
  /** In the form of OpenAI's function calling. */
  readonly tool_definitions?: readonly JsonObject[];
  readonly extra?: JsonObject;
};

/** A message of the system or the user, or one call of the model with the results of its tools. */
export type AtifStep = {
  /** From 1, without a gap. */
  readonly step_id: number;
  /** An ISO time. */
  readonly timestamp?: string;
  readonly source: 'system' | 'user' | 'agent';
  readonly message: string | readonly AtifPart[];
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly AtifCall[];
  readonly observation?: { readonly results: readonly AtifResult[] };
  readonly metrics?: AtifMetrics;
  /** The step belongs to another document and is only context here. */
  readonly is_copied_context?: boolean;
  /** 0: no model was asked. */
  readonly llm_call_count?: number;
  readonly extra?: JsonObject;
};

export type AtifPart = { readonly type: string; readonly text?: string };

export type AtifCall = {
  readonly tool_call_id: string;
  readonly function_name: string;
  readonly arguments: JsonObject;
  readonly extra?: JsonObject;
};

export type AtifResult = {
  readonly source_call_id?: string;
  readonly content?: string | readonly AtifPart[];
  readonly extra?: JsonObject;
};

export type AtifMetrics = {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly prompt_token_ids?: readonly number[];
  readonly completion_token_ids?: readonly number[];
  /** Of the completion's tokens. */
  readonly logprobs?: readonly number[];
  readonly extra?: JsonObject;
};

export const atifVersion = 'ATIF-v1.8';

/** Whether a value says that it is an ATIF document, of any version. */
export function isAtif(value: JsonObject): boolean {
  const { schema_version: version } = value;
  return typeof version === 'string' && version.startsWith('ATIF-');
}
