// What an extraction, or the estimate of one, comes to: a table for people, one object for programs.
import type { Estimate, ExtractionSummary } from '../../app/extract.ts';
import { counted } from '../counted.ts';
import { humanDuration } from '../human-time.ts';
import type { CliSession } from '../session.ts';
import { snakeCaseKeys } from '../../core/index.ts';

export function showEstimate({ out }: CliSession, estimate: Estimate): void {
  const { types, calls, callsThisRun, isAtLeast, minutes, probes } = estimate;
  if (out.isJson) {
    const told = types.map((one) => ({
      type: one.type,
      items: one.items,
      calls: one.calls,
      is_at_least: one.isAtLeast,
    }));
    const facts = { calls, is_at_least: isAtLeast, calls_this_run: callsThisRun, minutes, probes };
    return out.json({ dry_run: true, ...facts, types: told });
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
  const time = `about ${humanDuration(minutes * 60_000)} at this rate limit`;
  const all = `It would take ${isAtLeast ? 'at least ' : ''}${counted(calls, 'call')}`;
  out.line(
    callsThisRun < calls
      ? `${all}; --max-calls ends the first run after ${callsThisRun}, ${time}.`
      : `${all}, ${time}.`,
  );
  out.note(`${counted(probes, 'call was', 'calls were')} made to find out; nothing was written.`);
}

export function showResult(session: CliSession, result: ExtractionSummary): void {
  const { out } = session;
  if (out.isJson) return out.jsonLine(session.redactor.value(resultAnswer(result)));
  const { types, wasComplete, endedBy } = result;
  if (wasComplete) {
    out.line(`Everything is there already: nothing was asked for. ${result.vault}`);
    out.note('A new look at the source: headworks extract … --fresh');
    return;
  }
  out.table(
    ['TYPE', 'IN VAULT', 'OF', 'READ NOW', 'STATUS'],
    types.map(({ type, held, total, itemsThisRun, status }) => [
      type,
      String(held),
      total === null ? '–' : String(total),
      String(itemsThisRun),
      endedBy !== 'done' && status !== 'completed' ? 'paused' : status,
    ]),
    (text, column) => (column === 4 ? out.style(text === 'completed' ? 'green' : 'yellow', text) : text),
  );
  out.line();
  out.line(endText(result));
}

function endText(result: ExtractionSummary): string {
  const { status, endedBy, calls, isResumed } = result;
  const facts = `${runText(result)}. ${result.vault}${isResumed ? `\n${sessionText(result)}` : ''}`;
  if (endedBy === 'interrupted') return `Stopped: ${facts}\nThe same command goes on from here.`;
  if (endedBy === 'max-calls')
    return `Stopped after ${counted(calls, 'call')}, as told: ${facts}\nThe same command goes on.`;
  if (status === 'completed') return `Complete: ${facts}`;
  return `Incomplete, something is missing: ${facts}\n${remedyText(result)}; headworks vault verify says what.`;
}

function remedyText({ canRetry, hasBrokenLists }: ExtractionSummary): string {
  if (canRetry) return 'Ask for it again with --retry-failed';
  return hasBrokenLists
    ? 'A list could not be read to its end: correct its pagination if it is wrong, and read it anew with --fresh'
    : 'All pages came, but the source counts more: read it anew with --fresh';
}

function runText({ calls, rateLimitedCalls, metrics, itemsPerSecond }: ExtractionSummary): string {
  const refused = rateLimitedCalls === 0 ? '' : `, ${rateLimitedCalls} × 429`;
  return worked(metrics.total, calls, metrics.duration * 1000, itemsPerSecond) + refused;
}

/** Of a session that took several runs. */
function sessionText({ totals }: ExtractionSummary): string {
  const { items, calls, activeMs, throughputItemsPerSecond } = totals;
  return `All runs of this session: ${worked(items, calls, activeMs, throughputItemsPerSecond)}.`;
}

function worked(items: number, calls: number, ms: number, itemsPerSecond: number | null): string {
  const speed = itemsPerSecond === null ? '' : `, ${itemsPerSecond.toFixed(1)} items/s`;
  return `${counted(items, 'item')}, ${counted(calls, 'call')}, ${humanDuration(ms)}${speed}`;
}

/** Under document 001's names: `throughput_items_per_second` is the session's, of all its runs. */
function resultAnswer(result: ExtractionSummary): object {
  const { items, calls, errors, activeMs, throughputItemsPerSecond } = result.totals;
  return {
    event: 'extraction:result',
    session: result.session,
    vault: result.vault,
    status: result.status,
    ended_by: result.endedBy,
    is_resumed: result.isResumed,
    was_complete: result.wasComplete,
    calls: result.calls,
    rateLimitedCalls: result.rateLimitedCalls,
    items_per_second: result.itemsPerSecond,
    throughput_items_per_second: throughputItemsPerSecond,
    session_totals: { items, calls, errors, active_seconds: activeMs / 1000 },
    types: snakeCaseKeys(result.types),
    metrics: result.metrics,
    rate_limiter: result.rateLimiter,
  };
}
