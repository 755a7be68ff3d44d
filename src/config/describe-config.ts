// The configuration as text: current values with their origin, and the reference of all options.
import type { OptionSpec } from '../core/options.ts';
import { flagName } from '../core/options.ts';
import type { Config, OptionOrigin, OptionSections } from './config.ts';
import { describeOrigin, listOptions, optionSections, valueOf } from './config.ts';
import { configFileVariable } from './resolve-config.ts';
import { maskPassword, maskSecret } from './secrets.ts';

export interface ConfigRow {
  /** `server.port` */
  readonly path: string;
  /** Secrets masked; `null` when not set. */
  readonly value: unknown;
  /** `flag --port`, `env HEADWORKS_PORT`, `headworks.yaml line 3`, `default`. */
  readonly source: string;
  readonly origin: OptionOrigin;
  readonly env: readonly string[];
  readonly flag: string | null;
  readonly allowed: string;
  readonly default: string;
  readonly describe: string;
  readonly secret: boolean;
}

/** Every option of the configuration, in order; safe to print and to send to an admin. */
export function describeConfig(config: Config): readonly ConfigRow[] {
  return listOptions(optionSections).map((option) => {
    const { path, spec } = option;
    const value = valueOf(config, option);
    const origin = config.resolution.origins[path] ?? { kind: 'default' };
    return {
      path,
      value: spec.secret ? maskSecret(value) : maskPassword(value),
      source: describeOrigin(origin),
      origin,
      env: spec.env,
      flag: spec.flag ?? null,
      allowed: spec.allowed,
      default: defaultText(spec),
      describe: spec.describe,
      secret: spec.secret,
    };
  });
}

/** The default as text. */
export function defaultText(spec: OptionSpec<unknown>): string {
  return spec.defaultText ?? valueText(spec.default);
}

/** Objects with a name are shown as that. */
function itemText(item: unknown): string {
  const name: unknown = typeof item === 'object' && item !== null && 'name' in item ? item.name : undefined;
  return typeof name === 'string' ? name : valueText(item);
}

/** A value in one line, as on a command line. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return 'not set';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(itemText).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const introduction = `# Configuration

<!-- Written by \`npm run docs\`; change the options.ts files, not this page. -->

Each option is taken from the first of these that names it:

1. a command-line flag;
2. an environment variable; an empty one counts as not set;
3. \`headworks.yaml\` in the working directory, or the file given with \`--config\` or \`${configFileVariable}\`;
4. its default.

\`headworks config\` shows every value and where it came from, secrets masked. All problems are reported together,
before anything is started; unknown sections and options in the file are errors. Keep secrets in the environment: in
the file they work, with a warning. A relative path starts at the working directory, or at the folder of the file if it
is set there.

\`\`\`yaml
# headworks.yaml
server:
  port: 8420
  allowedHosts: [headworks.example.com]
logging:
  level: info
\`\`\`
`;

/** The whole page, ending with a line break. */
export function optionReference(sections: OptionSections = optionSections): string {
  const parts = Object.entries(sections).map(([name, section]) => {
    const rows = listOptions({ [name]: section }).map(({ path, spec }) => [
      `\`${path}\``,
      [...spec.env, ...(flagName(spec) === undefined ? [] : [`--${flagName(spec)}`])]
        .map((text) => `\`${text}\``)
        .join(', '),
      escape(defaultText(spec)),
      escape(spec.allowed),
      escape(sentence(spec.describe) + (spec.secret ? ' Secret.' : '')),
    ]);
    return `## ${name}\n\n${escape(sentence(section.describe))}\n\n${table(['option', 'set with', 'default', 'allowed', 'what it does'], rows)}`;
  });
  return [introduction, ...parts].join('\n');
}

const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);

const escape = (text: string): string => text.replaceAll(/[|*_<>]/g, String.raw`\$&`);

/** A Markdown table with even columns, as the formatter would lay it out. */
function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |\n`;
  return line(header) + line(widths.map((width) => '-'.repeat(width))) + rows.map(line).join('');
}
