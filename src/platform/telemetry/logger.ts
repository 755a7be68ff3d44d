// Log lines as JSON or readable text, and the listener that writes them from events.
import type { DestinationStream } from 'pino';
import { pino } from 'pino';
import type { EmittedEvent, EventSource, Log, LogFields, LogLevel, Redactor } from '../../core/index.ts';
import { withoutContent } from '../../core/index.ts';

export interface LoggerOptions {
  /** `debug` also shows content and stacks. */
  readonly level: LogLevel | 'silent';
  readonly format: 'json' | 'pretty';
  readonly redactor: Redactor;
  /** Default: standard error, written synchronously, so that the last line before a crash is there. */
  readonly destination?: DestinationStream;
  /** Called for every line: fields to add, such as the ids of the current span. */
  readonly context?: () => LogFields | null;
  /** Colors in pretty lines. Default: false. */
  readonly isColored?: boolean;
}

/** Redacts twice: field by field, because names mark secrets, and the finished line. */
export function createLogger(options: LoggerOptions): Log {
  const { redactor, level, format, isColored = false, context = () => null } = options;
  const out = options.destination ?? standardError();
  const target =
    format === 'json' ? out : { write: (line: string) => out.write(prettyLine(line, isColored)) };
  const root = pino(
    {
      level,
      base: null,
      mixin: () => ({ ...context() }),
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Only known secrets: patterns were masked field by field, and would match across quotes here.
      hooks: { streamWrite: (line) => redactor.known(line) },
      // pino's own serializer of `err` would add stacks back.
      serializers: { err: (same: unknown) => same },
    },
    target,
  );
  const shown = level === 'silent' ? 'error' : level;
  return new PinoLog(root, shown, redactor);
}

function standardError(): DestinationStream {
  const stream = pino.destination({ dest: 2, sync: true });
  // A full disk or a closed pipe ends the log, not the process.
  stream.on('error', () => undefined);
  return stream;
}

class PinoLog implements Log {
  readonly level: LogLevel;
  readonly #pino: pino.Logger;
  readonly #redactor: Redactor;

  constructor(logger: pino.Logger, level: LogLevel, redactor: Redactor) {
    this.#pino = logger;
    this.level = level;
    this.#redactor = redactor;
  }

  debug(message: string, fields?: LogFields): void {
    this.#write('debug', message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#write('info', message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#write('warn', message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#write('error', message, fields);
  }

  with(fields: LogFields): Log {
    return new PinoLog(this.#pino.child(this.#clean(fields)), this.level, this.#redactor);
  }

  #write(level: LogLevel, message: string, fields: LogFields | undefined): void {
    if (!this.#pino.isLevelEnabled(level)) return;
    try {
      this.#pino[level](fields ? this.#clean(fields) : {}, '%s', this.#redactor.text(message));
    } catch {
      // A full disk or a closed pipe must not fail the caller, and cannot be logged.
    }
  }

  /** Fields named like the line's own are renamed: JSON readers keep only the last of two. */
  #clean(fields: LogFields): Record<string, unknown> {
    const clean = this.#redactor.value(fields, { stacks: this.level === 'debug' });
    return Object.fromEntries(
      Object.entries(clean).map(([key, value]) => [reserved.has(key) ? `${key}_` : key, value]),
    );
  }
}

const reserved = new Set(['level', 'time', 'msg']);

/** Content fields appear only when the log is at debug level. The returned function stops it. */
export function logEvents(events: Pick<EventSource, 'listen'>, log: Log): () => void {
  const isDebug = log.level === 'debug';
  const lowest = severity[log.level];
  const write = (emitted: EmittedEvent): void => {
    const fields = isDebug ? emitted.payload : withoutContent(emitted);
    log[emitted.spec.level](emitted.spec.message, { event: emitted.name, ...fields });
  };
  return events.listen(write, (_name, { level }) => severity[level] >= lowest);
}

const severity: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

const colors: Readonly<Record<string, string>> = {
  debug: '\u001b[90m',
  info: '\u001b[36m',
  warn: '\u001b[33m',
  error: '\u001b[31m',
};
const resetColor = '\u001b[0m';

/** A readable line from a JSON line; any other line is kept. */
export function prettyLine(line: string, isColored: boolean): string {
  const { time, level, msg, ...fields } = parse(line) ?? { msg: line.trimEnd() };
  const label = typeof level === 'string' ? level.toUpperCase().padEnd(5) : '';
  const shownLevel =
    isColored && typeof level === 'string' ? `${colors[level] ?? ''}${label}${resetColor}` : label;
  const shownTime = typeof time === 'string' ? time.slice(11, 23) : '';
  const parts = [shownTime, shownLevel, visible(String(msg)), ...Object.entries(fields).map(show)];
  return `${parts.filter((part) => part !== '').join(' ')}\n`;
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function show([key, value]: readonly [string, unknown]): string {
  const text = typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  return `${visible(key)}=${visible(text)}`;
}

/** Escapes control characters, which could forge lines or control the terminal. */
function visible(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are escaped here
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (character) => JSON.stringify(character).slice(1, -1));
}
