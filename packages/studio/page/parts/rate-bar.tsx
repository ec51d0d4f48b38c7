import type { Rate } from '@agentjet/core/success';
import { showRate } from '../../src/page-logic/format.js';

/** Shows a success rate with its 95% interval, on an axis from 0 to 1. */
export function RateBar({ rate }: { readonly rate: Rate | null }) {
  if (rate === null) return <span class="muted">–</span>;
  const at = (value: number): string => `${(value * 100).toFixed(1)}%`;
  return (
    <span class="rate">
      <span class="rate-bar" aria-hidden="true">
        <i style={{ left: at(rate.low), width: at(rate.high - rate.low) }} />
        <b style={{ left: at(rate.rate) }} />
      </span>
      <span class="num">
        {showRate(rate.rate)}{' '}
        <span class="muted">
          {showRate(rate.low)}–{showRate(rate.high)}
        </span>
      </span>
    </span>
  );
}
