// Options as data: each domain declares its own in `options.ts`; config resolves them all, docs and help print them.
import { parseCron } from './jobs.ts';

/** The value of an option, or why it is not valid. */
export type Parsed<T> = { readonly value: T } | { readonly problem: string };

export interface OptionSpec<T> {
  readonly describe: string;
  /** Environment variables, most preferred first. */
  readonly env: readonly string[];
  /** The command-line flag without dashes; absent where a flag would make no sense (secrets). */
  readonly flag?: string;
  readonly default: T;
  /** The default in help and docs where the value alone is unclear (`min(cores, 8)`). */
  readonly defaultText?: string;
  /** What is allowed, in words: `1 to 50`, `one of sql, age, off`. */
  readonly allowed: string;
  /** Never printed, logged or stored. */
  readonly secret: boolean;
  /** A warning when it is set, for options that are accepted and have no effect. */
  readonly notice?: string;
  /** A path: made absolute, from the file's folder when it came from a file, else from the working directory. */
  readonly isPath?: true;
  /** Parses text (flag, environment, a scalar of the file as written) or an array or mapping of the file. */
  readonly parse: (raw: unknown) => Parsed<T>;
}

// oxlint-disable-next-line typescript/no-explicit-any -- a set holds options of any type; each is typed where it is used
export type OptionFields = Readonly<Record<string, OptionSpec<any>>>;

export type OptionValues<Fields extends OptionFields> = {
  readonly [Name in keyof Fields]: Fields[Name] extends OptionSpec<infer T> ? T : never;
};

/** One section of the configuration: `server.port` is the field `port` of the section `server`. */
export interface OptionSection<Fields extends OptionFields = OptionFields> {
  readonly section: string;
  readonly describe: string;
  readonly fields: Fields;
  /** Rules between options; each problem names the field it belongs to. */
  readonly check?: (
    values: OptionValues<Fields>,
  ) => readonly { readonly field: string; readonly problem: string }[];
}

export function defineOptions<Fields extends OptionFields>(
  section: OptionSection<Fields>,
): OptionSection<Fields> {
  return section;
}

interface Common<T> {
  readonly describe: string;
  readonly env: string | readonly string[];
  readonly flag?: string;
  readonly default: T;
  readonly defaultText?: string;
  readonly secret?: boolean;
  readonly notice?: string;
}

function build<T>(
  { env, ...common }: Common<T>,
  allowed: string,
  parse: (raw: unknown) => Parsed<T>,
): OptionSpec<T> {
  return { secret: false, ...common, env: [env].flat(), allowed, parse };
}

const invalid = (allowed: string): Parsed<never> => ({ problem: `must be ${allowed}` });

/** A number. A string must be a decimal number: "10s", "1e3" and "" are rejected. */
export function numberOption(
  common: Common<number> & { readonly min: number; readonly max: number; readonly integer?: boolean },
): OptionSpec<number> {
  const kind = common.integer === false ? 'a number' : 'a whole number';
  const allowed = `${kind} from ${common.min} to ${common.max}`;
  return build(common, allowed, (raw) => {
    const value = typeof raw === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(raw) ? Number(raw) : raw;
    if (typeof value !== 'number' || !Number.isFinite(value)) return invalid(allowed);
    if (common.integer !== false && !Number.isInteger(value)) return invalid(allowed);
    return value < common.min || value > common.max ? invalid(allowed) : { value };
  });
}

const trueWords: readonly unknown[] = [true, 'true', '1', 'yes', 'on'];
const falseWords: readonly unknown[] = [false, 'false', '0', 'no', 'off'];

export function booleanOption(common: Common<boolean>): OptionSpec<boolean> {
  const allowed = 'true or false';
  return build(common, allowed, (raw) => {
    const word = typeof raw === 'string' ? raw.trim().toLowerCase() : raw;
    if (trueWords.includes(word)) return { value: true };
    return falseWords.includes(word) ? { value: false } : invalid(allowed);
  });
}

export function choiceOption<const Choice extends string>(
  common: Common<NoInfer<Choice>> & { readonly choices: readonly Choice[] },
): OptionSpec<Choice> {
  const allowed = `one of ${common.choices.join(', ')}`;
  return build<Choice>(common, allowed, (raw) => {
    const text = typeof raw === 'string' ? raw.trim() : raw;
    const value = common.choices.find((choice) => choice === text);
    return value === undefined ? invalid(allowed) : { value };
  });
}

/** Text without surrounding white space; empty text is rejected. `default: null` means not set. */
export function textOption<Default extends string | null>(
  common: Common<Default> & { readonly pattern?: RegExp; readonly allowed?: string },
): OptionSpec<string | Default> {
  const allowed = common.allowed ?? 'text that is not empty';
  return build<string | Default>(common, allowed, (raw) => {
    const value = typeof raw === 'string' ? raw.trim() : '';
    if (value === '') return invalid(allowed);
    return common.pattern && !common.pattern.test(value) ? invalid(allowed) : { value };
  });
}

/** A file or folder; config makes it absolute. */
export function pathOption(common: Common<string>): OptionSpec<string> {
  return { ...textOption({ ...common, allowed: 'a path' }), isPath: true };
}

/** A URL with one of these schemes (`https`); credentials in it must be percent-encoded. */
export function urlOption<Default extends string | null>(
  common: Common<Default> & { readonly schemes: readonly string[] },
): OptionSpec<string | Default> {
  const starts = common.schemes.map((scheme) => `${scheme}://`).join(' or ');
  const allowed = `a URL that starts with ${starts}, with special characters in user and password percent-encoded`;
  return build<string | Default>(common, allowed, (raw) => {
    const value = typeof raw === 'string' ? raw.trim() : '';
    const hasScheme = common.schemes.some((scheme) => value.toLowerCase().startsWith(`${scheme}://`));
    // A second @ is part of a password that is not encoded: half of it would be parsed as the host, and shown.
    const isUnambiguous = value.indexOf('@') === value.lastIndexOf('@');
    return hasScheme && isUnambiguous && URL.canParse(value) ? { value } : invalid(allowed);
  });
}

/** A schedule: a cron expression as `parseCron` accepts it. */
export function cronOption(common: Common<string>): OptionSpec<string> {
  const allowed = 'a cron expression of five fields: minute, hour, day, month, weekday (UTC)';
  return build<string>(common, allowed, (raw) => {
    if (typeof raw !== 'string') return invalid(allowed);
    try {
      parseCron(raw);
      return { value: raw.trim() };
    } catch {
      return invalid(allowed);
    }
  });
}

/** A list: a YAML list, or text separated by commas. */
export function listOption(
  common: Common<readonly string[]> & { readonly pattern?: RegExp; readonly allowed?: string },
): OptionSpec<readonly string[]> {
  const allowed = common.allowed ?? 'a list of names, separated by commas';
  return build<readonly string[]>(common, allowed, (raw) => {
    const parts = typeof raw === 'string' ? raw.split(',').map((part) => part.trim()) : raw;
    const isItem = (part: unknown): part is string =>
      typeof part === 'string' && part !== '' && (common.pattern?.test(part) ?? true);
    return Array.isArray(parts) && parts.every(isItem) ? { value: parts } : invalid(allowed);
  });
}

/** The flag on the command line: an option that is on by default can only be turned off (`no-adaptive`). */
export function flagName({ flag, default: byDefault }: OptionSpec<unknown>): string | undefined {
  return flag !== undefined && byDefault === true ? `no-${flag}` : flag;
}

/** The values of a section: those given, which the caller has checked, and the defaults of the rest. */
export function withDefaults<Fields extends OptionFields>(
  { fields }: OptionSection<Fields>,
  given: Partial<OptionValues<Fields>> = {},
): OptionValues<Fields> {
  const values = Object.entries(fields).map(([name, spec]): [string, unknown] => [
    name,
    given[name] ?? spec.default,
  ]);
  return Object.fromEntries(values) as OptionValues<Fields>;
}
