// Templates with {{parameters}}: which there are, and what comes out with values in them.
import type { Fields } from './check-fields.ts';

const placeholder = /\{\{([^{}]*)\}\}/g;
const goodName = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** The names in a template, each once, in order. */
export function parametersOf(template: string): readonly string[] {
  return [...new Set(Array.from(template.matchAll(placeholder), ([, name]) => (name ?? '').trim()))];
}

/** Fields of a request that say how it is answered: they never reach a workflow. */
const reserved: ReadonlySet<string> = new Set(['timeout']);

/** What is wrong with a template, as words that follow its name; null when nothing is. */
export function templateProblem(template: string): string | null {
  const names = parametersOf(template);
  const bad = names.find((name) => !goodName.test(name));
  if (bad !== undefined)
    return `has a parameter "{{${bad.slice(0, 100)}}}"; names have letters, digits and _, and begin with no digit`;
  const taken = names.find((name) => reserved.has(name));
  if (taken !== undefined)
    return `has a parameter "{{${taken}}}", which no request can bring: "${taken}" says how long a request waits for its result. Use another name`;
  return /\{\{|\}\}/.test(template.replaceAll(placeholder, ''))
    ? 'has "{{" or "}}" that belong to no {{parameter}}'
    : null;
}

/** Values go in as they are, once: a {{name}} in a value stays what it is. What is no text is written as JSON. */
export function filled(template: string, values: Fields): string {
  return template.replaceAll(placeholder, (_, name: string) => {
    const value = values[name.trim()];
    return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  });
}
