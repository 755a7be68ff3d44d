// An extraction while it runs: a bar per type on a terminal, a line per event elsewhere, JSON lines with --json.
import type { SingleBar } from 'cli-progress';
import { MultiBar } from 'cli-progress';
import type { EmittedEvent } from '../../core/index.ts';
import type { ProgressFigures } from '../../extraction/events.ts';
import { humanDuration } from '../human-time.ts';
import type { CliSession } from '../session.ts';
import { printable } from '../table.ts';

export interface Screen {
  readonly show: (event: EmittedEvent) => void;
  /** Safe to call twice. */
  readonly end: () => void;
}

export function startScreen(session: CliSession): Screen {
  if (session.out.isJson) return jsonScreen(session);
  return session.out.canDraw ? new BarScreen(session) : lineScreen(session);
}

function jsonScreen({ out, redactor }: CliSession): Screen {
  return {
    show: ({ name, at, payload }) =>
      out.jsonLine(redactor.value({ event: name, at: new Date(at).toISOString(), ...snakeCased(payload) })),
    end: () => undefined,
  };
}

/** Names as in the document; what is inside snapshots has them already. */
function snakeCased(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const name = (key: string) => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [name(key), inner]));
}

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
  const { type, page, cause, error, status, items, worker, workersAlive, source, vault } = payload as Record<
    string,
    string
  >;
  switch (name) {
    case 'extraction:started':
      return `${payload['isResumed'] === true ? 'Going on' : 'Beginning'}: ${source} into ${vault}`;
    case 'extraction:page-failed':
      return `${type} ${page} was given up (${cause}): ${error}`;
    case 'extraction:worker-died':
      return `${worker} died: ${error}; ${workersAlive} go on`;
    case 'extraction:type-finished':
      return `${type}: ${items} items, ${status}`;
    default:
      return null;
  }
}

/** One bar per type, and a line below with what concerns all. */
class BarScreen implements Screen {
  readonly #bars: MultiBar;
  readonly #byType = new Map<string, SingleBar>();
  readonly #session: CliSession;
  readonly #startedAt: number;
  readonly #firstItems = new Map<string, number>();
  #footer: SingleBar | null = null;
  #isEnded = false;

  constructor(session: CliSession) {
    this.#session = session;
    this.#startedAt = session.io.clock.monotonic();
    this.#bars = new MultiBar({
      stream: session.io.stderr,
      hideCursor: true,
      barsize: 24,
      barCompleteChar: '█',
      barIncompleteChar: '░',
      format: '{type} {bar} {count} {rate} {eta_text} {status}',
      fps: 4,
      forceRedraw: true,
      linewrap: false,
    });
  }

  readonly show = ({ name, payload }: EmittedEvent): void => {
    if (name === 'extraction:progress') this.#draw(payload as unknown as ProgressFigures);
    if (name === 'extraction:page-failed' || name === 'extraction:worker-died')
      this.#bars.log(`${printable(this.#session.redactor.text(lineOf(name, payload) ?? ''))}\n`);
  };

  /** A second stop would draw everything once more. */
  readonly end = (): void => {
    if (!this.#isEnded) this.#bars.stop();
    this.#isEnded = true;
  };

  #draw(figures: ProgressFigures): void {
    const width = Math.max(...figures.types.map(({ type }) => type.length));
    const seconds = (this.#session.io.clock.monotonic() - this.#startedAt) / 1000;
    for (const { type, items, total, status } of figures.types) {
      const first = this.#firstItems.get(type) ?? items;
      this.#firstItems.set(type, first);
      const rate = seconds > 0 ? (items - first) / seconds : 0;
      const left = total === null ? null : total - items;
      const facts = {
        type: type.padEnd(width),
        count: `${items}${total === null ? '' : `/${total}`}`.padStart(13),
        rate: `${rate.toFixed(1)}/s`.padStart(9),
        eta_text: (status === 'running' && left !== null && rate > 0
          ? `ETA ${humanDuration((left / rate) * 1000)}`
          : ''
        ).padEnd(14),
        status,
      };
      const whole = Math.max(total ?? items, 1);
      const bar = this.#byType.get(type) ?? this.#bars.create(whole, 0, facts);
      this.#byType.set(type, bar);
      bar.setTotal(whole);
      bar.update(status === 'completed' ? whole : Math.min(items, whole), facts);
    }
    this.#footer ??= this.#bars.create(1, 0, { text: '' }, { format: '{text}' });
    this.#footer.update(0, { text: footerText(figures) });
  }
}

function footerText({
  calls,
  rateLimiter,
  workersAlive,
  workers,
  itemsPerSecond,
  queuedPages,
}: ProgressFigures): string {
  const {
    total_429_count: refusals,
    backoff_multiplier: multiplier,
    paused_until: pausedUntil,
  } = rateLimiter;
  return [
    `${calls} calls`,
    `${itemsPerSecond.toFixed(1)} items/s`,
    `${refusals} × 429`,
    `multiplier ${multiplier.toFixed(2)}`,
    `workers ${workersAlive}/${workers}`,
    `queue ${queuedPages}`,
    ...(pausedUntil === null ? [] : [`paused until ${pausedUntil.slice(11, 19)}`]),
  ].join(' · ');
}
