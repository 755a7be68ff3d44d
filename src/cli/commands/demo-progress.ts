// Progress of the demo's steps: bars on a terminal, lines elsewhere, JSON lines with --json.
import type { ExtractionRun } from '../../api/extraction.ts';
import type { SingleBar } from 'cli-progress';
import { MultiBar } from 'cli-progress';
import type { StepProgress, StepReporter } from '../../operations/demo/index.ts';
import { formatDuration, printable } from '../output.ts';
import type { CliSession } from '../session.ts';

/** Interval of progress lines in a log. */
const lineEveryMs = 2_000;

export interface DemoProgress extends StepReporter {
  /** Removes the bars. Safe to call twice. */
  close(): void;
}

export function demoProgress(session: CliSession): DemoProgress {
  if (session.out.isJson) return jsonProgress(session);
  return new TextProgress(session);
}

function jsonProgress({ out, io }: CliSession): DemoProgress {
  let step = '';
  const print = (event: string, facts: object): void =>
    out.jsonLine({ event, at: new Date(io.clock.now()).toISOString(), step, ...facts });
  const isDue = every(lineEveryMs, io.clock);
  return {
    begin: ({ name, title }) => {
      step = name;
      print('demo:step-started', { title });
    },
    show: ({ done, total, message }) => {
      if (isDue()) print('demo:progress', { done, total, message });
    },
    end: (summary) => print('demo:step-completed', { summary }),
    close: () => undefined,
  };
}

class TextProgress implements DemoProgress {
  readonly #session: CliSession;
  readonly #isDue: () => boolean;
  #bars: Bars | null = null;
  #startedAt = 0;
  #last = '';

  constructor(session: CliSession) {
    this.#session = session;
    this.#isDue = every(lineEveryMs, session.io.clock);
  }

  begin({ title }: { readonly title: string }): void {
    const { out, io } = this.#session;
    this.#startedAt = io.clock.monotonic();
    this.#last = '';
    out.line(out.style('bold', `${title} …`));
    if (out.canDraw) this.#bars = new Bars(this.#session);
  }

  show(progress: StepProgress): void {
    if (this.#bars) this.#bars.show(progress);
    else if (this.#isDue()) this.#line(progress);
  }

  end(summary: string): void {
    this.close();
    const { out, io } = this.#session;
    const took = formatDuration(io.clock.monotonic() - this.#startedAt);
    out.line(`  ${out.style('green', '✓')} ${printable(summary)} ${out.style('dim', `(${took})`)}`);
  }

  close(): void {
    this.#bars?.close();
    this.#bars = null;
  }

  #line({ done, total, message }: StepProgress): void {
    const counted = total === null || total === 0 ? '' : `${done} of ${total} `;
    const line = printable(`  ${counted}${message}`);
    if (line !== this.#last) this.#session.out.note(line);
    this.#last = line;
  }
}

/** Drawn while the step runs and removed at its end, when a summary line is printed. */
class Bars {
  readonly #multi: MultiBar;
  readonly #byName = new Map<string, SingleBar>();

  constructor({ io }: CliSession) {
    this.#multi = new MultiBar({
      stream: io.stderr,
      hideCursor: true,
      clearOnComplete: true,
      barCompleteChar: '█',
      barIncompleteChar: '░',
      barsize: 24,
      fps: 8,
      forceRedraw: true,
      linewrap: false,
      format: '  {name} {bar} {value}/{total} {message}',
    });
  }

  show({ done, total, message, run }: StepProgress): void {
    if (run) this.#showRun(run);
    else if (total !== null) this.#draw('', done, total, message);
  }

  close(): void {
    this.#multi.stop();
  }

  /** One bar per type, and the state of the rate limiter below. */
  #showRun({ types, calls, rate_limited_calls: rateLimitedCalls, multiplier }: ExtractionRun): void {
    if (types.length === 0) return;
    const longest = Math.max(...types.map(({ type }) => type.length));
    for (const { type, items, total, state } of types) {
      const whole = state === 'completed' ? items : (total ?? items + 1);
      this.#draw(type.padEnd(longest), items, whole, state);
    }
    const facts = `${calls} calls, ${rateLimitedCalls} × 429, rate divided by ${multiplier.toFixed(2)}`;
    const known = this.#byName.get('facts');
    if (known) known.update(0, { message: facts });
    else this.#byName.set('facts', this.#multi.create(1, 0, { message: facts }, { format: '  {message}' }));
  }

  #draw(name: string, done: number, total: number, message: string): void {
    const whole = Math.max(total, 1);
    const facts = { name, message: printable(message) };
    const bar = this.#byName.get(name) ?? this.#multi.create(whole, 0, facts);
    this.#byName.set(name, bar);
    bar.setTotal(whole);
    bar.update(Math.min(done, whole), facts);
  }
}

/** True at most once per interval. */
function every(ms: number, clock: CliSession['io']['clock']): () => boolean {
  let next = clock.monotonic() + ms;
  return () => {
    if (clock.monotonic() < next) return false;
    next = clock.monotonic() + ms;
    return true;
  };
}
