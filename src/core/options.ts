// Options as data: each domain declares its own in `options.ts`; config resolves them all, docs and help print them.
import { parseCron } from './cron.ts';
import { CoreError } from './errors.ts';

/** What reading one raw value gives: the value, or why not. */
export type Parsed<T> = { readonly value: T } | { readonly problem: string };

export interface OptionSpec<T> {
  readonly describe: string;
  /** Environment variables, most preferred first. */
  readonly env: readonly string[];
  /** The command-line flag without dashes; absent where a flag would make no sense (secrets). */
  readonly flag?: string;
  readonly default: T;
  /** How the default reads in help and docs when the value alone does not tell (`min(cores, 8)`). */
  readonly defaultText?: string;
  /** What is allowed, in words: `1 to 50`, `one of sql, age, off`. */
  readonly allowed: string;
  /** Never printed, logged or stored. */
  readonly secret: boolean;
  /** Said as a warning when somebody sets it, for options that are accepted and do nothing. */
  readonly notice?: string;
  /** A path: made absolute, from the file's folder when it came from a file, else from the working directory. */
  readonly isPath?: true;
  /** Reads text (flag, environment, a scalar of the file as it is written) or a list or mapping of the file. */
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

function build<T>(common: Common<T>, allowed: string, parse: (raw: unknown) => Parsed<T>): OptionSpec<T> {
  return {
    describe: common.describe,
    env: typeof common.env === 'string' ? [common.env] : common.env,
    ...(common.flag === undefined ? {} : { flag: common.flag }),
    default: common.default,
    ...(common.defaultText === undefined ? {} : { defaultText: common.defaultText }),
    allowed,
    secret: common.secret ?? false,
    ...(common.notice === undefined ? {} : { notice: common.notice }),
    parse,
  };
}

const no = (allowed: string): Parsed<never> => ({ problem: `must be ${allowed}` });

/** A number. Strings must be nothing but a decimal number: "10s", "1e3" and "" are refused. */
export function numberOption(
  common: Common<number> & { readonly min: number; readonly max: number; readonly integer?: boolean },
): OptionSpec<number> {
  const kind = common.integer === false ? 'a number' : 'a whole number';
  const allowed = `${kind} from ${common.min} to ${common.max}`;
  return build(common, allowed, (raw) => {
    const value = typeof raw === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(raw) ? Number(raw) : raw;
    if (typeof value !== 'number' || !Number.isFinite(value)) return no(allowed);
    if (common.integer !== false && !Number.isInteger(value)) return no(allowed);
    return value < common.min || value > common.max ? no(allowed) : { value };
  });
}

export function booleanOption(common: Common<boolean>): OptionSpec<boolean> {
  const allowed = 'true or false';
  const words = new Map<unknown, boolean>([
    ['true', true],
    ['1', true],
    ['yes', true],
    ['on', true],
    ['false', false],
    ['0', false],
    ['no', false],
    ['off', false],
  ]);
  return build(common, allowed, (raw) => {
    const value = typeof raw === 'string' ? words.get(raw.trim().toLowerCase()) : raw;
    return typeof value === 'boolean' ? { value } : no(allowed);
  });
}

export function choiceOption<const Choice extends string>(
  common: Common<NoInfer<Choice>> & { readonly choices: readonly Choice[] },
): OptionSpec<Choice> {
  const allowed = `one of ${common.choices.join(', ')}`;
  return build<Choice>(common, allowed, (raw) => {
    const text = typeof raw === 'string' ? raw.trim() : raw;
    const value = common.choices.find((choice) => choice === text);
    return value === undefined ? no(allowed) : { value };
  });
}

/**
 * Text, without white space around it; `null` when not set is spelled by `default: null`. Empty text counts as not
 * allowed.
 */
export function textOption<Default extends string | null>(
  common: Common<Default> & { readonly pattern?: RegExp; readonly allowed?: string },
): OptionSpec<string | Default> {
  const allowed = common.allowed ?? 'text that is not empty';
  return build<string | Default>(common, allowed, (raw) => {
    const value = typeof raw === 'string' ? raw.trim() : '';
    if (value === '') return no(allowed);
    return common.pattern && !common.pattern.test(value) ? no(allowed) : { value };
  });
}

/** A file or folder; config makes it absolute. */
export function pathOption(common: Common<string>): OptionSpec<string> {
  return { ...textOption({ ...common, allowed: 'a path' }), isPath: true };
}

/** A URL with one of these schemes (`https`); credentials in it must be percent-encoded to be read at all. */
export function urlOption<Default extends string | null>(
  common: Common<Default> & { readonly schemes: readonly string[] },
): OptionSpec<string | Default> {
  const starts = common.schemes.map((scheme) => `${scheme}://`).join(' or ');
  const allowed = `a URL that starts with ${starts}, special characters in user and password written as %XX`;
  return build<string | Default>(common, allowed, (raw) => {
    const value = typeof raw === 'string' ? raw.trim() : '';
    const hasScheme = common.schemes.some((scheme) => value.toLowerCase().startsWith(`${scheme}://`));
    // A second @ is part of a password that nobody encoded: half of it would be taken for the host, and shown.
    const isClear = value.indexOf('@') === value.lastIndexOf('@');
    return hasScheme && isClear && URL.canParse(value) ? { value } : no(allowed);
  });
}

/** When something runs: a cron expression as `parseCron` reads it. */
export function cronOption(common: Common<string>): OptionSpec<string> {
  const allowed = 'a cron expression of five fields: minute, hour, day, month, weekday (UTC)';
  return build<string>(common, allowed, (raw) => {
    if (typeof raw !== 'string') return no(allowed);
    try {
      parseCron(raw);
      return { value: raw.trim() };
    } catch {
      return no(allowed);
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
    if (!Array.isArray(parts)) return no(allowed);
    const items: string[] = [];
    for (const part of parts as unknown[]) {
      if (typeof part !== 'string' || part === '' || (common.pattern && !common.pattern.test(part)))
        return no(allowed);
      items.push(part);
    }
    return { value: items };
  });
}

/** As it stands on the command line: what is on unless told otherwise can only be turned off (`no-adaptive`). */
export function flagName({ flag, default: byDefault }: OptionSpec<unknown>): string | undefined {
  return flag !== undefined && byDefault === true ? `no-${flag}` : flag;
}

/**
 * The values of a section for a program: those given, checked, and the defaults of the rest. Fails with CONFIG_INVALID.
 */
export function optionValues<Fields extends OptionFields>(
  { section, fields }: OptionSection<Fields>,
  given: Partial<OptionValues<Fields>> = {},
): OptionValues<Fields> {
  const values = Object.entries(fields).map(([name, spec]) => {
    const value: unknown = given[name];
    if (value === undefined || value === spec.default) return [name, spec.default as unknown];
    const parsed: Parsed<unknown> = spec.parse(value);
    if ('problem' in parsed) throw new CoreError('CONFIG_INVALID', `${section}.${name} ${parsed.problem}.`);
    return [name, parsed.value];
  });
  return Object.fromEntries(values) as OptionValues<Fields>;
}
