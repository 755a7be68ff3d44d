// Log lines through pino: JSON for machines, one readable line for people. Everything is redacted on its way out.
import { pino } from 'pino';
import type { Log, LogFields, LogLevel, Redactor } from '../../core/index.ts';
import { prettyLine } from './pretty-line.ts';

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
