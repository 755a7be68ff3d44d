// What an extraction, or the estimate of one, comes to: a table for people, one object for programs.
import type { Estimate, Extracted } from '../../app/extract.ts';
import { humanDuration } from '../human-time.ts';
import type { CliSession } from '../session.ts';

export function showEstimate({ out }: CliSession, estimate: Estimate): void {
  const { types, calls, isAtLeast, minutes, probes } = estimate;
  if (out.isJson) {
    const told = types.map((one) => ({
      type: one.type,
      items: one.items,
      calls: one.calls,
      is_at_least: one.isAtLeast,
    }));
    return out.json({ dry_run: true, calls, is_at_least: isAtLeast, minutes, probes, types: told });
  }
  const atLeast = (count: number, isOpen: boolean) => `${isOpen ? 'at least ' : ''}${count}`;
  out.table(
    ['TYPE', 'ITEMS', 'CALLS'],
    types.map((one) => [
      one.type,
      one.items === null ? 'not known before' : String(one.items),
      atLeast(one.calls, one.isAtLeast),
    ]),
  );
  out.line();
  out.line(
    `It would take ${atLeast(calls, isAtLeast)} calls, about ${humanDuration(minutes * 60_000)} at this rate limit.`,
  );
  out.note(`${probes} ${probes === 1 ? 'call was' : 'calls were'} made to find out; nothing was written.`);
}

export function showResult(session: CliSession, result: Extracted): void {
  const { out } = session;
  if (out.isJson) return out.jsonLine(resultAnswer(result));
  const { types, wasComplete } = result;
  if (wasComplete) {
    out.line(`Everything is there already: nothing was asked for. ${result.vault}`);
    out.note('A new look at the source: headworks extract … --fresh');
    return;
  }
  out.table(
    ['TYPE', 'ITEMS', 'OF', 'STATUS'],
    types.map(({ type, items, total, status }) => [
      type,
      String(items),
      total === null ? '–' : String(total),
      status,
    ]),
    (text, column) => (column === 3 ? out.style(text === 'completed' ? 'green' : 'yellow', text) : text),
  );
  out.line();
  out.line(endText(result));
}

function endText({ status, endedBy, calls, metrics, rateLimiter, itemsPerSecond, vault }: Extracted): string {
  const speed = itemsPerSecond === null ? '' : `, ${itemsPerSecond.toFixed(1)} items/s`;
  const waits = rateLimiter.total_429_count === 0 ? '' : `, ${rateLimiter.total_429_count} × 429`;
  const facts = `${metrics.total} items, ${calls} calls, ${humanDuration(metrics.duration * 1000)}${speed}${waits}. ${vault}`;
  if (endedBy === 'interrupted') return `Stopped: ${facts}\nThe same command goes on from here.`;
  if (endedBy === 'max-calls')
    return `Stopped after ${calls} calls, as told: ${facts}\nThe same command goes on.`;
  if (status === 'completed') return `Complete: ${facts}`;
  return `Incomplete, something is missing: ${facts}\nAsk for it again with --retry-failed; headworks vault verify says what.`;
}

/** Under document 001's names. */
function resultAnswer(result: Extracted): object {
  return {
    event: 'extraction:result',
    session: result.session,
    vault: result.vault,
    status: result.status,
    ended_by: result.endedBy,
    is_resumed: result.isResumed,
    was_complete: result.wasComplete,
    calls: result.calls,
    throughput_items_per_second: result.itemsPerSecond,
    types: result.types,
    metrics: result.metrics,
    rate_limiter: result.rateLimiter,
  };
}
