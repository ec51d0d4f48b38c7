import { isReward } from '@agentjet/core';
import type { z } from 'zod';
import { claimRequestSchema, endRequestSchema, shareName, type ClaimRequest, type EndRequest } from './episodes.js';
import {
  createQuickCheck,
  isIntegerIn,
  isListOf,
  isNumber,
  isOneOf,
  isOrNull,
  isRecordOf,
  isText,
  type QuickCheck,
} from './quick-check.js';

const isId = isText(1, 200);
const isClaimId = (value: unknown): boolean => isId(value) && !/#[0-9]+$/.test(value as string);
const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
const isAnything = (): boolean => true;
const isRecord = isRecordOf(isAnything);
const isDefaultShare = (value: unknown): boolean => value === 'default' || shareName.safeParse(value).success;
const isSeconds = (value: unknown): boolean => isNumber(value) && (value as number) >= 0 && (value as number) <= 1e9;
const left = { otherwise: undefined };

const quickClaim = createQuickCheck<ClaimRequest>({
  claim_id: { accepts: isClaimId },
  client: { accepts: isId },
  life: { accepts: isId },
  can: { accepts: isListOf(isDefaultShare, 1, 100), otherwise: () => ['default'] },
  count: { accepts: isIntegerIn(1, 64), otherwise: () => 1 },
  purpose: { accepts: isOneOf('train', 'evaluation', 'any'), otherwise: () => 'any' },
  revision: { accepts: isText(0, 200), otherwise: () => '' },
  lease_seconds: { accepts: isAbove(0, 86_400), otherwise: () => 120 },
  wait_seconds: { accepts: isAbove(-Number.MIN_VALUE, 30), otherwise: () => 0 },
});

const quickEnd = createQuickCheck<EndRequest>({
  client: { accepts: isId },
  status: { accepts: isOneOf('completed', 'failed', 'outage') },
  reward: { accepts: isOrNull(isReward), otherwise: () => null },
  rewards: { accepts: isRecordOf(isReward), ...left },
  is_success: { accepts: isOrNull(isBoolean), otherwise: () => null },
  metadata: { accepts: isRecord, otherwise: () => ({}) },
  log_metrics: { accepts: isRecordOf(isNumber), otherwise: () => ({}) },
  parts: { accepts: isRecordOf(isNumber), ...left },
  reason: { accepts: isText(0, 100_000), ...left },
  error: { accepts: isText(0, 100_000), ...left },
  error_code: { accepts: isText(0, 200), ...left },
  revision: { accepts: isText(0, 200), ...left },
  seconds: { accepts: isSeconds, ...left },
  seconds_judging: { accepts: isSeconds, ...left },
  messages: { accepts: isListOf(isRecord, 0, Infinity), ...left },
});

function isAbove(least: number, most: number): (value: unknown) => boolean {
  return (value) => isNumber(value) && (value as number) > least && (value as number) <= most;
}

/** The quick checks by their schemas. An end with rewards of turns, spans or swallowed errors is left to its schema. */
export const quickChecks: ReadonlyMap<z.ZodType, QuickCheck<unknown>> = new Map<z.ZodType, QuickCheck<unknown>>([
  [claimRequestSchema, quickClaim],
  [endRequestSchema, quickEnd],
]);
