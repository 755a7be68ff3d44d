// Progress and result of an extraction on the screen.
import type { SingleBar } from 'cli-progress';
import { MultiBar } from 'cli-progress';
import type { Estimate, ExtractionSummary } from '../../app/extract.ts';
import type { EmittedEvent } from '../../core/index.ts';
import { snakeCaseKeys } from '../../core/index.ts';
import type { ProgressFigures, TypeFigures } from '../../extraction/events.ts';
import { counted, formatDuration, formatWholeSeconds, printable } from '../output.ts';
import type { CliSession } from '../session.ts';
import { migratedText } from './vault.ts';

const longestBar = 24;
const shortestBar = 5;
/** Count, rate, time left and state with the spaces between them. */
const factsWidth = 1 + 13 + 1 + 9 + 1 + 14 + 1 + 'incomplete'.length;

export interface BarLayout {
  readonly format: string;
  readonly barsize: number;
  /** Values of the format's placeholders. */
  readonly facts: (figures: TypeFigures, pace: Pace) => Readonly<Record<string, string>>;
}

/** Without space for both, the bar is omitted; the remaining time replaces the state. */
export function barLayout(columns: number, longestName: number): BarLayout {
  const room = columns - longestName - 1 - factsWidth;
  const isWide = room >= shortestBar;
  return {
    format: isWide ? '{type} {bar} {count} {rate} {left} {state}' : '{type} {count} {rate} {leftOrState}',
    barsize: Math.max(Math.min(room, longestBar), 1),
    facts: ({ type, items, total, state }, { itemsPerSecond, leftMs }) => ({
      type: type.padEnd(longestName),
      count: `${items}${total === null ? '' : `/${total}`}`.padStart(isWide ? 13 : 11),
      rate: `${itemsPerSecond.toFixed(1)}/s`.padStart(9),
      left: (leftMs === null ? '' : `ETA ${formatWholeSeconds(leftMs)}`).padEnd(14),
      leftOrState: leftMs === null ? state : `~${formatWholeSeconds(leftMs)}`,
      state,
    }),
  };
}

/** Wraps the parts into lines. */
export function wrapParts(parts: readonly string[], columns: number): readonly string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const longer = lines.length === 0 ? part : `${lines.at(-1)} · ${part}`;
    if (lines.length > 0 && longer.length <= columns) lines[lines.length - 1] = longer;
    else lines.push(part);
  }
  return lines;
}

export interface Pace {
  readonly itemsPerSecond: number;
  /** Remaining time; null when it cannot be estimated. */
  readonly leftMs: number | null;
}

interface Span {
  /** Items of earlier runs. */
  readonly items: number;
  readonly from: number;
  to: number | null;
}

export class TypePaces {
  readonly #startedAt: number;
  readonly #spans = new Map<string, Span>();

  /** `startedAt` and `now` are milliseconds of one clock. */
  constructor(startedAt: number) {
    this.#startedAt = startedAt;
  }

  of({ type, items, itemsThisRun, total, state }: TypeFigures, now: number): Pace {
    const known = this.#spans.get(type);
    // The time of a type starts with its first item.
    const from = state === 'queued' ? now : (known?.from ?? this.#startedAt);
    const hasEnded = state === 'completed' || state === 'incomplete';
    const span: Span = {
      items: known?.items ?? items - itemsThisRun,
      from,
      to: hasEnded ? (known?.to ?? now) : null,
    };
    this.#spans.set(type, span);
    const seconds = ((span.to ?? now) - span.from) / 1000;
    const itemsPerSecond = seconds > 0 ? (items - span.items) / seconds : 0;
    const isInFlight = state === 'running' && total !== null && itemsPerSecond > 0;
    const leftMs = isInFlight ? (Math.max(total - items, 0) / itemsPerSecond) * 1000 : null;
    return { itemsPerSecond, leftMs };
  }
}

/** Width when the terminal does not report one. */
const usualColumns = 80;

export interface ExtractionProgress {
  readonly show: (event: EmittedEvent) => void;
  /** Safe to call twice. */
  readonly end: () => void;
}

/**
 * Without `hasProgress` there will be no bars, and lines above them would never be drawn. With --json the result is then one
 * document, so events go to stderr.
 */
export function showProgress(session: CliSession, hasProgress = true): ExtractionProgress {
  if (session.out.isJson) return jsonProgress(session, hasProgress ? 'stdout' : 'stderr');
  return session.out.canDraw && hasProgress ? new BarProgress(session) : lineProgress(session);
}

function jsonProgress({ io, redactor }: CliSession, stream: 'stdout' | 'stderr'): ExtractionProgress {
  return {
    show: ({ name, payload }) => {
      const at = new Date(io.clock.now()).toISOString();
      const event = snakeCaseKeys({ event: name, at, ...payload });
      io[stream].write(`${JSON.stringify(redactor.value(event))}\n`);
    },
    end: () => undefined,
  };
}

/** Events that are logged above the bars; the bars show the rest. */
const loggedEvents =
  /:(page-failed|worker-died|rows-lost|types-changed|vault-migrated|setting-ignored|waiting|limits-\w+)$/;

/** Every few seconds is enough for a log. */
const progressEveryMs = 5_000;

function lineProgress({ out, redactor, io }: CliSession): ExtractionProgress {
  let nextProgressAt = io.clock.monotonic() + progressEveryMs;
  return {
    show: ({ name, payload }) => {
      if (name === 'extraction:progress') {
        if (io.clock.monotonic() < nextProgressAt) return;
        nextProgressAt = io.clock.monotonic() + progressEveryMs;
        const { types } = payload as unknown as ProgressFigures;
        const running = types.filter(({ state }) => state === 'running');
        if (running.length === 0) return;
        out.note(
          running
            .map(({ type, items, total }) => `${type} ${items}${total === null ? '' : ` of ${total}`}`)
            .join(', '),
        );
        return;
      }
      const text = lineOf(name, payload);
      if (text !== null) out.note(printable(redactor.text(text)));
    },
    end: () => undefined,
  };
}

/** The line for an event; null for events without one. */
function lineOf(name: string, payload: Readonly<Record<string, unknown>>): string | null {
  const { type, page, cause, error, state, items, itemsThisRun, worker, workersAlive, source, vault } =
    payload as Record<string, string>;
  switch (name) {
    case 'extraction:waiting':
      return waitText(payload as { why: string; waitMs: number | null });
    case 'extraction:started':
      return `${payload['isResumed'] === true ? 'Resuming' : 'Starting'}: ${source} into ${vault}`;
    case 'extraction:page-failed':
      return `${type} ${page} failed (${cause}): ${error}`;
    case 'extraction:worker-died':
      return `${worker} died: ${error}; ${workersAlive} running`;
    case 'extraction:setting-ignored':
      return `${payload['setting'] as string} has no effect: ${payload['reason'] as string}`;
    case 'extraction:rows-lost':
      return `Rows were removed from ${vault} (${(payload['types'] as string[]).join(', ')}): everything is read again`;
    case 'extraction:types-changed':
      return `The definition of ${(payload['types'] as string[]).join(', ')} has changed since the last extraction: extracting everything again`;
    case 'extraction:vault-migrated':
      return migratedText(vault ?? '');
    case 'extraction:versions-pruned':
      return `${payload['versions'] as number} old versions were pruned`;
    case 'extraction:prune-failed':
      return `Old versions could not be pruned: ${error}`;
    case 'extraction:type-finished':
      return `${type}: ${items} in the vault, ${itemsThisRun} read in this run, ${state}`;
    case 'extraction:limits-unshared':
      return `Rate limits are kept on this machine alone until Redis is back: ${error}`;
    case 'extraction:limits-shared':
      return 'Redis is back: rate limits are shared again.';
    default:
      return null;
  }
}

function waitText({ why, waitMs }: { readonly why: string; readonly waitMs: number | null }): string {
  return `Waiting${waitMs === null ? '' : ` ${formatWholeSeconds(waitMs)}`}: ${why}`;
}

/** One bar per type, and totals below. */
class BarProgress implements ExtractionProgress {
  readonly #bars: MultiBar;
  readonly #byType = new Map<string, SingleBar>();
  readonly #session: CliSession;
  readonly #paces: TypePaces;
  readonly #columns: number;
  readonly #footer: SingleBar[] = [];
  #layout: BarLayout | null = null;
  #isEnded = false;

  constructor(session: CliSession) {
    this.#session = session;
    this.#paces = new TypePaces(session.io.clock.monotonic());
    this.#columns = session.io.columns ?? usualColumns;
    this.#bars = new MultiBar({
      stream: session.io.stderr,
      hideCursor: true,
      barCompleteChar: '█',
      barIncompleteChar: '░',
      fps: 4,
      forceRedraw: true,
      linewrap: false,
    });
  }

  readonly show = ({ name, payload }: EmittedEvent): void => {
    if (name === 'extraction:progress') this.#draw(payload as unknown as ProgressFigures);
    if (loggedEvents.test(name))
      this.#log(printable(this.#session.redactor.text(lineOf(name, payload) ?? '')));
  };

  /** Prints a line above the bars; cli-progress draws it only while there is a bar. */
  #log(line: string): void {
    if (this.#layout === null) this.#session.out.note(line);
    else this.#bars.log(`${line}\n`);
  }

  /** A second stop would draw everything once more. */
  readonly end = (): void => {
    if (!this.#isEnded) this.#bars.stop();
    this.#isEnded = true;
  };

  #draw(figures: ProgressFigures): void {
    const longestName = Math.max(...figures.types.map(({ type }) => type.length));
    this.#layout ??= barLayout(this.#columns, longestName);
    const { format, barsize, facts } = this.#layout;
    const now = this.#session.io.clock.monotonic();
    for (const type of figures.types) {
      const shown = facts(type, this.#paces.of(type, now));
      const whole = Math.max(type.total ?? 1, 1);
      const bar = this.#byType.get(type.type) ?? this.#bars.create(whole, 0, shown, { format, barsize });
      this.#byType.set(type.type, bar);
      bar.setTotal(whole);
      // Without a total a bar cannot show the progress of a type.
      const done = type.total === null ? 0 : Math.min(type.items, whole);
      bar.update(type.state === 'completed' ? whole : done, shown);
    }
    this.#drawFooter(wrapParts(footerParts(figures), this.#columns));
  }

  #drawFooter(lines: readonly string[]): void {
    while (this.#footer.length < lines.length)
      this.#footer.push(this.#bars.create(1, 0, { text: '' }, { format: '{text}' }));
    for (const [index, line] of this.#footer.entries()) line.update(0, { text: lines[index] ?? '' });
  }
}

function footerParts({
  calls,
  rateLimitedCalls,
  rateLimiter,
  workersAlive,
  workers,
  itemsPerSecond,
  queuedPages,
}: ProgressFigures): readonly string[] {
  const { backoff_multiplier: multiplier, paused_until: pausedUntil } = rateLimiter;
  return [
    counted(calls, 'call'),
    `${itemsPerSecond.toFixed(1)} items/s`,
    `${rateLimitedCalls} × 429`,
    `multiplier ${multiplier.toFixed(2)}`,
    `workers ${workersAlive}/${workers}`,
    `queue ${queuedPages}`,
    ...(pausedUntil === null ? [] : [`paused until ${pausedUntil.slice(11, 19)}`]),
  ];
}

export function printEstimate({ out }: CliSession, estimate: Estimate): void {
  const { types, calls, callsThisRun, isAtLeast, minutes, probes } = estimate;
  if (out.isJson) {
    const counts = types.map(({ type, items, calls: needed, isAtLeast: isOpen, error }) =>
      snakeCaseKeys({
        type,
        items,
        calls: needed,
        isAtLeast: isOpen,
        ...(error === undefined ? {} : { error }),
      }),
    );
    const totals = snakeCaseKeys({ calls, isAtLeast, callsThisRun, minutes, probes });
    return out.json({ dry_run: true, ...(totals as object), types: counts });
  }
  const atLeast = (count: number, isOpen: boolean) => `${isOpen ? 'at least ' : ''}${count}`;
  out.list(types, '', [
    'type',
    ['items', ({ items }) => items ?? 'unknown'],
    ['calls', (one) => atLeast(one.calls, one.isAtLeast)],
  ]);
  out.line();
  for (const { type, error } of types)
    if (error !== undefined) out.line(`${type} could not be estimated: ${error}`);
  const time = `about ${formatWholeSeconds(minutes * 60_000)} at this rate limit`;
  const all = `It would take ${isAtLeast ? 'at least ' : ''}${counted(calls, 'call')}`;
  out.line(
    callsThisRun < calls
      ? `${all}; --max-calls ends the first run after ${callsThisRun}, ${time}.`
      : `${all}, ${time}.`,
  );
  out.note(`${counted(probes, 'call was', 'calls were')} made for the estimate; nothing was written.`);
}

export function printResult(session: CliSession, result: ExtractionSummary): void {
  const { out } = session;
  if (out.isJson) return out.jsonLine(session.redactor.value(resultJson(result)));
  const { types, wasComplete, endedBy } = result;
  if (wasComplete) {
    out.line(`Already up to date; no API calls made. ${result.vault}`);
    out.note('To extract everything again: headworks extract … --fresh');
    return;
  }
  out.table(
    ['TYPE', 'IN VAULT', 'OF', 'READ NOW', 'STATUS'],
    types.map(({ type, held, total, itemsThisRun, state }) => [
      type,
      String(held),
      total === null ? '–' : String(total),
      String(itemsThisRun),
      endedBy !== 'finished' && state !== 'completed' ? 'interrupted' : state,
    ]),
    (text, column) => (column === 4 ? out.style(text === 'completed' ? 'green' : 'yellow', text) : text),
  );
  out.line();
  out.line(endText(result));
}

function endText(result: ExtractionSummary): string {
  const { state, endedBy, calls, isResumed } = result;
  const facts = `${runText(result)}. ${result.vault}${isResumed ? `\n${sessionText(result)}` : ''}`;
  if (endedBy === 'interrupted') return `Stopped: ${facts}\nRun the same command to resume.`;
  if (endedBy === 'max-calls')
    return `Stopped after ${counted(calls, 'call')}, the maximum: ${facts}\nRun the same command to resume.`;
  if (state === 'completed') return `Complete: ${facts}`;
  return `Incomplete, something is missing: ${facts}\n${remedyText(result)}; "headworks vault verify" lists it.`;
}

function remedyText({ canRetry, hasBrokenLists }: ExtractionSummary): string {
  if (canRetry) return 'Request it again with --retry-failed';
  return hasBrokenLists
    ? 'A list could not be read to its end: check its pagination, then extract it again with --fresh'
    : 'All pages were fetched, but the source reports a larger total: extract it again with --fresh';
}

function runText({ calls, rateLimitedCalls, metrics, itemsPerSecond }: ExtractionSummary): string {
  const rateLimited = rateLimitedCalls === 0 ? '' : `, ${rateLimitedCalls} × 429`;
  return worked(metrics.total, calls, metrics.duration * 1000, itemsPerSecond) + rateLimited;
}

/** Totals of a session that took several runs. */
function sessionText({ totals }: ExtractionSummary): string {
  const { items, calls, activeMs, throughputItemsPerSecond } = totals;
  return `All runs of this session: ${worked(items, calls, activeMs, throughputItemsPerSecond)}.`;
}

function worked(items: number, calls: number, ms: number, itemsPerSecond: number | null): string {
  const speed = itemsPerSecond === null ? '' : `, ${itemsPerSecond.toFixed(1)} items/s`;
  return `${counted(items, 'item')}, ${counted(calls, 'call')}, ${formatDuration(ms)}${speed}`;
}

/** Names are those of founding document 001: `throughput_items_per_second` covers all runs of the session. */
function resultJson(result: ExtractionSummary): object {
  const { items, calls, errors, activeMs, throughputItemsPerSecond } = result.totals;
  return {
    event: 'extraction:result',
    session: result.session,
    vault: result.vault,
    state: result.state,
    ended_by: result.endedBy,
    is_resumed: result.isResumed,
    was_complete: result.wasComplete,
    calls: result.calls,
    rate_limited_calls: result.rateLimitedCalls,
    items_per_second: result.itemsPerSecond,
    throughput_items_per_second: throughputItemsPerSecond,
    session_totals: { items, calls, errors, active_seconds: activeMs / 1000 },
    types: snakeCaseKeys(result.types),
    metrics: result.metrics,
    rate_limiter: result.rateLimiter,
  };
}
