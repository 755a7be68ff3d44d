// Shows how far something is: a bar on a terminal, plain lines elsewhere, nothing with --json.
import { Presets, SingleBar } from 'cli-progress';
import type { CliSession } from './session.ts';
import { printable } from './table.ts';

export interface ProgressStep {
  readonly done: number;
  /** Not known yet: `null`. */
  readonly total: number | null;
  readonly message: string;
}

export interface Progress {
  show(step: ProgressStep): void;
  end(): void;
}

/** `title` says what is under way. */
export function startProgress(session: CliSession, title: string): Progress {
  return session.out.canDraw ? new Bar(session, title) : new Lines(session, title);
}

class Bar implements Progress {
  readonly #bar: SingleBar;

  constructor({ io }: CliSession, title: string) {
    const format = `${title} {bar} {value}/{total} {message}`;
    this.#bar = new SingleBar(
      { format, stream: io.stderr, hideCursor: true, barsize: 30 },
      Presets.shades_classic,
    );
    this.#bar.start(1, 0, { message: '' });
  }

  show({ done, total, message }: ProgressStep): void {
    this.#bar.setTotal(Math.max(total ?? done + 1, 1));
    this.#bar.update(done, { message: printable(message) });
  }

  end(): void {
    this.#bar.stop();
  }
}

class Lines implements Progress {
  readonly #session: CliSession;
  readonly #title: string;
  #last = '';

  constructor(session: CliSession, title: string) {
    this.#session = session;
    this.#title = title;
  }

  show({ done, total, message }: ProgressStep): void {
    const line = printable(
      `${this.#title}: ${done}${total === null ? '' : ` of ${total}`} ${message}`.trimEnd(),
    );
    if (line !== this.#last) this.#session.out.note(line);
    this.#last = line;
  }

  end(): void {
    this.#last = '';
  }
}
