// An extraction while it runs: a bar per type on a terminal, a line per event elsewhere, JSON lines with --json.
import type { SingleBar } from 'cli-progress';
import { MultiBar } from 'cli-progress';
import type { EmittedEvent } from '../../core/index.ts';
import type { ProgressFigures } from '../../extraction/events.ts';
import { counted } from '../counted.ts';
import { humanDuration } from '../human-time.ts';
import type { CliSession } from '../session.ts';
import { snakeCaseKeys } from '../../core/index.ts';
import { printable } from '../table.ts';
import { barLayout, wrapParts, type BarLayout } from './bar-layout.ts';
import { TypePaces } from './type-pace.ts';
import { updatedText } from './vault-session.ts';

/** Of a terminal that does not say. */
const usualColumns = 80;

export interface Screen {
  readonly show: (event: EmittedEvent) => void;
  /** Safe to call twice. */
  readonly end: () => void;
}

/** Without `hasProgress` there will be no bars, and lines above them would never be drawn. */
export function startScreen(session: CliSession, hasProgress = true): Screen {
  if (session.out.isJson) return jsonScreen(session);
  return session.out.canDraw && hasProgress ? new BarScreen(session) : lineScreen(session);
}

function jsonScreen({ out, redactor }: CliSession): Screen {
  return {
    show: ({ name, at, payload }) =>
      out.jsonLine(
        redactor.value(snakeCaseKeys({ event: name, at: new Date(at).toISOString(), ...payload })),
      ),
    end: () => undefined,
  };
}

/** Above bars, which show the rest. */
const worthALine =
  /:(page-failed|worker-died|rows-lost|types-redefined|vault-migrated|setting-ignored|waiting|limits-\w+)$/;

/** Every few seconds is enough for a log. */
const progressEveryMs = 5_000;

function lineScreen({ out, redactor, io }: CliSession): Screen {
  let nextProgressAt = io.clock.monotonic() + progressEveryMs;
  return {
    show: ({ name, payload }) => {
      if (name === 'extraction:progress') {
        if (io.clock.monotonic() < nextProgressAt) return;
        nextProgressAt = io.clock.monotonic() + progressEveryMs;
        const { types } = payload as unknown as ProgressFigures;
        const under = types.filter(({ status }) => status === 'running');
        if (under.length === 0) return;
        out.note(
          under
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

/** What a person wants to know of an event; null for the rest. */
function lineOf(name: string, payload: Readonly<Record<string, unknown>>): string | null {
  const { type, page, cause, error, status, items, itemsThisRun, worker, workersAlive, source, vault } =
    payload as Record<string, string>;
  switch (name) {
    case 'extraction:waiting':
      return waitText(payload as { why: string; waitMs: number | null });
    case 'extraction:started':
      return `${payload['isResumed'] === true ? 'Going on' : 'Beginning'}: ${source} into ${vault}`;
    case 'extraction:page-failed':
      return `${type} ${page} was given up (${cause}): ${error}`;
    case 'extraction:worker-died':
      return `${worker} died: ${error}; ${workersAlive} go on`;
    case 'extraction:setting-ignored':
      return `${payload['setting'] as string} has no effect: ${payload['reason'] as string}`;
    case 'extraction:rows-lost':
      return `Rows were removed from ${vault} (${(payload['types'] as string[]).join(', ')}): everything is read again`;
    case 'extraction:types-redefined':
      return `The definition of ${(payload['types'] as string[]).join(', ')} has changed since the last extraction: everything is read anew`;
    case 'extraction:vault-migrated':
      return updatedText(vault ?? '');
    case 'extraction:versions-pruned':
      return `${payload['versions'] as number} old versions were pruned`;
    case 'extraction:prune-failed':
      return `Old versions could not be pruned: ${error}`;
    case 'extraction:type-finished':
      return `${type}: ${items} in the vault, ${itemsThisRun} read in this run, ${status}`;
    case 'extraction:limits-unshared':
      return `Rate limits are kept on this machine alone until Redis is back: ${error}`;
    case 'extraction:limits-shared':
      return 'Redis is back: rate limits are shared again.';
    default:
      return null;
  }
}

function waitText({ why, waitMs }: { readonly why: string; readonly waitMs: number | null }): string {
  return `Waiting${waitMs === null ? '' : ` ${humanDuration(waitMs)}`}: ${why}`;
}

/** One bar per type, and below what concerns all. */
class BarScreen implements Screen {
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
    if (worthALine.test(name))
      this.#tell(printable(this.#session.redactor.text(lineOf(name, payload) ?? '')));
  };

  /** Above the bars; they draw it only once there is one of them. */
  #tell(line: string): void {
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
      // How far a type is of which nobody knows the total, no bar can show before its end.
      const done = type.total === null ? 0 : Math.min(type.items, whole);
      bar.update(type.status === 'completed' ? whole : done, shown);
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
