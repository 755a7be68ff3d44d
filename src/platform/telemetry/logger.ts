// Log lines as JSON or readable text, and the listener that writes them from events.
import { pino } from 'pino';
import type { EmittedEvent, EventListener, Log, LogFields, LogLevel, Redactor } from '../../core/index.ts';
import { withoutContent } from '../../core/index.ts';

/** Where finished lines go. */
export interface LogDestination {
  write(line: string): void;
}

export interface LoggerOptions {
  /** `debug` also shows content and stacks. */
  readonly level: LogLevel | 'silent';
  readonly format: 'json' | 'pretty';
  readonly redactor: Redactor;
  /** Default: standard error, written at once, so that the last line before a crash is there. */
  readonly destination?: LogDestination;
  /** Asked for every line: fields that say what it belongs to. */
  readonly context?: () => LogFields | null;
  /** Colour in pretty lines. Default: no. */
  readonly colour?: boolean;
}

/** Redacted twice: field by field, where names tell what is secret, and once more as the line that leaves. */
export function createLogger(options: LoggerOptions): Log {
  const { redactor, level, format, colour = false, context = () => null } = options;
  const out: LogDestination = options.destination ?? standardError();
  const target = format === 'json' ? out : { write: (line: string) => out.write(prettyLine(line, colour)) };
  const root = pino(
    {
      level,
      base: null,
      mixin: () => ({ ...context() }),
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Shapes were masked field by field; in the finished line they would run over its quotes.
      hooks: { streamWrite: (line) => redactor.known(line) },
      // Fields arrive plain; pino's own treatment of `err` would add stacks back.
      serializers: { err: (same: unknown) => same },
    },
    target,
  );
  const shown = level === 'silent' ? 'error' : level;
  return new PinoLog(root, shown, {
    fields: (fields) => redactor.value(fields, { stacks: shown === 'debug' }),
    message: (message) => redactor.text(message),
  });
}

function standardError(): LogDestination {
  const stream = pino.destination({ dest: 2, sync: true });
  // A full disk or a reader that left ends the log, not the process.
  stream.on('error', () => undefined);
  return stream;
}

interface Cleaner {
  readonly fields: (fields: LogFields) => LogFields;
  readonly message: (message: string) => string;
}

class PinoLog implements Log {
  readonly level: LogLevel;
  readonly #pino: pino.Logger;
  readonly #clean: Cleaner;

  constructor(logger: pino.Logger, level: LogLevel, clean: Cleaner) {
    this.#pino = logger;
    this.level = level;
    this.#clean = clean;
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
    return new PinoLog(this.#pino.child(own(this.#clean.fields(fields))), this.level, this.#clean);
  }

  #write(level: LogLevel, message: string, fields: LogFields | undefined): void {
    if (!this.#pino.isLevelEnabled(level)) return;
    try {
      this.#pino[level](fields ? own(this.#clean.fields(fields)) : {}, '%s', this.#clean.message(message));
    } catch {
      // A full disk or a closed pipe must not take the caller down; there is nowhere left to say so.
    }
  }
}

const taken = new Set(['level', 'time', 'msg']);

/** Fields that would hide the line's own are renamed: JSON readers keep only the last of two. */
function own(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [taken.has(key) ? `${key}_` : key, value]),
  );
}

interface Listenable {
  listen(listener: EventListener): () => void;
}

/** Content fields appear only when the log is at debug level. The returned function stops it. */
export function logEvents(events: Listenable, log: Log): () => void {
  const isDebug = log.level === 'debug';
  const lowest = severity[log.level];
  return events.listen((emitted: EmittedEvent) => {
    if (severity[emitted.spec.level] < lowest) return;
    const fields = isDebug ? emitted.payload : withoutContent(emitted);
    log[emitted.spec.level](emitted.spec.message, { event: emitted.name, ...fields });
  });
}

const severity: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

const colours: Readonly<Record<string, string>> = {
  debug: '\u001b[90m',
  info: '\u001b[36m',
  warn: '\u001b[33m',
  error: '\u001b[31m',
};
const plain = '\u001b[0m';

/** From a JSON line to a readable one. What is no JSON (any more) passes as it is. */
export function prettyLine(line: string, colour: boolean): string {
  const { time, level, msg, ...fields } = parse(line) ?? { msg: line.trimEnd() };
  const label = typeof level === 'string' ? level.toUpperCase().padEnd(5) : '';
  const shownLevel = colour && typeof level === 'string' ? `${colours[level] ?? ''}${label}${plain}` : label;
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

/** Control characters could forge lines or drive the terminal. */
function visible(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (character) => JSON.stringify(character).slice(1, -1));
}
