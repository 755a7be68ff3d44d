// Shows a resolved configuration: each option with its value, where that came from, and what else is allowed.
import type { OptionSpec } from '../core/options.ts';
import type { Config, ConfigOf, OptionOrigin, OptionSections } from './config.ts';
import { describeOrigin, listOptions } from './config.ts';
import { optionSections } from './option-sections.ts';
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
  return describeSections(optionSections, config);
}

export function describeSections<Sections extends OptionSections>(
  sections: Sections,
  config: ConfigOf<Sections>,
): readonly ConfigRow[] {
  return listOptions(sections).map(({ section, field, path, spec }) => {
    const value: unknown = config[section]?.[field];
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

/** How the default reads: its words if it has some, else the value. */
export function defaultText(spec: OptionSpec<unknown>): string {
  return spec.defaultText ?? valueText(spec.default);
}

/** Of a list of things, their names tell enough. */
function itemText(item: unknown): string {
  const name: unknown = typeof item === 'object' && item !== null && 'name' in item ? item.name : undefined;
  return typeof name === 'string' ? name : valueText(item);
}

/** A value in one line, as one would write it on a command line. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return 'not set';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(itemText).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
