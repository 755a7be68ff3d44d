// Writes the reference of all options as Markdown: docs/configuration.md is exactly this.
import { flagName } from '../core/options.ts';
import type { OptionSections } from './config.ts';
import { listOptions } from './config.ts';
import { defaultText } from './describe-config.ts';
import { optionSections } from './option-sections.ts';
import { configFileVariable } from './resolve-config.ts';

const introduction = `# Configuration

<!-- Written by \`headworks config --docs\`; change the options.ts files, not this page. -->

Each option is taken from the first of these that names it:

1. a command-line flag;
2. an environment variable; an empty one counts as not set;
3. \`headworks.yaml\` in the working directory, or the file given with \`--config\` or \`${configFileVariable}\`;
4. its default.

\`headworks config\` shows every value and where it came from, secrets masked. What is wrong is reported all at once,
before anything is started; unknown sections and options in the file are errors. Keep secrets in the environment: in
the file they work, with a warning. A relative path starts at the working directory, or at the file's folder when it
stands in the file.

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
