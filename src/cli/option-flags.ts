// Configuration options as command-line flags, and back.
import type { Command } from 'commander';
import { Option } from 'commander';
import { listOptions, optionSections } from '../config/index.ts';
import type { OptionSpec } from '../core/index.ts';

const flagged = listOptions(optionSections).flatMap(({ section, spec }) =>
  spec.flag === undefined ? [] : [{ section, flag: spec.flag, spec }],
);

/** Flags that every command takes; the others belong to the commands that start a server, or to extraction. */
const everywhere = new Set(['data-dir', 'server', 'log-level']);
const ofExtraction = 'extraction';

/** Adds the flags that make sense for every command. */
export function addGlobalFlags(program: Command): void {
  for (const { flag, spec } of flagged) if (everywhere.has(flag)) program.addOption(toOption(flag, spec));
}

/** Adds the flags of whoever listens and logs. */
export function addServerFlags(command: Command): void {
  for (const { section, flag, spec } of flagged)
    if (!everywhere.has(flag) && section !== ofExtraction) command.addOption(toOption(flag, spec));
}

/** Adds the flags of an extraction, without those that mean nothing to its source. */
export function addExtractionFlags(command: Command, without: readonly string[] = []): void {
  for (const { section, flag, spec } of flagged)
    if (section === ofExtraction && !without.includes(flag)) command.addOption(toOption(flag, spec));
}

/** What was given, by flag name, as `resolveConfig` takes it. */
export function givenFlags(command: Command): Readonly<Record<string, string>> {
  const values = command.optsWithGlobals<Record<string, unknown>>();
  const given: Record<string, string> = {};
  for (const { flag, spec } of flagged) {
    const value = values[toOption(flag, spec).attributeName()];
    if (typeof value === 'string') given[flag] = value;
    else if (Array.isArray(value)) given[flag] = value.join(',');
    // Commander has `true` for a "--no-…" that was not given, and nothing for any other.
    else if (typeof value === 'boolean' && value !== spec.default) given[flag] = String(value);
  }
  return given;
}

// Commander neither checks nor defaults these values: config does, for all sources alike.
function toOption(flag: string, spec: OptionSpec<unknown>): Option {
  const fallback = spec.defaultText ?? String(spec.default);
  const turnsOff = spec.default === true ? 'Turn off: ' : '';
  return new Option(
    words(flag, spec),
    `${turnsOff}${spec.describe} (${spec.env.join(', ')}; default: ${fallback})`,
  );
}

/** `--port <value>`, `--types <value...>`, `--fresh`, `--no-adaptive`. */
function words(flag: string, spec: OptionSpec<unknown>): string {
  if (typeof spec.default === 'boolean') return spec.default ? `--no-${flag}` : `--${flag}`;
  return Array.isArray(spec.default) ? `--${flag} <value...>` : `--${flag} <value>`;
}
